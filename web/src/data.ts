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
  /** The figures as the report writes them everywhere. */
  size_text: number[];
  median_text: number[];
  low_text: number[];
  high_text: number[];
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

export interface PageData {
  version: 2;
  title: string;
  runs: RunInfo[];
  names: string[];
  rows: Columns;
  flag_sentences: Record<string, string>;
  shortened: string | null;
}

/** A line of a figure. */
export interface Line {
  name: string;
  /** A small drawing of it. Its markup is the report's. */
  sample: string;
  /** Whether it is drawn at first. */
  is_first: boolean;
  /** The words about each point, a line each, and the letters of its flags. */
  points: [words: string, flags: string][];
}

/** What the script shows of a figure. */
export interface LiveFigure {
  number: number;
  /** The name of the scale in the markup. */
  scale: string;
  /** The drawings on other scales. Their markup is the report's, with every name escaped. */
  others: [scale: string, drawings: [wide: string, narrow: string]][];
  lines: Line[];
}

export interface LiveFigures {
  version: 2;
  figures: LiveFigure[];
}

/** The versions that this script reads. */
const VERSIONS = { "headwater-data": 2, "headwater-figures": 2 } as const;

/**
 * Reads a data element; `undefined` if the page has none.
 * Rejects if it is of another version or damaged: the page then stays as it was without the script.
 */
export async function readData<T extends { version: number }>(id: keyof typeof VERSIONS): Promise<T | undefined> {
  const element = document.getElementById(id);
  if (element === null) return undefined;
  const text = element.textContent ?? "";
  const json = element.dataset["encoding"] === "deflate-raw-base64" ? await inflated(text) : text;
  const data = JSON.parse(json) as T;
  if (data.version !== VERSIONS[id]) throw new Error(`${id} of version ${data.version}, not ${VERSIONS[id]}`);
  return data;
}

async function inflated(base64: string): Promise<string> {
  const letters = atob(base64.trim());
  const bytes = new Uint8Array(letters.length);
  for (let index = 0; index < letters.length; index += 1) bytes[index] = letters.charCodeAt(index);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).text();
}
