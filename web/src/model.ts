// The rows as objects, and queries: the rows of a figure, the rows of one series. Never draws.

import type { Fit, PageData, RunInfo } from "./data";

/** One metric of one measured row. Missing names are empty. */
export interface Row {
  index: number;
  run: number;
  id: string;
  subject: string;
  pattern: string;
  placement: string;
  variant: string;
  standing: string;
  metric: string;
  unit: string;
  better: string;
  own: boolean;
  size: number | null;
  messages: number | null;
  workers: number | null;
  workerKind: string;
  median: number;
  low: number;
  high: number;
  n: number;
  confidence: number;
  flags: string;
}

/** The scope of a figure, from its data attributes; a missing attribute is no restriction. */
export interface Scope {
  pattern?: string | undefined;
  placement?: string | undefined;
  variant?: string | undefined;
  metric?: string | undefined;
  size?: string | undefined;
}

export class Model {
  readonly rows: Row[];
  /** The number of different ones decides the parts of a series' name. */
  readonly variants: string[];

  constructor(readonly data: PageData) {
    const { names, rows: columns } = data;
    const name = (index: number | undefined): string => names[index ?? -1] ?? "";
    this.rows = columns.median.map((median, index) => ({
      index,
      run: columns.run[index] ?? 0,
      id: name(columns.id[index]),
      subject: name(columns.subject[index]),
      pattern: name(columns.pattern[index]),
      placement: name(columns.placement[index]),
      variant: name(columns.variant[index]),
      standing: name(columns.standing[index]),
      metric: name(columns.metric[index]),
      unit: name(columns.unit[index]),
      better: name(columns.better[index]),
      own: columns.own[index] === 1,
      size: columns.size[index] ?? null,
      messages: columns.messages[index] ?? null,
      workers: columns.workers[index] ?? null,
      workerKind: name(columns.worker_kind[index]),
      median,
      low: columns.low[index] ?? median,
      high: columns.high[index] ?? median,
      n: columns.n[index] ?? 0,
      confidence: columns.confidence[index] ?? 0,
      flags: name(columns.flags[index]),
    }));
    this.variants = unique(this.rows.map((row) => row.variant));
  }

  get runs(): RunInfo[] {
    return this.data.runs;
  }

  /** The figure's rows: of its metric if it names one, else of the rows' own. */
  inScope(scope: Scope): Row[] {
    return this.rows.filter(
      (row) =>
        (scope.metric === undefined ? row.own : row.metric === scope.metric) &&
        (scope.pattern === undefined || row.pattern === scope.pattern) &&
        (scope.placement === undefined || row.placement === scope.placement) &&
        (scope.variant === undefined || row.variant === scope.variant) &&
        (scope.size === undefined || String(row.size) === scope.size),
    );
  }

  /** The fitted lines of a row's series. */
  fitOf(row: Row): Fit | undefined {
    const names = this.data.names;
    return this.data.fits.find(
      (fit) =>
        fit.run === row.run &&
        (names[fit.subject] ?? "") === row.subject &&
        (names[fit.pattern] ?? "") === row.pattern &&
        (names[fit.placement] ?? "") === row.placement &&
        (names[fit.variant] ?? "") === row.variant,
    );
  }

  /** The meaning of each letter of a row's flags. */
  flagSentences(row: Row): [letter: string, sentence: string][] {
    return [...row.flags].map((letter) => [letter, this.data.flag_sentences[letter] ?? "a flag without a description"]);
  }
}

/** Each value once, where it first appears. */
export function unique<T>(values: Iterable<T>): T[] {
  return [...new Set(values)];
}

/** Messages, operations or the like per second, from a rate or a duration; `undefined` if it is neither. */
export function ratePerSecond(value: number, unit: string): number | undefined {
  if (unit === "messages/s" || unit === "operations/s" || unit === "1/s") return value;
  const seconds = secondsOf(value, unit);
  return seconds === undefined ? undefined : 1 / seconds;
}

/** A duration in seconds, from a duration. */
export function secondsOf(value: number, unit: string): number | undefined {
  const scale = { ns: 1e-9, us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1 }[unit];
  return scale === undefined ? undefined : value * scale;
}
