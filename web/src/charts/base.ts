// The common parts of the charts over message size (or over the number of workers).

import type { Row } from "../model";
import { format, type Quantity } from "../units";
import { intervalText, ownText, type Reading, readingOf } from "../readout";
import type { Point, Series } from "../series";
import type { Axis, Context } from "../view";

/** The place of a row on the base axis. */
export function baseOf(row: Row): number | undefined {
  return row.size ?? row.workers ?? row.messages ?? undefined;
}

/** The base axis of these rows: message size where they have one. */
export function baseAxis(rows: Row[], first: "log" | "linear"): Axis {
  const spreads: Axis["spreads"] = first === "log" ? ["log", "linear"] : ["linear", "log"];
  if (rows.some((row) => row.size !== null)) return { quantity: "size", title: "Message size", spreads, fromZero: true };
  if (rows.some((row) => row.workers !== null)) {
    return { quantity: "count", title: "Workers", spreads: ["linear"], fromZero: false };
  }
  return { quantity: "count", title: "Messages", spreads, fromZero: true };
}

/** The text for a point: the chart's own figure, and the measured one if that is different. */
export function readPoint(context: Context, point: Point, series: Series, quantity: Quantity): Reading {
  const { row } = point;
  const own = ownText(row);
  const value = format(point.y, quantity);
  const interval = intervalText(format(point.low, quantity), format(point.high, quantity), row.n > 1 ? row.confidence : 0);
  const reading = readingOf(row, context.model, series.name, value, interval);
  if (own.value !== value) reading.lines.push(`measured: ${own.value}`);
  return reading;
}
