// Quantile plot: how long the slowest share of single exchanges takes. Each nine takes the same length of the axis.

import { select } from "../legend";
import type { Model, Row, Scope } from "../model";
import { unique } from "../model";
import { readingOf } from "../readout";
import { type Series, seriesOf, keyOf } from "../series";
import { format, size } from "../units";
import type { Context, ViewKind } from "../view";

/** The percentile from which a sample cannot be drawn on the axis of nines: the maximum. */
const PERCENT_MAX = 99.9999;

interface Curve {
  row: Row;
  metric: string;
  points: [percent: number, ns: number][];
}

export const distribution: ViewKind = {
  name: "distribution",

  view(context, scope) {
    const curves = curvesOf(context.model, scope).filter(({ row }) => isOfSize(row, chosenSize(context, scope)));
    const isTail = context.state.get("distribution.x") !== "linear";
    const lines = seriesOf(curves.map(({ row }) => row), context.model, context.looks, (row) => ({
      x: 0,
      y: row.median,
      low: row.low,
      high: row.high,
    }));
    const byKey = new Map(curves.map((curve) => [keyOf(curve.row), curve]));
    const series = lines.map((line): Series => {
      const curve = byKey.get(line.key);
      const points = (curve?.points ?? [])
        .filter(([percent, ns]) => ns > 0 && (!isTail || percent < PERCENT_MAX))
        .map(([percent, ns]) => ({ x: percent, y: ns * 1e-9, low: ns * 1e-9, high: ns * 1e-9, row: curve?.row as Row }));
      return { ...line, points };
    });
    const metrics = unique(curves.map((curve) => curve.metric.replace(/_/g, " "))).join(", ");
    return {
      x: { quantity: "percentile", title: "Percentile", spreads: ["percentile", "linear"], fromZero: false },
      y: { quantity: "seconds", title: `Time, ${metrics} (lower is better)`, spreads: ["log", "linear"], fromZero: true },
      series,
      empty: "No distribution of this size was kept.",
      reading: (point, line) => {
        const reading = readingOf(point.row, context.model, line.name, format(point.y, "seconds"), "");
        reading.lines.unshift(`${format(point.x, "percentile")} took at most this long`);
        return reading;
      },
    };
  },

  controls(context, scope) {
    const sizes = sizesOf(context.model, scope);
    if (sizes.length < 2) return [];
    const options = sizes.map((bytes): [string, string] => [String(bytes), size(bytes)]);
    const control = select("size", [{ label: "", options }], String(chosenSize(context, scope)), (value) =>
      context.state.set("distribution.size", value),
    );
    context.state.onChange((key) => {
      const list = control.querySelector("select");
      if (key === "distribution.size" && list !== null) list.value = String(chosenSize(context, scope));
    });
    return [control];
  },
};

/** The kept distributions of a figure's rows, each with the row that it belongs to. */
function curvesOf(model: Model, scope: Scope): Curve[] {
  const key = (run: number, id: string): string => `${run}\n${id}`;
  const rows = new Map(model.inScope({ ...scope, metric: undefined }).map((row) => [key(row.run, row.id), row]));
  return model.data.percentiles.flatMap(({ run, id, metric, points }) => {
    const row = rows.get(key(run, model.data.names[id] ?? ""));
    const name = model.data.names[metric] ?? "";
    return row === undefined || (scope.metric !== undefined && scope.metric !== name) ? [] : [{ row, metric: name, points }];
  });
}

function sizesOf(model: Model, scope: Scope): number[] {
  const sizes = curvesOf(model, scope).map(({ row }) => row.size);
  return unique(sizes.filter((bytes): bytes is number => bytes !== null)).sort((a, b) => a - b);
}

/** The size that is shown: the chosen one where it exists, else the smallest. */
function chosenSize(context: Context, scope: Scope): number | undefined {
  const sizes = sizesOf(context.model, scope);
  const stored = Number(context.state.get("distribution.size"));
  return sizes.includes(stored) ? stored : sizes[0];
}

function isOfSize(row: Row, bytes: number | undefined): boolean {
  return bytes === undefined || row.size === null || row.size === bytes;
}
