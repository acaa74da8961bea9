// The page's data as the report command wrote it, and its decoding. Called once by main; never touches the page.

/** Columns of equal length; names are indices into `PageData.names`, -1 for none. */
export interface Columns {
  run: number[];
  id: number[];
  subject: number[];
  pattern: number[];
  placement: number[];
  variant: number[];
  standing: number[];
  metric: number[];
  unit: number[];
  better: number[];
  /** 1 for the row's own figure, else 0. */
  own: number[];
  size: (number | null)[];
  messages: (number | null)[];
  workers: (number | null)[];
  worker_kind: number[];
  median: number[];
  low: number[];
  high: number[];
  n: number[];
  confidence: number[];
  /** The letters of the row's flags. */
  flags: number[];
}

export interface RunInfo {
  name: string;
  started_at: string;
  host: string;
  kernel: string;
  cpu: string;
  command: string;
  headwater: string;
  status: string;
  published: boolean;
}

/** A value and its interval. */
export type Interval = [value: number, low: number, high: number];

export interface Segment {
  size_min: number;
  size_max: number;
  alpha_s: Interval;
  beta_s_per_byte: Interval;
  bandwidth_bytes_per_s: Interval | null;
  half_size_bytes: Interval | null;
  points: number;
  residuals: [size: number, relative: number][];
}

export interface Fit {
  run: number;
  subject: number;
  pattern: number;
  placement: number;
  variant: number;
  segments: Segment[];
}

export type Verdict = "better" | "worse" | "equivalent" | "inconclusive" | "unjudged";

export interface ComparisonRow {
  label: string;
  metric: string;
  unit: string;
  better: string;
  ratio: number | null;
  low: number | null;
  high: number | null;
  n: number;
  paired: boolean;
  p: number | null;
  p_adjusted: number | null;
  verdict: Verdict;
  more_blocks: number | null;
}

export interface Comparison {
  baseline: string;
  candidate: string;
  minimum_effect: number;
  alpha: number;
  rows: ComparisonRow[];
}

export interface PageData {
  version: 1;
  title: string;
  runs: RunInfo[];
  names: string[];
  rows: Columns;
  flag_sentences: Record<string, string>;
  percentiles: { run: number; id: number; metric: number; points: [percent: number, ns: number][] }[];
  fits: Fit[];
  comparisons: Comparison[];
  shortened: string | null;
}

/** The only version that this script reads. */
const VERSION = 1;

/**
 * Reads the data element.
 * Rejects if there is none, or it is of another version or damaged: the page then stays as it was without the script.
 */
export async function readData(element: HTMLElement): Promise<PageData> {
  const text = element.textContent ?? "";
  const json = element.dataset["encoding"] === "deflate-raw-base64" ? await inflated(text) : text;
  const data = JSON.parse(json) as PageData;
  if (data.version !== VERSION) throw new Error(`page data of version ${String(data.version)}, not ${VERSION}`);
  return data;
}

async function inflated(base64: string): Promise<string> {
  const letters = atob(base64.trim());
  const bytes = new Uint8Array(letters.length);
  for (let index = 0; index < letters.length; index += 1) bytes[index] = letters.charCodeAt(index);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).text();
}
