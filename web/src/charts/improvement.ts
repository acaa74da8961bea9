// View (d) of the papers: (rate / base - 1) * 100 %, kept as rate / base, against the baseline that the reader chose.

import { Baseline, speedUp } from "../baseline";
import { shortened } from "../plot";
import { seriesOf } from "../series";
import type { ViewKind } from "../view";
import { baseAxis, baseOf, readPoint } from "./base";

export const improvement: ViewKind = {
  name: "improvement",
  view(context, scope) {
    const rows = context.model.inScope(scope);
    const baseline = Baseline.of(context.state, context.model);
    const baseOfRow = baseline.finder(rows);
    return {
      x: baseAxis(rows, "log"),
      y: {
        quantity: "gain",
        title: `Faster (+) or slower (−) than ${shortened(baseline.name, 32)}`,
        spreads: ["linear", "log"],
        fromZero: false,
      },
      reference: [1, baseline.name],
      caption:
        `(Speed / speed of ${baseline.name} − 1) × 100 %: the ratio of the medians, with the widest interval that both ` +
        "intervals allow. Ratios within blocks, where there are any, stand in the table and in the comparison.",
      empty: `Nothing here can be compared with ${baseline.name}.`,
      series: seriesOf(rows, context.model, context.looks, (row) => {
        const [x, base] = [baseOf(row), baseOfRow(row)];
        if (x === undefined || base === undefined || base === row) return undefined;
        const [y, low, high] = speedUp(row, base);
        return { x, y, low, high };
      }),
      reading: (point, series) => {
        const reading = readPoint(context, point, series, "gain");
        const base = baseOfRow(point.row);
        // The two rows' intervals at their far ends: wider than in a paired comparison of launches.
        if (point.row.n > 1) reading.lines[0] = `${reading.lines[0]}, from both intervals`;
        if (base !== undefined) reading.flags.push(...flagsOnlyOf(base.flags, point.row.flags, context.model.flagSentences(base)));
        return reading;
      },
    };
  },
};

function flagsOnlyOf(base: string, own: string, sentences: [string, string][]): [string, string][] {
  return sentences.filter(([letter]) => base.includes(letter) && !own.includes(letter)).map(([l, s]) => [l, `baseline: ${s}`]);
}
