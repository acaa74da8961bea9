// A figure of lines with a reader: the words about a point, lines that are hidden and shown, another scale. The drawings
// and the words are the report's.

import { choice, press } from "./choice";
import type { LiveFigure } from "./data";
import { html } from "./dom";
import { mark, parsed, type Place, placesOf, showLines } from "./drawing";
import { Readout } from "./readout";
import type { State } from "./state";
import type { Lines } from "./lines";

/** From this distance to the nearest point on, in pixels, nothing is described. */
const REACH = 60;

/** Turns a figure into a live one. Returns the function that updates it when a choice has changed. */
export function enliven(
  element: HTMLElement,
  figure: LiveFigure,
  state: State,
  lines: Lines,
  flagSentences: Record<string, string>,
): (key: string) => void {
  const stage = element.querySelector<HTMLElement>(":scope > .stage");
  if (stage === null) return () => undefined;
  const live = new LineFigure(element, stage, figure, state, lines, flagSentences);
  return (key) => live.update(key);
}

class LineFigure {
  private readonly readout = new Readout();
  private readonly toolbar = html("div", { class: "toolbar" });
  private readonly buttons: HTMLButtonElement[] = [];
  private readonly box: HTMLInputElement | null;
  private readonly drawings = new Map<string, SVGSVGElement[]>();
  private readonly view: string;
  private scales: HTMLElement | undefined;
  private cursor: Place | undefined;

  constructor(
    element: HTMLElement,
    private readonly stage: HTMLElement,
    private readonly figure: LiveFigure,
    private readonly state: State,
    private readonly lines: Lines,
    private readonly flagSentences: Record<string, string>,
  ) {
    this.view = element.dataset["view"] ?? "";
    this.box = element.querySelector<HTMLInputElement>("input.more-lines");
    this.drawings.set(figure.scale, this.shown());
    const title = stage.querySelector("title")?.textContent ?? this.view;
    stage.tabIndex = 0;
    stage.setAttribute("role", "application");
    stage.setAttribute("aria-roledescription", "chart");
    stage.setAttribute("aria-label", `${title}. Left and right arrow: along a line; up and down: to another line.`);
    stage.append(this.readout.element);
    this.addScales();
    this.addButtons();
    stage.after(this.toolbar);
    this.listen();
    this.update("lines");
    this.update(`${this.view}.scale`);
  }

  /** Follows a choice that has changed. */
  update(key: string): void {
    if (key === `${this.view}.scale`) this.showScale();
    if (key === "toggle" || key === "lines") {
      if (this.box !== null) this.box.checked = this.lines.areAll;
      this.showLines();
    }
  }

  private shown(): SVGSVGElement[] {
    return [...this.stage.querySelectorAll<SVGSVGElement>(":scope > svg")];
  }

  /** The drawing that fits the window. */
  private visible(): SVGSVGElement | undefined {
    return this.shown().find((drawing) => drawing.getBoundingClientRect().width > 0);
  }

  private addScales(): void {
    const names = [this.figure.scale, ...this.figure.others.map(([name]) => name)];
    if (names.length < 2) return;
    // The order is the same in all figures, whatever they begin with.
    const options = names.sort().map((name) => [name, name] as const);
    this.scales = choice("Scale", options, this.scale(), (name) =>
      this.state.set(`${this.view}.scale`, name === this.figure.scale ? undefined : name),
    );
    this.stage.before(this.scales);
  }

  private scale(): string {
    const stored = this.state.get(`${this.view}.scale`);
    return this.figure.others.some(([name]) => name === stored) ? (stored as string) : this.figure.scale;
  }

  private showScale(): void {
    const name = this.scale();
    if (this.scales !== undefined) press(this.scales, name);
    const markup = this.figure.others.find(([other]) => other === name)?.[1] ?? [];
    const drawings = this.drawings.get(name) ?? markup.flatMap((one) => parsed(one) ?? []);
    this.drawings.set(name, drawings);
    this.clear();
    this.shown().forEach((drawing) => drawing.remove());
    this.stage.prepend(...drawings);
    this.showLines();
  }

  private addButtons(): void {
    const group = html("div", { class: "legend", role: "group", "aria-label": "Lines: shift-click shows one alone" });
    this.figure.lines.forEach((line, index) => {
      const button = html("button", { type: "button", title: line.name }, parsed(line.sample), html("span", {}, line.name));
      button.addEventListener("click", (event) => {
        if (event.shiftKey) this.lines.only(line, this.figure.lines);
        else this.lines.toggle(line);
      });
      button.addEventListener("pointerenter", () => this.focusLine(index));
      button.addEventListener("pointerleave", () => this.clear());
      this.buttons.push(button);
      group.append(button, " ");
    });
    this.toolbar.append(group);
    this.box?.addEventListener("change", () => this.lines.showAll(this.box?.checked ?? false));
  }

