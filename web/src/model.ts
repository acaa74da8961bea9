// The rows of the page's data as objects. Used by the table; never draws.

import type { PageData, RunInfo } from "./data";

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
  sizeText: string;
  medianText: string;
  lowText: string;
  highText: string;
}

export class Model {
  readonly rows: Row[];

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
      sizeText: name(columns.size_text[index]),
      medianText: name(columns.median_text[index]),
      lowText: name(columns.low_text[index]),
      highText: name(columns.high_text[index]),
    }));
  }

  get runs(): RunInfo[] {
    return this.data.runs;
  }
}

/** Each value once, where it first appears. */
export function unique<T>(values: Iterable<T>): T[] {
  return [...new Set(values)];
}
