// View (c) of the papers: bits per second, 8 * size * rate, on two logarithms.

import { ratePerSecond } from "../model";
import { seriesOf } from "../series";
import type { ViewKind } from "../view";
import { baseAxis, readPoint } from "./base";

export const throughput: ViewKind = {
  name: "throughput",
  view(context, scope) {
    const rows = context.model.inScope(scope);
    return {
      x: baseAxis(rows, "log"),
      y: { quantity: "bits", title: "Bits per second (higher is better)", spreads: ["log", "linear"], fromZero: true },
      series: seriesOf(rows, context.model, context.looks, (row) => {
        const rate = ratePerSecond(row.median, row.unit);
        if (row.size === null || rate === undefined) return undefined;
        const bits = 8 * row.size;
        const ends = [row.low, row.high].map((value) => bits * (ratePerSecond(value, row.unit) ?? rate));
        return { x: row.size, y: bits * rate, low: Math.min(...ends), high: Math.max(...ends) };
      }),
      reading: (point, series) => readPoint(context, point, series, "bits"),
    };
  },
};
