// Rows that belong to one line of a chart, and which lines are hidden. A view turns each row into a place.

import type { Looks, Look } from "./look";
import { type Model, type Row, unique } from "./model";
import type { State } from "./state";

/** One place of a line with its interval, in the units of the chart's axes. */
export interface Point {
  x: number;
  y: number;
  low: number;
  high: number;
  row: Row;
}

export interface Series {
  /** The same for the same series in every chart: what the address keeps. */
  key: string;
  name: string;
  look: Look;
  /** Ascending in x. */
  points: Point[];
}

/** Groups rows into series. `place` gives a row its place, or leaves it out. */
export function seriesOf(
  rows: Row[],
  model: Model,
  looks: Looks,
  place: (row: Row) => Omit<Point, "row"> | undefined,
): Series[] {
  const name = namer(rows, model);
  const groups = new Map<string, Series>();
  for (const row of rows) {
    const at = place(row);
    if (at === undefined || !Number.isFinite(at.x) || !Number.isFinite(at.y)) continue;
    const key = keyOf(row);
    let series = groups.get(key);
    if (series === undefined) groups.set(key, (series = { key, name: name(row), look: looks.of(row), points: [] }));
    series.points.push({ ...at, row });
  }
  const all = [...groups.values()];
  for (const series of all) series.points.sort((a, b) => a.x - b.x);
  return all;
}

/** What names a series: the subject, and whatever else tells it from the others of the chart. */
export function keyOf(row: Row): string {
  return [row.subject, row.run, row.variant, row.messages ?? "", row.workerKind].join("/").replace(/\/+$/, "");
}

function namer(rows: Row[], model: Model): (row: Row) => string {
  const severalOf = (value: (row: Row) => unknown): boolean => unique(rows.map(value)).length > 1;
  const [runs, variants] = [severalOf((row) => row.run), severalOf((row) => row.variant)];
  const [messages, kinds] = [severalOf((row) => row.messages), severalOf((row) => row.workerKind)];
  return (row) =>
    [
      row.subject,
      kinds && row.workerKind !== "" ? `(${row.workerKind})` : "",
      messages && row.messages !== null ? `×\u00a0${row.messages.toLocaleString("en")}` : "",
      variants && row.variant !== "" ? `[${row.variant}]` : "",
      runs ? `· ${model.runs[row.run]?.name ?? row.run}` : "",
    ]
      .filter((part) => part !== "")
      .join(" ");
}

/** Which series the reader has hidden, on the whole page. */
export class Hidden {
  private readonly atFirst: string[];

  constructor(
    private readonly state: State,
    model: Model,
  ) {
    // What the harness itself costs is no candidate and would flatten every linear scale.
    this.atFirst = unique(model.rows.filter((row) => row.standing === "null").map(keyOf));
  }

  has(series: Series): boolean {
    return this.keys().includes(series.key);
  }

  toggle(series: Series): void {
    const hidden = new Set(this.keys());
    if (!hidden.delete(series.key)) hidden.add(series.key);
    this.store(hidden);
  }

  /** Shows this one alone of `all`; all of them if it already is alone. */
  only(series: Series, all: Series[]): void {
    const hidden = new Set(this.keys());
    const others = all.filter((other) => other.key !== series.key);
    const isAlone = !hidden.has(series.key) && others.every((other) => hidden.has(other.key));
    for (const other of others) {
      if (isAlone) hidden.delete(other.key);
      else hidden.add(other.key);
    }
    hidden.delete(series.key);
    this.store(hidden);
  }

  private keys(): string[] {
    const stored = this.state.get("hide");
    if (stored === undefined) return this.atFirst;
    return stored === "" ? [] : stored.split(",").map(unescaped);
  }

  private store(hidden: Set<string>): void {
    const keys = [...hidden].sort();
    const isDefault = keys.join("\n") === [...this.atFirst].sort().join("\n");
    this.state.set("hide", isDefault ? undefined : keys.map(escaped).join(","));
  }
}

/** A key in a list with commas. */
function escaped(key: string): string {
  return key.replace(/[~,]/g, (character) => (character === "~" ? "~0" : "~1"));
}

function unescaped(key: string): string {
  return key.replace(/~([01])/g, (_, digit) => (digit === "0" ? "~" : ","));
}
