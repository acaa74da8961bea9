// View (a) of the papers: messages per second over message size.

import { ratePerSecond } from "../model";
import { seriesOf } from "../series";
import type { ViewKind } from "../view";
import { baseAxis, baseOf, readPoint } from "./base";

export const performance: ViewKind = {
  name: "performance",
  view(context, scope) {
    const rows = context.model.inScope(scope);
    const counts = rows.some((row) => row.unit === "messages/s" || row.size !== null) ? "Messages" : "Operations";
    return {
      x: baseAxis(rows, "log"),
      y: { quantity: "rate", title: `${counts} per second (higher is better)`, spreads: ["linear", "log"], fromZero: true },
      series: seriesOf(rows, context.model, context.looks, (row) => {
        const [x, y] = [baseOf(row), ratePerSecond(row.median, row.unit)];
        if (x === undefined || y === undefined) return undefined;
        const ends = [row.low, row.high].map((value) => ratePerSecond(value, row.unit) ?? y);
        return { x, y, low: Math.min(...ends), high: Math.max(...ends) };
      }),
      reading: (point, series) => readPoint(context, point, series, "rate"),
    };
  },
};
