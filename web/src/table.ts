// The raw data as a table: sorted by its header's buttons, filtered by words, downloaded as CSV. Only the rows in sight
// are elements, so that 50,000 rows scroll as well as 50. The report's static table stays for printing.

import { type Cell, csv, download } from "./csv";
import { html } from "./dom";
import type { Model, Row } from "./model";
import type { State } from "./state";


interface Column {
  name: string;
  title: string;
  text(row: Row): string;
  /** The key by which it is sorted. */
  value(row: Row): string | number;
  isNumber?: boolean;
}

const ROW_HEIGHT = 28;
/** Rows beyond the edges of the window, so that scrolling shows no gap. */
const MARGIN = 12;
const TYPING_MS = 120;
const grouped = new Intl.NumberFormat("en").format;

/** Puts the live table into the section. Returns the function that updates it after a change of state. */
export function rawTable(section: HTMLElement, model: Model, state: State): (key: string) => void {
  const still = section.querySelector("table");
  const live = new LiveTable(model, state);
  if (still === null) section.append(live.tools, live.scroll);
  else {
    // The wrapper, if the static table has one, is printed with it.
    const wrapper = still.closest(".scroll");
    const outer = wrapper !== null && section.contains(wrapper) ? wrapper : still;
    outer.before(live.tools, live.scroll);
    outer.classList.add("print-only");
    // It counts the lines of the printed table.
    section.querySelector(":scope > .note")?.classList.add("print-only");
  }
  live.update();
  return (key) => {
    if (key.startsWith("data.")) live.update();
  };
}

class LiveTable {
  readonly tools: HTMLElement;
  readonly scroll: HTMLElement;
  private readonly columns: Column[];
  private readonly heads: HTMLTableCellElement[];
  private readonly body = html("tbody");
  private readonly table: HTMLTableElement;
  private readonly count = html("output", { for: "data-filter" });
  private readonly filter = html("input", { type: "search", id: "data-filter", placeholder: "words, as in: pipe 4 KiB rtt" });
  private haystack: string[] | undefined;
  private rows: Row[] = [];
  private drawn = "";

  constructor(
    private readonly model: Model,
    private readonly state: State,
  ) {
    this.columns = columnsOf(model);
    this.heads = this.columns.map((column) => this.head(column));
    this.table = html(
      "table",
      { class: "live", "aria-label": "Raw data" },
      html("thead", {}, html("tr", {}, ...this.heads)),
      this.body,
    );
    this.scroll = html("div", { class: "live-scroll screen-only", tabindex: 0, role: "region", "aria-label": "Raw data, scrolls" }, this.table);
    this.scroll.addEventListener("scroll", () => this.draw());
    const button = html("button", { type: "button", id: "download-csv" }, "Download CSV");
    button.addEventListener("click", () => this.save());
    this.tools = html("div", { class: "table-tools" }, html("label", { class: "control" }, "Filter", this.filter), this.count, button);
    let timer: ReturnType<typeof setTimeout> | undefined;
    this.filter.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => state.set("data.filter", this.filter.value.trim() || undefined), TYPING_MS);
    });
  }

  /** Filters and sorts again. */
  update(): void {
    const wanted = this.state.get("data.filter") ?? "";
    if (this.filter.value.trim() !== wanted) this.filter.value = wanted;
    const words = folded(wanted).split(/\s+/).filter((word) => word !== "");
    this.rows = words.length === 0 ? [...this.model.rows] : this.matching(words);
    const [name, direction] = (this.state.get("data.sort") ?? "").split("-");
    const column = this.columns.find((candidate) => candidate.name === name);
    if (column !== undefined) sort(this.rows, column, direction === "desc");
    this.columns.forEach((candidate, index) => {
      const order = candidate === column ? (direction === "desc" ? "descending" : "ascending") : "none";
      this.heads[index]?.setAttribute("aria-sort", order);
    });
    const all = this.model.rows.length;
    const left = this.model.data.shortened;
    this.count.textContent =
      (this.rows.length === all ? `${grouped(all)} rows` : `${grouped(this.rows.length)} of ${grouped(all)} rows`) +
      (left === null ? "" : `; ${left}`);
    this.table.setAttribute("aria-rowcount", String(this.rows.length + 1));
    this.scroll.classList.toggle("is-short", this.rows.length < 16);
    this.scroll.scrollTop = 0;
    this.drawn = "";
    this.draw();
  }

  private matching(words: string[]): Row[] {
    const haystack = (this.haystack ??= this.model.rows.map((row) => searchText(row, this.model)));
    return this.model.rows.filter((row) => words.every((word) => haystack[row.index]?.includes(word)));
  }

  /** Makes the rows in sight, and blanks of the height of the others. */
  private draw(): void {
    const height = this.scroll.clientHeight || 640;
    const first = Math.max(Math.floor(this.scroll.scrollTop / ROW_HEIGHT) - MARGIN, 0);
    const last = Math.min(first + Math.ceil(height / ROW_HEIGHT) + 2 * MARGIN, this.rows.length);
    if (this.drawn === `${first} ${last}`) return;
    this.drawn = `${first} ${last}`;
    const lines = this.rows.slice(first, last).map((row, index) => this.line(row, first + index));
    this.body.replaceChildren(
      ...this.blank(first),
      ...lines,
      ...this.blank(this.rows.length - last),
      ...(this.rows.length === 0 ? [html("tr", {}, html("td", { colspan: this.columns.length }, "No row has all these words."))] : []),
    );
  }

  private line(row: Row, index: number): HTMLTableRowElement {
    const line = html("tr", { "aria-rowindex": index + 2 });
    for (const column of this.columns) {
      const text = column.text(row);
      line.append(html("td", { class: column.isNumber === true ? "number" : "text", title: text.length > 24 ? text : undefined }, text));
    }
    return line;
  }

  private blank(rows: number): HTMLTableRowElement[] {
    if (rows <= 0) return [];
    const cell = html("td", { colspan: this.columns.length });
    cell.style.height = `${rows * ROW_HEIGHT}px`;
    return [html("tr", { class: "space", "aria-hidden": "true" }, cell)];
  }

  private head(column: Column): HTMLTableCellElement {
    const button = html("button", { type: "button" }, column.title);
    button.addEventListener("click", () => {
      const now = this.state.get("data.sort");
      // Up, down, and back to the order of the run.
      const next = { [`${column.name}-asc`]: `${column.name}-desc`, [`${column.name}-desc`]: undefined };
      this.state.set("data.sort", now !== undefined && now in next ? next[now] : `${column.name}-asc`);
    });
    return html("th", { scope: "col", "aria-sort": "none", class: column.isNumber === true ? "number" : undefined }, button);
  }

  private save(): void {
    const { model } = this;
    const name = (index: number): string => model.runs[index]?.name ?? "";
    const header = ["run", "row", "subject", "pattern", "placement", "variant", "standing", "size_bytes", "messages", "workers", "worker_kind", "metric", "unit", "better", "median", "low", "high", "n", "confidence", "flags"];
    const lines = function* (rows: Row[]): Iterable<Cell[]> {
      for (const row of rows) {
        yield [name(row.run), row.id, row.subject, row.pattern, row.placement, row.variant, row.standing, row.size, row.messages, row.workers, row.workerKind, row.metric, row.unit, row.better, row.median, row.low, row.high, row.n, row.confidence, row.flags];
      }
    };
    download("headwater.csv", csv(header, lines(this.rows)));
  }
}

