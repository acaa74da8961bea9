// The comparison as a forest plot: one line per row, its ratio with interval against the band of the minimum effect.
// The verdicts are the command's; nothing is judged here.

import type { Comparison, ComparisonRow, Verdict } from "../data";
import { html } from "../dom";
import { choice, press } from "../legend";
import { ListFigure, type ListView } from "../list";
import type { Look } from "../look";
import { intervalText, type Reading } from "../readout";
import type { Line } from "../rows";
import { format } from "../units";
import type { Context } from "../view";

const VERDICTS: Verdict[] = ["better", "worse", "equivalent", "inconclusive", "unjudged"];
const SORTS = ["run", "effect", "name"] as const;
type Sort = (typeof SORTS)[number];

/** A shape for each verdict, so that it reads without colour. */
const LOOKS: Record<Verdict, Look> = {
  better: look(2, false),
  worse: look(4, false),
  equivalent: look(1, false),
  inconclusive: look(0, true),
  unjudged: look(3, true),
};

/** Makes the figure of one comparison interactive. Returns the function that draws it again. */
export function forest(figure: HTMLElement, comparison: Comparison, context: Context): (key: string) => void {
  const { state } = context;
  const toolbar = html("div", { class: "toolbar" });
  const counts = new Map(VERDICTS.map((verdict) => [verdict, comparison.rows.filter((row) => row.verdict === verdict).length]));
  const present = VERDICTS.filter((verdict) => (counts.get(verdict) ?? 0) > 0);
  const chosen = (): string => present.find((verdict) => verdict === state.get("forest.verdict")) ?? "all";
  const sort = (): Sort => SORTS.find((name) => name === state.get("forest.sort")) ?? "run";
  const spread = (): "log" | "linear" => (state.get("forest.x") === "linear" ? "linear" : "log");
  const verdicts = choice(
    "verdict",
    [["all", `all ${comparison.rows.length}`], ...present.map((name) => [name, `${name} ${counts.get(name)}`] as [string, string])],
    chosen(),
    (value) => state.set("forest.verdict", value === "all" ? undefined : value),
  );
  const sorts = choice("sort by", SORTS.map((name) => [name, name] as const), sort(), (value) =>
    state.set("forest.sort", value === "run" ? undefined : value),
  );
  const spreads = choice("x", [["log", "log"], ["linear", "linear"]] as const, spread(), (value) =>
    state.set("forest.x", value === "log" ? undefined : value),
  );
  toolbar.append(verdicts, html("div", { class: "switches" }, sorts, spreads));

  const caption = figure.querySelector("figcaption");
  if (caption !== null) caption.textContent = captionOf(comparison);
  const list = new ListFigure(figure, toolbar, (): ListView => {
    const rows = comparison.rows.filter((row) => chosen() === "all" || row.verdict === chosen());
    const sorted = [...rows].sort(order(sort()));
    const effect = 1 + comparison.minimum_effect;
    return {
      lines: sorted.map(lineOf),
      empty: "No row has this verdict.",
      axis: {
        quantity: "ratio",
        title: `Ratio: candidate / baseline${sameDirection(rows)}`,
        spread: spread(),
        domain: domainOf(rows, effect),
        band: [1 / effect, effect],
        reference: 1,
      },
    };
  });
  return (key) => {
    if (!key.startsWith("forest.")) return;
    press(verdicts, chosen());
    press(sorts, sort());
    press(spreads, spread());
    list.restart();
  };
}

/** As the report's, but all rows can be shown. */
function captionOf({ candidate, baseline, minimum_effect, alpha }: Comparison): string {
  const percent = (share: number): string => format(share * 100, "percent").replace("+", "");
  return (
    `Ratio ${candidate} / ${baseline} of each row's own figure with its interval. Shaded: the minimum effect, ` +
    `${percent(minimum_effect)}. Verdicts hold for all rows together, with at most ${percent(alpha)} false discoveries.`
  );
}

function lineOf(row: ComparisonRow): Line {
  const text = row.ratio === null ? row.verdict : `${format(row.ratio, "ratio")}  ${row.verdict}`;
  return {
    name: row.label,
    value: row.ratio,
    low: row.low,
    high: row.high,
    tone: row.verdict,
    look: LOOKS[row.verdict],
    text,
    reading: readingOf(row),
  };
}

function readingOf(row: ComparisonRow): Reading {
  const lines: string[] = [];
  if (row.low !== null && row.high !== null) lines.push(intervalText(format(row.low, "ratio"), format(row.high, "ratio"), 0));
  lines.push(`${row.metric}: ${row.better} is better`);
  lines.push(`${row.n} ${row.paired ? "pairs of launches" : "launches a side"}`);
  if (row.p_adjusted !== null) lines.push(`p = ${probability(row.p_adjusted)} after adjustment`);
  else if (row.p !== null) lines.push(`p = ${probability(row.p)}`);
  if (row.more_blocks !== null) lines.push(`needs about ${row.more_blocks} more blocks`);
  const ratio = row.ratio === null ? "no ratio" : `${format(row.ratio, "ratio")} (${format(row.ratio, "gain")})`;
  return { name: row.label, value: `${ratio}: ${row.verdict}`, lines, flags: [] };
}

function order(sort: Sort): (a: ComparisonRow, b: ComparisonRow) => number {
  const effect = (row: ComparisonRow): number => (row.ratio === null ? -1 : Math.abs(Math.log(row.ratio)));
  switch (sort) {
    case "run":
      return () => 0;
    case "name":
      return (a, b) => a.label.localeCompare(b.label, "en", { numeric: true });
    case "effect":
      return (a, b) => effect(b) - effect(a);
  }
}

function domainOf(rows: ComparisonRow[], effect: number): [number, number] {
  const ends = rows.flatMap((row) => [row.low, row.ratio, row.high]).filter((end): end is number => end !== null && end > 0);
  const low = ends.reduce((a, b) => Math.min(a, b), 1 / effect);
  const high = ends.reduce((a, b) => Math.max(a, b), effect);
  const margin = (high / low) ** 0.04;
  return [low / margin, high * margin];
}

/** In the axis' title only where it holds for all. */
function sameDirection(rows: ComparisonRow[]): string {
  const [first] = rows;
  return first !== undefined && rows.every((row) => row.better === first.better) ? ` (${first.better} is better)` : "";
}

function probability(p: number): string {
  return p < 0.001 ? p.toExponential(1).replace("-", "−") : p.toFixed(3);
}

function look(shape: number, hollow: boolean): Look {
  return { colour: "", dash: "", shape, hollow };
}