  private showLines(): void {
    const shown = new Set([...this.figure.lines.keys()].filter((index) => this.isShown(index)));
    const isAsWritten = this.figure.lines.every((line, index) => shown.has(index) === (this.lines.areAll || line.is_first));
    for (const drawing of this.shown()) showLines(drawing, isAsWritten ? undefined : shown);
    this.buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(shown.has(index))));
    this.clear();
  }

  private isShown(index: number): boolean {
    const line = this.figure.lines[index];
    return line !== undefined && this.lines.isShown(line);
  }

  private focusLine(index: number): void {
    const drawing = this.visible();
    if (drawing === undefined || !this.isShown(index)) return;
    const places = this.places(drawing).filter((place) => place.line === index);
    mark(drawing, places[places.length - 1]);
  }

  /** The points of the lines that are shown. */
  private places(drawing: SVGSVGElement): Place[] {
    return placesOf(drawing).filter((place) => this.isShown(place.line));
  }

  private listen(): void {
    const { stage } = this;
    stage.addEventListener("pointermove", (event) => this.followPointer(event));
    stage.addEventListener("pointerdown", (event) => this.followPointer(event));
    stage.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse") this.clear();
    });
    stage.addEventListener("focus", () => {
      const drawing = this.visible();
      if (drawing !== undefined && this.cursor === undefined && stage.matches(":focus-visible")) this.point(drawing, this.places(drawing)[0]);
    });
    stage.addEventListener("blur", () => this.clear());
    stage.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey || !this.steer(event.key)) return;
      event.preventDefault();
    });
  }

  private followPointer(event: PointerEvent): void {
    const drawing = this.visible();
    if (drawing === undefined) return;
    const box = drawing.getBoundingClientRect();
    const scale = drawing.viewBox.baseVal.width / box.width;
    const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    let nearest: Place | undefined;
    let least = (REACH * scale) ** 2;
    for (const place of this.places(drawing)) {
      const distance = (place.x - x) ** 2 + (place.y - y) ** 2;
      if (distance < least) [nearest, least] = [place, distance];
    }
    if (nearest === undefined) this.clear();
    else this.point(drawing, nearest);
  }

  /** Moves the cursor by a key. False if the key has no meaning here. */
  private steer(key: string): boolean {
    const drawing = this.visible();
    if (drawing === undefined) return false;
    if (key === "Escape") {
      this.clear();
      return true;
    }
    const places = this.places(drawing);
    const at = places.find(({ line, index }) => line === this.cursor?.line && index === this.cursor.index) ?? places[0];
    if (at === undefined) return false;
    const along = places.filter((place) => place.line === at.line);
    const index = along.indexOf(at);
    const steps: Record<string, () => Place | undefined> = {
      ArrowLeft: () => along[Math.max(index - 1, 0)],
      ArrowRight: () => along[Math.min(index + 1, along.length - 1)],
      Home: () => along[0],
      End: () => along[along.length - 1],
      ArrowUp: () => neighbour(places, at, -1),
      ArrowDown: () => neighbour(places, at, 1),
    };
    const step = steps[key];
    if (step === undefined) return false;
    this.point(drawing, step() ?? at);
    return true;
  }

  private point(drawing: SVGSVGElement, place: Place | undefined): void {
    const words = place && this.figure.lines[place.line]?.points[place.index];
    if (place === undefined || words === undefined) return;
    if (this.cursor?.line === place.line && this.cursor.index === place.index) return;
    this.cursor = place;
    mark(drawing, place);
    const scale = drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width;
    const [lines, flags] = words;
    const sentences = [...flags].map((letter): [string, string] => [letter, this.flagSentences[letter] ?? ""]);
    this.readout.show(lines.split("\n"), sentences, place.x * scale, place.y * scale);
  }

  private clear(): void {
    this.cursor = undefined;
    for (const drawing of this.shown()) mark(drawing, undefined);
    this.readout.hide();
  }
}

/** The point above or below on another line, as near as possible in x. */
function neighbour(places: Place[], at: Place, direction: -1 | 1): Place | undefined {
  const near = new Map<number, Place>();
  for (const place of places) {
    const known = near.get(place.line);
    if (known === undefined || Math.abs(place.x - at.x) < Math.abs(known.x - at.x)) near.set(place.line, place);
  }
  near.set(at.line, at);
  const column = [...near.values()].sort((a, b) => a.y - b.y);
  return column[column.indexOf(at) + direction];
}
