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
  /** Unique in its chart. */
  key: string;
  name: string;
  look: Look;
  /** The measured subject, and its run, variant and the like: the two ways to hide a series. */
  subject: string;
  circumstance: string;
  /** The circumstance for a reader; empty where the chart has but one. */
  circumstanceName: string;
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
    if (series === undefined) {
      const circumstanceName = name(row);
      series = {
        key,
        name: [row.subject, circumstanceName].filter((part) => part !== "").join(" · "),
        look: looks.of(row),
        subject: row.subject,
        circumstance: circumstanceOf(row),
        circumstanceName,
        points: [],
      };
      groups.set(key, series);
    }
    series.points.push({ ...at, row });
  }
  const all = [...groups.values()];
  for (const series of all) series.points.sort((a, b) => a.x - b.x);
  return all;
}

/** The parts that distinguish the series of a chart. */
export function keyOf(row: Row): string {
  return `${row.subject}\n${circumstanceOf(row)}`;
}

/** The circumstance of a measurement: the run, the variant, and all else that makes a separate series. */
export function circumstanceOf(row: Row): string {
  return [row.run, row.variant, row.messages ?? "", row.workerKind].join("/").replace(/\/+$/, "");
}

/** Names a circumstance by the parts that differ within the chart. */
function namer(rows: Row[], model: Model): (row: Row) => string {
  const severalOf = (value: (row: Row) => unknown): boolean => unique(rows.map(value)).length > 1;
  const [runs, variants] = [severalOf((row) => row.run), severalOf((row) => row.variant)];
  const [messages, kinds] = [severalOf((row) => row.messages), severalOf((row) => row.workerKind)];
  return (row) =>
    [
      kinds ? row.workerKind : "",
      messages && row.messages !== null ? `×\u00a0${row.messages.toLocaleString("en")}` : "",
      variants ? row.variant : "",
      runs ? (model.runs[row.run]?.name ?? String(row.run)) : "",
    ]
      .filter((part) => part !== "")
      .join(" · ");
}

/** The series that the reader has hidden, on the whole page: subjects, and circumstances (with a mark in front). */
export class Hidden {
  private readonly atFirst: string[];

  constructor(
    private readonly state: State,
    model: Model,
  ) {
    // The harness's own cost is no candidate and would flatten every linear scale.
    this.atFirst = unique(model.rows.filter((row) => row.standing === "null").map((row) => row.subject));
  }

  /** Whether a series is hidden. */
  has(series: Series): boolean {
    const hidden = this.tokens();
    return hidden.includes(series.subject) || hidden.includes(circumstanceToken(series));
  }

  hasToken(token: string): boolean {
    return this.tokens().includes(token);
  }

  toggle(token: string): void {
    const hidden = new Set(this.tokens());
    if (!hidden.delete(token)) hidden.add(token);
    this.store(hidden);
  }

  /** Shows this one alone of `all`; all of them if it already is alone. */
  only(token: string, all: string[]): void {
    const hidden = new Set(this.tokens());
    const others = all.filter((other) => other !== token);
    const isAlone = !hidden.has(token) && others.every((other) => hidden.has(other));
    for (const other of others) {
      if (isAlone) hidden.delete(other);
      else hidden.add(other);
    }
    hidden.delete(token);
    this.store(hidden);
  }

  private tokens(): string[] {
    const stored = this.state.get("hide");
    if (stored === undefined) return this.atFirst;
    return stored === "" ? [] : stored.split(",").map(unescaped);
  }

  private store(hidden: Set<string>): void {
    const tokens = [...hidden].sort();
    const isDefault = tokens.join("\n") === [...this.atFirst].sort().join("\n");
    this.state.set("hide", isDefault ? undefined : tokens.map(escaped).join(","));
  }
}

/** A circumstance among subjects. */
export function circumstanceToken(series: Series): string {
  return `@${series.circumstance}`;
}

/** A token in a list with commas. */
function escaped(token: string): string {
  return token.replace(/[~,]/g, (character) => (character === "~" ? "~0" : "~1"));
}

function unescaped(token: string): string {
  return token.replace(/~([01])/g, (_, digit) => (digit === "0" ? "~" : ","));
}
