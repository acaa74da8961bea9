// An interactive figure of lines: the static drawing is replaced by one that follows the pointer, the arrow keys, the
// legend and the switches. Its ViewKind decides which chart it is.

import { html, px, svg } from "./dom";
import { choice, Legend, press } from "./legend";
import { sample } from "./look";
import type { Scope } from "./model";
import { type Drawing, drawLines, type Placed } from "./plot";
import { Readout } from "./readout";
import type { Spread } from "./scale";
import type { Series } from "./series";
import type { Context, View, ViewKind } from "./view";

/** More sentences than this are folded. */
const SENTENCES_OPEN_MAX = 4;

const SPREAD_NAMES: Record<Spread, string> = { linear: "linear", log: "log", percentile: "tail" };

/** Turns a static figure into a live one. Returns the function that draws it again when a choice has changed. */
export function enliven(
  figure: HTMLElement,
  kind: ViewKind,
  context: Context,
  scope: Scope,
): (key: string) => void {
  const still = figure.querySelector(":scope > svg, :scope > .scroll > svg");
  const label = still?.querySelector("title")?.textContent ?? kind.name;
  const chart = new LineFigure(kind, context, scope, figure.dataset, figure.querySelector("figcaption"), label);
  if (still === null) figure.prepend(chart.toolbar, chart.stage, chart.words);
  else still.replaceWith(chart.toolbar, chart.stage, chart.words);
  chart.redraw();
  let width = 0;
  new ResizeObserver(() => {
    if (chart.stage.clientWidth !== width) chart.redraw();
    width = chart.stage.clientWidth;
  }).observe(chart.stage);
  width = chart.stage.clientWidth;
  return (key) => {
    if (key === "hide" || key === "baseline" || key.startsWith(`${kind.name}.`)) chart.redraw();
  };
}

class LineFigure {
  readonly toolbar = html("div", { class: "toolbar" });
  readonly stage: HTMLElement;
  readonly words = html("details", { class: "words" });
  private readonly legend: Legend;
  private readonly still: string;
  private readonly readout = new Readout();
  private readonly switches: { control: HTMLElement; spread: () => Spread }[] = [];
  private view: View;
  private drawing: Drawing | undefined;
  private cursor: Placed | undefined;

  constructor(
    private readonly kind: ViewKind,
    private readonly context: Context,
    private readonly scope: Scope,
    /** The figure's data attributes. */
    private readonly drawn: DOMStringMap,
    private readonly caption: Element | null,
    label: string,
  ) {
    this.still = caption?.textContent ?? "";
    this.view = kind.view(context, scope);
    this.legend = new Legend(context.hidden);
    const switches = html("div", { class: "switches" }, ...(kind.controls?.(context, scope) ?? []));
    for (const axis of ["x", "y"] as const) this.addSwitch(switches, axis);
    this.toolbar.append(this.legend.element, switches);
    this.stage = html("div", {
      class: "stage",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "chart",
      "aria-label": `${label}. Left and right arrow: along a series; up and down: to another series.`,
    });
    this.listen();
  }

  redraw(): void {
    const width = this.stage.clientWidth;
    if (width === 0) return;
    this.view = this.kind.view(this.context, this.scope);
    const visible = this.view.series.filter((series) => !this.context.hidden.has(series));
    this.legend.update(this.view.series);
    for (const { control, spread } of this.switches) press(control, spread());
    this.writeWords(visible);
    if (this.caption !== null) this.caption.textContent = this.view.caption ?? this.liveCaption();
    this.clearCursor();
    if (visible.every((series) => series.points.length === 0)) {
      const text = this.view.series.length > 0 ? "Every series is hidden." : (this.view.empty ?? "Nothing to draw.");
      this.drawing = undefined;
      this.stage.replaceChildren(html("p", { class: "empty" }, text), this.readout.element);
      return;
    }
    this.drawing = drawLines(this.view, visible, [this.spread("x"), this.spread("y")], width);
    this.stage.replaceChildren(this.drawing.element, this.readout.element);
  }

  /** The report's caption without the sentences that are wrong for a live chart: that series or sizes are left out. */
  private liveCaption(): string {
    const kept = this.still.replace(/ [^.]*only in the table of rows\./g, "").replace(/ Lines are drawn through some of their sizes;[^.]*\./, "");
    const harness = [...new Set(this.view.series.filter((one) => one.points[0]?.row.standing === "null").map((one) => one.subject))];
    return harness.length === 0 ? kept : `${kept} ${harness.join(", ")} is the harness alone, hidden at first.`;
  }

  /** A few sentences are shown, many are folded until the reader opens them. */
  private writeWords(visible: Series[]): void {
    const sentences = visible.flatMap((series) => (this.view.words?.(series) ?? []).map((text) => ({ series, text })));
    this.words.hidden = sentences.length === 0;
    if (this.words.childElementCount === 0) this.words.open = sentences.length <= SENTENCES_OPEN_MAX;
    this.words.replaceChildren(
      html("summary", {}, this.view.wordsTitle ?? "In words"),
      html("ul", {}, ...sentences.map(({ series, text }) => html("li", {}, sample(series.look), text))),
    );
  }

