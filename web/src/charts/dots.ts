// Rows without a sweep of sizes, a dot with its interval each: workers at a counter, repetitions of many messages.

import { html } from "../dom";
import { choice, Legend, press } from "../legend";
import { ListFigure, type ListView } from "../list";
import type { Row, Scope } from "../model";
import { ownText, readingOf } from "../readout";
import type { Line } from "../rows";
import { type Series, seriesOf } from "../series";
import { type Quantity, size } from "../units";
import type { Context } from "../view";

const SORTS = ["parameters", "value", "name"] as const;
type Sort = (typeof SORTS)[number];

interface Dot {
  row: Row;
  series: Series;
  name: string;
}

/** Makes a figure of dots interactive. Returns the function that draws it again. */
export function dots(figure: HTMLElement, scope: Scope, context: Context): (key: string) => void {
  const { state, model } = context;
  const all = model.inScope(scope);
  const rows = all.filter((row) => row.unit === all[0]?.unit);
  const series = seriesOf(rows, model, context.looks, (row) => ({ x: row.index, y: row.median, low: row.low, high: row.high }));
  const every: Dot[] = series.flatMap((one) => one.points.map(({ row }) => ({ row, series: one, name: nameOf(row, one) })));
  const [low, high] = [least(rows.map((row) => row.low)), most(rows.map((row) => row.high))];
  const first = high / low > 40 ? "log" : "linear";
  const spread = (): "log" | "linear" => (["log", "linear"] as const).find((name) => name === state.get("dots.x")) ?? first;
  const sort = (): Sort => SORTS.find((name) => name === state.get("dots.sort")) ?? "parameters";

  const legend = new Legend(context.hidden);
  legend.update(series);
  const sorts = choice("sort by", SORTS.map((name) => [name, name] as const), sort(), (value) =>
    state.set("dots.sort", value === "parameters" ? undefined : value),
  );
  const spreads = choice("x", [["linear", "linear"], ["log", "log"]] as const, spread(), (value) => state.set("dots.x", value));
  const toolbar = html("div", { class: "toolbar" }, legend.element, html("div", { class: "switches" }, sorts, spreads));

  const caption = figure.querySelector("figcaption");
  // A live list reaches every row.
  if (caption !== null) caption.textContent = (caption.textContent ?? "").replace(/ \d+ of \d+ rows; [^.]*\./, "");
  const list = new ListFigure(figure, toolbar, (): ListView => {
    const visible = every.filter((dot) => !context.hidden.has(dot.series)).sort(order(sort()));
    const factor = quantityOf(rows[0]?.unit ?? "")[1];
    const ends = visible.flatMap(({ row }) => [row.low * factor, row.high * factor]).filter((end) => end > 0);
    const [from, to] = [least(ends), most(ends)];
    return {
      lines: visible.map((dot) => lineOf(dot, context)),
      empty: "Every series is hidden.",
      axis: {
        ...axisOf(rows[0]),
        spread: spread(),
        domain: spread() === "log" ? [from / 1.15, to * 1.15] : [0, to * 1.02],
      },
    };
  });
  return (key) => {
    if (key !== "hide" && !key.startsWith("dots.")) return;
    legend.update(series);
    press(sorts, sort());
    press(spreads, spread());
    if (key === "hide") list.redraw();
    else list.restart();
  };
}

function lineOf({ row, series, name }: Dot, context: Context): Line {
  const { value, interval } = ownText(row);
  const factor = quantityOf(row.unit)[1];
  return {
    name,
    value: row.median * factor,
    low: row.n > 1 ? row.low * factor : null,
    high: row.n > 1 ? row.high * factor : null,
    tone: `series ${series.look.colour}`,
    look: series.look,
    text: value,
    reading: readingOf(row, context.model, series.name, value, interval),
  };
}

/** The axis of a unit, and the conversion of a value to the axis' own unit. */
function quantityOf(unit: string): [Quantity, number] {
  const seconds = { ns: 1e-9, us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1 }[unit];
  if (seconds !== undefined) return ["seconds", seconds];
  return unit === "ratio" ? ["percentile", 100] : ["plain", 1];
}

function axisOf(row: Row | undefined): { quantity: Quantity; title: string } {
  if (row === undefined) return { quantity: "plain", title: "" };
  const [quantity] = quantityOf(row.unit);
  const unit = quantity === "plain" ? `, ${row.unit}` : "";
  return { quantity, title: `${row.metric.replace(/_/g, "-")}${unit} (${row.better} is better)` };
}

function nameOf(row: Row, series: Series): string {
  const bytes = row.workers === null && row.size !== null ? size(row.size) : "";
  const workers = row.workers === null ? "" : `${row.workers}`;
  return [series.name, bytes, workers].filter((part) => part !== "").join(", ");
}

function order(sort: Sort): (a: Dot, b: Dot) => number {
  const better = (a: Dot, b: Dot): number =>
    a.row.better === "higher" ? b.row.median - a.row.median : a.row.median - b.row.median;
  const parameters = ({ row }: Dot): [string, number, number, number] => [
    row.workerKind,
    row.workers ?? 0,
    row.messages ?? 0,
    row.size ?? 0,
  ];
  switch (sort) {
    case "value":
      return better;
    case "name":
      return (a, b) => a.name.localeCompare(b.name, "en", { numeric: true });
    case "parameters":
      return (a, b) => {
        const [one, other] = [parameters(a), parameters(b)];
        const at = one.findIndex((value, index) => value !== other[index]);
        if (at < 0) return better(a, b);
        return (one[at] ?? 0) < (other[at] ?? 0) ? -1 : 1;
      };
  }
}

function least(values: number[]): number {
  return values.reduce((a, b) => Math.min(a, b), Infinity);
}

function most(values: number[]): number {
  return values.reduce((a, b) => Math.max(a, b), 0);
}