/** Columns that are empty for all rows are left out. */
function columnsOf(model: Model): Column[] {
  const number = (value: number | null): string => (value === null ? "" : grouped(value));
  const all: (Column & { isOptional?: boolean })[] = [
    { name: "run", title: "Run", text: (row) => model.runs[row.run]?.name ?? "", value: (row) => row.run, isOptional: model.runs.length < 2 },
    { name: "subject", title: "Subject", text: (row) => row.subject, value: (row) => row.subject },
    { name: "pattern", title: "Pattern", text: (row) => row.pattern, value: (row) => row.pattern },
    { name: "variant", title: "Variant", text: (row) => row.variant, value: (row) => row.variant },
    { name: "placement", title: "Placement", text: (row) => row.placement, value: (row) => row.placement },
    { name: "size", title: "Size", text: (row) => row.sizeText, value: (row) => row.size ?? -1, isNumber: true },
    { name: "messages", title: "Messages", text: (row) => number(row.messages), value: (row) => row.messages ?? -1, isNumber: true },
    { name: "workers", title: "Workers", text: (row) => (row.workers === null ? "" : `${row.workers} ${row.workerKind}`), value: (row) => row.workers ?? -1, isNumber: true },
    { name: "metric", title: "Metric", text: (row) => row.metric, value: (row) => row.metric },
    { name: "median", title: "Median", text: (row) => row.medianText, value: (row) => row.median, isNumber: true },
    { name: "low", title: "Low", text: (row) => row.lowText, value: (row) => row.low, isNumber: true },
    { name: "high", title: "High", text: (row) => row.highText, value: (row) => row.high, isNumber: true },
    { name: "n", title: "n", text: (row) => String(row.n), value: (row) => row.n, isNumber: true },
    { name: "flags", title: "Flags", text: (row) => row.flags, value: (row) => row.flags },
  ];
  return all.filter((column) => column.isOptional !== true && model.rows.some((row) => column.text(row) !== ""));
}

/** Stable, so that one column's order remains within the next one's. */
function sort(rows: Row[], column: Column, isDescending: boolean): void {
  const sign = isDescending ? -1 : 1;
  const collator = new Intl.Collator("en", { numeric: true });
  // Each distinct text is compared once with the others, not each row with each.
  const ranks = new Map<string | number, number>();
  const values = [...new Set(rows.map((row) => column.value(row)))];
  values.sort((a, b) => (typeof a === "number" && typeof b === "number" ? a - b : collator.compare(String(a), String(b))));
  values.forEach((value, rank) => ranks.set(value, rank));
  const rank = (row: Row): number => ranks.get(column.value(row)) ?? 0;
  rows.sort((a, b) => sign * (rank(a) - rank(b)));
}

function searchText(row: Row, model: Model): string {
  const bytes = row.size === null ? "" : `${row.sizeText} ${row.size}`;
  const run = model.runs.length > 1 ? (model.runs[row.run]?.name ?? "") : "";
  return folded([row.id, run, row.subject, row.pattern, row.placement, row.variant, row.metric, row.workerKind, row.standing, bytes].join(" "));
}

/** For comparing: small letters, plain spaces. */
function folded(text: string): string {
  return text.toLowerCase().replace(/\u00a0/g, " ");
}
