// The heat map, message size by series: the measured value in the cell, coloured by its ratio to the baseline. It is a
// table, so that it can be read aloud, copied and scrolled on a narrow screen.

import { Baseline, speedUp } from "../baseline";
import { html } from "../dom";
import { shortened } from "../plot";
import { type Row, type Scope, unique } from "../model";
import { ownText, Readout, readingOf } from "../readout";
import { type Series, seriesOf } from "../series";
import { format, grouped, inUnit, size } from "../units";
import type { Context } from "../view";

/** The limits between steps of colour, for better and, inverted, for worse. */
const STEPS = [1.05, 1.2, 1.5, 2.5, 5];

/** The largest number of columns; of more sizes an even selection is shown. */
const SIZES_MAX = 24;

/** Makes a heat map interactive. Returns the function that draws it again. */
export function heatmap(figure: HTMLElement, scope: Scope, context: Context): (key: string) => void {
  const still = figure.querySelector(":scope > svg");
  const readout = new Readout();
  const scroll = html("div", { class: "scroll" });
  const stage = html("div", { class: "stage" }, scroll, readout.element);
  const key = html("div", { class: "heat-key" });
  const caption = figure.querySelector("figcaption");
  if (still === null) figure.prepend(stage, key);
  else still.replaceWith(stage, key);

  const draw = (): void => {
    readout.hide();
    const rows = context.model.inScope(scope);
    const baseline = Baseline.of(context.state, context.model);
    const series = seriesOf(rows, context.model, context.looks, (row) =>
      row.size === null ? undefined : { x: row.size, y: row.median, low: row.low, high: row.high },
    );
    const all = unique(series.flatMap((one) => one.points.map((point) => point.x))).sort((a, b) => a - b);
    const sizes = chosen(all);
    const table = new Heat(series, sizes, baseline, rows, context, readout, stage);
    scroll.replaceChildren(table.element);
    // The static drawing is shaded by another rule: nearness to the best.
    const some = sizes.length < all.length ? ` ${sizes.length} of ${grouped(all.length)} sizes.` : "";
    if (caption !== null) caption.textContent = captionOf(rows[0], baseline) + some;
    key.replaceChildren(...scaleKey(baseline));
  };
  draw();
  return (changed) => {
    if (changed === "baseline") draw();
  };
}

class Heat {
  readonly element: HTMLTableElement;
  private readonly cells: HTMLTableCellElement[][];

  constructor(
    series: Series[],
    sizes: number[],
    baseline: Baseline,
    rows: Row[],
    private readonly context: Context,
    private readonly readout: Readout,
    private readonly stage: HTMLElement,
  ) {
    const baseOf = baseline.finder(rows);
    this.cells = series.map((one) =>
      sizes.map((bytes) => this.cell(one, rowOf(one, bytes), baseOf, baseline)),
    );
    const head = html("tr", {}, html("th", { scope: "col" }, "size"), ...sizes.map((bytes) => html("th", { scope: "col" }, size(bytes))));
    this.element = html(
      "table",
      { class: "heat", role: "grid", "aria-label": captionOf(rows[0], baseline) },
      html("thead", {}, head),
      html(
        "tbody",
        {},
        ...series.map((one, index) =>
          html("tr", {}, html("th", { scope: "row", title: one.name }, shortened(one.name, 22)), ...(this.cells[index] ?? [])),
        ),
      ),
    );
    const first = this.cells.flat()[0];
    if (first !== undefined) first.tabIndex = 0;
    this.element.addEventListener("keydown", (event) => this.steer(event));
    this.element.addEventListener("pointerleave", () => this.readout.hide());
    this.element.addEventListener("focusout", () => this.readout.hide());
  }

  private cell(
    series: Series,
    row: Row | undefined,
    baseOf: (row: Row) => Row | undefined,
    baseline: Baseline,
  ): HTMLTableCellElement {
    if (row === undefined) return html("td", { tabindex: -1, "aria-label": "not measured" });
    const base = baseOf(row);
    const ratio = base === undefined ? undefined : speedUp(row, base);
    const tone = ratio === undefined ? "" : `h${step(ratio[0])}`;
    // The unit is in the caption where it is the same for all; durations keep theirs.
    const cell = html("td", { tabindex: -1, class: tone }, inUnit(row.median, row.unit).replace(/\/s$/, "").trim());
    const show = (): void => {
      const { value, interval } = ownText(row);
      const reading = readingOf(row, this.context.model, series.name, value, interval);
      if (ratio !== undefined && base !== row) {
        const text = `${format(ratio[0], "ratio")} the speed of ${baseline.name} (${format(ratio[1], "ratio")} to ${format(ratio[2], "ratio")})`;
        reading.lines.unshift(text);
      }
      const [box, place] = [cell.getBoundingClientRect(), this.stage.getBoundingClientRect()];
      this.readout.show(reading, box.right - place.left - 8, box.top - place.top + box.height / 2);
    };
    cell.addEventListener("pointerenter", show);
    cell.addEventListener("focus", show);
    return cell;
  }

  private steer(event: KeyboardEvent): void {
    const line = this.cells.findIndex((cells) => cells.includes(event.target as HTMLTableCellElement));
    const column = this.cells[line]?.indexOf(event.target as HTMLTableCellElement) ?? -1;
    if (column < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Escape") this.readout.hide();
    const last = (this.cells[line]?.length ?? 1) - 1;
    const target = {
      ArrowLeft: this.cells[line]?.[column - 1],
      ArrowRight: this.cells[line]?.[column + 1],
      ArrowUp: this.cells[line - 1]?.[column],
      ArrowDown: this.cells[line + 1]?.[column],
      Home: this.cells[line]?.[0],
      End: this.cells[line]?.[last],
    }[event.key];
    if (target === undefined) return;
    event.preventDefault();
    (event.target as HTMLElement).tabIndex = -1;
    target.tabIndex = 0;
    target.focus();
  }
}

function rowOf(series: Series, bytes: number): Row | undefined {
  return series.points.find((point) => point.x === bytes)?.row;
}

/** At most SIZES_MAX of the sizes, evenly, the first and the last among them. */
function chosen(sizes: number[]): number[] {
  if (sizes.length <= SIZES_MAX) return sizes;
  const step = (sizes.length - 1) / (SIZES_MAX - 1);
  return Array.from({ length: SIZES_MAX }, (_, index) => sizes[Math.round(index * step)] as number);
}

function captionOf(row: Row | undefined, baseline: Baseline): string {
  const what = row?.unit === "messages/s" ? "Messages/s" : (row?.metric ?? "").replace(/_/g, "-");
  return `${what}, ${row?.better ?? "higher"} is better. Colour: how many times faster or slower than ${shortened(baseline.name, 60)}.`;
}

/** 0 (far slower) over 5 (equal) to 10 (far faster). */
function step(ratio: number): number {
  const magnitude = ratio >= 1 ? ratio : 1 / ratio;
  const steps = STEPS.filter((end) => magnitude > end).length;
  return ratio >= 1 ? 5 + steps : 5 - steps;
}

function scaleKey(baseline: Baseline): HTMLElement[] {
  const ends = [...[...STEPS].reverse().map((end) => `÷${end}`), "=", ...STEPS.map((end) => `×${end}`)];
  return [
    html("span", {}, "slower"),
    html("ol", { "aria-label": `Colours by the ratio to ${baseline.name}` }, ...ends.map((text, index) => html("li", { class: `h${index}` }, text))),
    html("span", {}, "faster"),
  ];
}
