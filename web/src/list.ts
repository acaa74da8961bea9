// A live list of lines with intervals: follows the pointer and the keys, and shows more on demand. The chart decides
// which lines there are, and which controls are above them.

import { html } from "./dom";
import { Readout } from "./readout";
import { drawRows, type Line, type RowsAxis, type RowsDrawing } from "./rows";

export interface ListView {
  lines: Line[];
  axis: RowsAxis;
  empty: string;
}

/** The number of lines at first, and added with each press of the button. */
const PAGE = 50;

export class ListFigure {
  private readonly stage: HTMLElement;
  private readonly more = html("button", { type: "button", class: "more screen-only" });
  private readonly readout = new Readout();
  private shown = PAGE;
  private lines: Line[] = [];
  private drawing: RowsDrawing | undefined;
  private cursor: number | undefined;

  constructor(
    figure: HTMLElement,
    toolbar: HTMLElement,
    private readonly view: () => ListView,
  ) {
    const still = figure.querySelector(":scope > svg");
    const label = still?.querySelector("title")?.textContent ?? "Chart";
    this.stage = html("div", {
      class: "stage",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "chart",
      "aria-label": `${label}. Up and down arrow: from line to line.`,
    });
    if (still === null) figure.prepend(toolbar, this.stage, this.more);
    else still.replaceWith(toolbar, this.stage, this.more);
    this.listen();
    this.redraw();
    let width = this.stage.clientWidth;
    new ResizeObserver(() => {
      if (this.stage.clientWidth !== width) this.redraw();
      width = this.stage.clientWidth;
    }).observe(this.stage);
  }

  /** Draws again, from the top. */
  restart(): void {
    this.shown = PAGE;
    this.redraw();
  }

  redraw(): void {
    const width = this.stage.clientWidth;
    if (width === 0) return;
    this.clearCursor();
    const view = this.view();
    this.lines = view.lines.slice(0, this.shown);
    const rest = view.lines.length - this.lines.length;
    this.more.hidden = rest === 0;
    this.more.textContent = `Show ${Math.min(rest, PAGE)} more of ${rest}`;
    if (this.lines.length === 0) {
      this.drawing = undefined;
      this.stage.replaceChildren(html("p", { class: "empty" }, view.empty), this.readout.element);
      return;
    }
    this.drawing = drawRows(this.lines, view.axis, width);
    this.stage.replaceChildren(this.drawing.element, this.readout.element);
  }

  private listen(): void {
    this.more.addEventListener("click", () => {
      this.shown += PAGE;
      this.redraw();
    });
    for (const name of ["pointermove", "pointerdown"] as const) {
      this.stage.addEventListener(name, (event) => {
        if (this.drawing === undefined) return;
        const y = event.clientY - this.drawing.element.getBoundingClientRect().top;
        const { places, half } = this.drawing;
        this.setCursor(places.findIndex((place) => Math.abs(place.y - y) <= half));
      });
    }
    this.stage.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse") this.clearCursor();
    });
    this.stage.addEventListener("focus", () => {
      if (this.cursor === undefined && this.stage.matches(":focus-visible")) this.setCursor(0);
    });
    this.stage.addEventListener("blur", () => this.clearCursor());
    this.stage.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const last = this.lines.length - 1;
      const at = this.cursor ?? -1;
      const target = { ArrowDown: Math.min(at + 1, last), ArrowUp: Math.max(at - 1, 0), Home: 0, End: last }[event.key];
      if (event.key === "Escape") this.clearCursor();
      else if (target === undefined) return;
      else this.setCursor(target);
      event.preventDefault();
    });
  }

  private setCursor(index: number): void {
    const [line, place] = [this.lines[index], this.drawing?.places[index]];
    if (this.drawing === undefined || line === undefined || place === undefined) {
      this.clearCursor();
      return;
    }
    if (this.cursor === index) return;
    this.cursor = index;
    this.mark(index);
    this.readout.show(line.reading, place.x, place.y);
  }

  private clearCursor(): void {
    this.cursor = undefined;
    this.mark(-1);
    this.readout.hide();
  }

  private mark(index: number): void {
    this.drawing?.element.querySelectorAll(".hit").forEach((hit, at) => hit.classList.toggle("is-focus", at === index));
  }
}