  private spread(axis: "x" | "y"): Spread {
    const stored = this.context.state.get(`${this.kind.name}.${axis}`);
    const spreads = this.view[axis].spreads;
    return spreads.find((spread) => spread === stored) ?? this.firstSpread(axis);
  }

  /** The scale of the static drawing, where an attribute names it. */
  private firstSpread(axis: "x" | "y"): Spread {
    const spreads = this.view[axis].spreads;
    return spreads.find((spread) => spread === this.drawn[axis]) ?? spreads[0] ?? "linear";
  }

  private addSwitch(parent: HTMLElement, axis: "x" | "y"): void {
    const spreads = this.view[axis].spreads;
    if (spreads.length < 2) return;
    const control = choice(
      axis,
      spreads.map((spread) => [spread, SPREAD_NAMES[spread]] as const),
      this.spread(axis),
      (spread) => this.context.state.set(`${this.kind.name}.${axis}`, spread),
    );
    control.dataset["axis"] = axis;
    this.switches.push({ control, spread: () => this.spread(axis) });
    parent.append(control);
  }

  private listen(): void {
    this.stage.addEventListener("pointermove", (event) => this.followPointer(event));
    this.stage.addEventListener("pointerdown", (event) => this.followPointer(event));
    this.stage.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse") this.clearCursor();
    });
    this.stage.addEventListener("focus", () => {
      if (this.cursor === undefined && this.stage.matches(":focus-visible")) this.setCursor(this.drawing?.placed[0]);
    });
    this.stage.addEventListener("blur", () => this.clearCursor());
    this.stage.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey || !this.steer(event.key)) return;
      event.preventDefault();
    });
  }

  private followPointer(event: PointerEvent): void {
    if (this.drawing === undefined) return;
    const box = this.drawing.element.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const [left, top, right, bottom] = this.drawing.area;
    if (x < left - 12 || x > right + 12 || y < top - 12 || y > bottom + 12) {
      this.clearCursor();
      return;
    }
    const distance = (place: Placed): number => (place.x - x) ** 2 + (place.y - y) ** 2;
    const nearest = this.drawing.placed.reduce<Placed | undefined>(
      (best, place) => (best === undefined || distance(place) < distance(best) ? place : best),
      undefined,
    );
    this.setCursor(nearest);
  }

  /** Moves the cursor by a key. False if the key has no meaning here. */
  private steer(key: string): boolean {
    if (key === "Escape") {
      this.clearCursor();
      return true;
    }
    const placed = this.drawing?.placed ?? [];
    const at = this.cursor ?? placed[0];
    if (at === undefined) return false;
    const along = placed.filter((place) => place.series === at.series);
    const index = along.indexOf(at);
    switch (key) {
      case "ArrowLeft":
        this.setCursor(along[Math.max(index - 1, 0)]);
        return true;
      case "ArrowRight":
        this.setCursor(along[Math.min(index + 1, along.length - 1)]);
        return true;
      case "Home":
        this.setCursor(along[0]);
        return true;
      case "End":
        this.setCursor(along[along.length - 1]);
        return true;
      case "ArrowUp":
      case "ArrowDown":
        this.setCursor(neighbour(placed, at, key === "ArrowUp" ? -1 : 1) ?? at);
        return true;
      default:
        return false;
    }
  }

  private setCursor(place: Placed | undefined): void {
    if (this.drawing === undefined || place === undefined) return;
    if (this.cursor === place) return;
    this.clearMarks();
    this.cursor = place;
    const { element, area } = this.drawing;
    element.classList.add("has-focus");
    for (const group of element.querySelectorAll("g.series")) {
      group.classList.toggle("is-focus", group.getAttribute("data-series") === place.series.key);
    }
    element.append(
      svg(
        "g",
        { class: "marks" },
        svg("path", { class: "hair", d: `M${px(place.x)} ${px(area[1])}V${px(area[3])}` }),
        svg("circle", { class: "cursor", cx: px(place.x), cy: px(place.y), r: 7 }),
      ),
    );
    this.readout.show(this.view.reading(place.point, place.series), place.x, place.y);
  }

  private clearCursor(): void {
    this.clearMarks();
    this.cursor = undefined;
    this.readout.hide();
  }

  private clearMarks(): void {
    const element = this.drawing?.element;
    element?.classList.remove("has-focus");
    element?.querySelector(".marks")?.remove();
  }
}

/** The point above or below on another series, as near as possible in x. */
function neighbour(placed: Placed[], at: Placed, direction: -1 | 1): Placed | undefined {
  const column = placed.filter((place) => place === at || (place.series !== at.series && Math.abs(place.x - at.x) < 0.5));
  column.sort((a, b) => a.y - b.y);
  const next = column[column.indexOf(at) + direction];
  if (next !== undefined || column.length > 1) return next;
  // No other point at this x: take the nearest point of the next series.
  const keys = [...new Set(placed.map((place) => place.series))];
  const series = keys[(keys.indexOf(at.series) + direction + keys.length) % keys.length];
  return placed
    .filter((place) => place.series === series)
    .sort((a, b) => Math.abs(a.x - at.x) - Math.abs(b.x - at.x))[0];
}
