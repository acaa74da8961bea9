// View (b) of the papers: seconds per message over linear size, with the fitted line d = alpha + beta * size of each
// segment between knees, and its residuals. The fit itself is made by the command; nothing is fitted here.

import type { Fit, Interval, Segment } from "../data";
import { choice, press } from "../legend";
import { type Row, ratePerSecond, secondsOf, unique } from "../model";
import { intervalText } from "../readout";
import { type Point, type Series, seriesOf } from "../series";
import { format, inUnit, size } from "../units";
import type { Context, View, ViewKind } from "../view";
import { baseAxis, readPoint } from "./base";

export const delay: ViewKind = {
  name: "delay",

  view(context, scope) {
    const rows = context.model.inScope(scope);
    return context.state.get("delay.show") === "residuals" ? residuals(context, rows) : delays(context, rows);
  },

  controls(context, scope) {
    if (!context.model.inScope(scope).some((row) => context.model.fitOf(row) !== undefined)) return [];
    const options = [["delay", "delay"], ["residuals", "residuals"]] as const;
    const chosen = (): string => context.state.get("delay.show") ?? "delay";
    const control = choice("show", options, chosen() === "residuals" ? "residuals" : "delay", (value) =>
      context.state.set("delay.show", value === "delay" ? undefined : value),
    );
    context.state.onChange((key) => {
      if (key === "delay.show") press(control, chosen());
    });
    return [control];
  },
};

function delays(context: Context, rows: Row[]): View {
  const fitOf = (series: Series): Fit | undefined => {
    const row = series.points[0]?.row;
    return row && context.model.fitOf(row);
  };
  const isDuration = rows.every((row) => secondsOf(1, row.unit) !== undefined);
  const what = isDuration ? unique(rows.map((row) => row.metric.replace(/_/g, "-"))).join(", ") : "Time per message";
  return {
    x: baseAxis(rows, "linear"),
    y: { quantity: "seconds", title: `${what} (lower is better)`, spreads: ["linear", "log"], fromZero: true },
    series: seriesOf(rows, context.model, context.looks, (row) => {
      const y = secondsPerMessage(row, row.median);
      if (row.size === null || y === undefined) return undefined;
      const ends = [row.low, row.high].map((value) => secondsPerMessage(row, value) ?? y);
      return { x: row.size, y, low: Math.min(...ends), high: Math.max(...ends) };
    }),
    curves: (series) => {
      const segments = fitOf(series)?.segments ?? [];
      return { fits: segments.map(line), knees: segments.slice(1).map((segment) => [segment.size_min, fitted(segment, segment.size_min)]) };
    },
    wordsTitle: "The fitted lines in words",
    words: (series) => {
      const fit = fitOf(series);
      return fit === undefined ? [] : fit.segments.map((segment) => `${series.name}${inWords(segment, fit)}`);
    },
    reading: (point, series) => {
      const reading = readPoint(context, point, series, "seconds");
      const segment = segmentAt(fitOf(series), point.x);
      if (segment !== undefined) {
        const on = fitted(segment, point.x);
        reading.lines.push(`fitted: ${format(on, "seconds")} (${format((point.y / on - 1) * 100, "percent")} off)`);
      }
      return reading;
    },
  };
}

/** How far the measured points lie from the fitted line. */
function residuals(context: Context, rows: Row[]): View {
  const residualOf = (row: Row): number | undefined =>
    context.model
      .fitOf(row)
      ?.segments.flatMap((segment) => segment.residuals)
      .find(([size]) => size === row.size)?.[1];
  return {
    x: baseAxis(rows, "linear"),
    y: { quantity: "percent", title: "Measured above or below the fitted line", spreads: ["linear"], fromZero: true },
    reference: [0, "fitted line"],
    empty: "No line could be fitted here.",
    series: seriesOf(rows, context.model, context.looks, (row) => {
      const relative = residualOf(row);
      if (row.size === null || relative === undefined) return undefined;
      return { x: row.size, y: relative * 100, low: relative * 100, high: relative * 100 };
    }),
    reading: (point: Point, series: Series) => ({
      ...readPoint(context, point, series, "percent"),
      lines: [`of the fitted line; measured ${inUnit(point.row.median, point.row.unit)}`],
    }),
  };
}

/** Seconds per message, from a duration or a rate. */
function secondsPerMessage(row: Row, value: number): number | undefined {
  const seconds = secondsOf(value, row.unit);
  if (seconds !== undefined) return seconds;
  const rate = ratePerSecond(value, row.unit);
  return rate === undefined ? undefined : 1 / rate;
}

/** Enough places that the line is smooth on a logarithmic axis too. */
function line(segment: Segment): [number, number][] {
  const places = 48;
  return Array.from({ length: places + 1 }, (_, index) => {
    // Dense near the lower end, where a logarithm bends most.
    const share = (index / places) ** 3;
    const at = segment.size_min + share * (segment.size_max - segment.size_min);
    return [at, fitted(segment, at)];
  });
}

function fitted(segment: Segment, at: number): number {
  return segment.alpha_s[0] + segment.beta_s_per_byte[0] * at;
}

function segmentAt(fit: Fit | undefined, at: number): Segment | undefined {
  return fit?.segments.find((segment) => at >= segment.size_min && at <= segment.size_max);
}

function inWords(segment: Segment, fit: Fit): string {
  const range = fit.segments.length > 1 ? `, ${size(segment.size_min)} to ${size(segment.size_max)}` : "";
  const seconds = (value: number): string => format(value, "seconds");
  const parts = [
    `${withInterval(segment.alpha_s, seconds)} per message and ${withInterval(segment.beta_s_per_byte, seconds)} per byte`,
  ];
  if (segment.bandwidth_bytes_per_s !== null) {
    parts.push(`up to ${withInterval(segment.bandwidth_bytes_per_s, (value) => inUnit(value, "bytes/s"))}`);
  }
  if (segment.half_size_bytes !== null) {
    parts.push(`half of that at ${withInterval(segment.half_size_bytes, (value) => size(Math.round(value)))}`);
  }
  return `${range}: ${parts.join("; ")}.`;
}

function withInterval([value, low, high]: Interval, write: (value: number) => string): string {
  // An interval with equal ends to three digits is not shown.
  return write(low) === write(high) ? write(value) : `${write(value)} (${intervalText(write(low), write(high), 0)})`;
}
