// The baseline of comparisons: a run, a variant or a subject, as the reader chose it. Knows no chart.

import { type Model, type Row, unique } from "./model";
import type { State } from "./state";

export type BaselineKind = "run" | "variant" | "subject";

/** `run:0`, `variant:old`, `subject:pipe`: the name of a baseline in the address and the page. */
export class Baseline {
  constructor(
    private readonly kind: BaselineKind,
    private readonly value: string,
    private readonly model: Model,
  ) {}

  /** The current baseline: the chosen one, else that of the page, else a pipe. */
  static of(state: State, model: Model): Baseline {
    return parsed(state.get("baseline"), model) ?? Baseline.atFirst(model);
  }

  /** By the same rule as the command: the named one; else `pipe` or the first candidate; of one subject a variant or run. */
  static atFirst(model: Model): Baseline {
    const name = document.querySelector<HTMLElement>("figure[data-base]")?.dataset["base"];
    const run = model.runs.findIndex((candidate) => candidate.name === name);
    const named = [`run:${run}`, `subject:${name ?? ""}`, `variant:${name ?? ""}`];
    for (const key of named) {
      const found = parsed(key, model);
      if (name !== undefined && found !== undefined) return found;
    }
    const subjects = unique(model.rows.filter((row) => row.standing === "candidate").map((row) => row.subject));
    const first = subjects[0] ?? subjectsOf(model)[0] ?? "";
    if (subjects.length > 1) return new Baseline("subject", subjects.includes("pipe") ? "pipe" : first, model);
    if (model.variants.length > 1) return new Baseline("variant", model.variants[0] ?? "", model);
    return model.runs.length > 1 ? new Baseline("run", "0", model) : new Baseline("subject", first, model);
  }

  /** All options, in groups. */
  static options(model: Model): { label: string; options: [value: string, text: string][] }[] {
    const groups: { label: string; options: [string, string][] }[] = [];
    if (model.runs.length > 1) {
      groups.push({ label: "Run", options: model.runs.map((run, index) => [`run:${index}`, run.name]) });
    }
    if (model.variants.length > 1) {
      groups.push({ label: "Variant", options: model.variants.map((name) => [`variant:${name}`, name || "(none)"]) });
    }
    groups.push({ label: "Subject", options: subjectsOf(model).map((name) => [`subject:${name}`, name]) });
    return groups;
  }

  get key(): string {
    return `${this.kind}:${this.value}`;
  }

  get name(): string {
    return this.kind === "run" ? (this.model.runs[Number(this.value)]?.name ?? this.value) : this.value;
  }

  /** Whether a row belongs to the baseline itself. */
  has(row: Row): boolean {
    return valueOf(row, this.kind) === this.value;
  }

  /** Finds for each row the one that it is compared with: equal in all but the baseline's own part. */
  finder(rows: Row[]): (row: Row) => Row | undefined {
    const kinds: BaselineKind[] = ["run", "variant", "subject"];
    const others = kinds.filter((kind) => kind !== this.kind);
    const key = (row: Row): string =>
      [...others.map((kind) => valueOf(row, kind)), row.pattern, row.placement, row.metric, row.size, row.messages, row.workers, row.workerKind].join("\n");
    const index = new Map(rows.filter((row) => this.has(row)).map((row) => [key(row), row]));
    return (row) => index.get(key(row));
  }
}

/** How much faster a row is than its base, 1 for equal, with an interval that both rows' intervals bound. */
export function speedUp(row: Row, base: Row): [value: number, low: number, high: number] {
  const ratio = (a: number, b: number): number => (row.better === "lower" ? b / a : a / b);
  const ends = [ratio(row.low, base.high), ratio(row.high, base.low)];
  return [ratio(row.median, base.median), Math.min(...ends), Math.max(...ends)];
}

function parsed(text: string | undefined, model: Model): Baseline | undefined {
  const [, kind, value] = /^(run|variant|subject):(.*)$/s.exec(text ?? "") ?? [];
  if (kind === undefined || value === undefined) return undefined;
  const exists =
    kind === "run" ? model.runs[Number(value)] !== undefined
    : kind === "variant" ? model.variants.includes(value)
    : subjectsOf(model).includes(value);
  return exists ? new Baseline(kind as BaselineKind, value, model) : undefined;
}

function valueOf(row: Row, kind: BaselineKind): string {
  return String(row[kind]);
}

function subjectsOf(model: Model): string[] {
  return unique(model.rows.map((row) => row.subject));
}
