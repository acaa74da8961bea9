// A drawing of the report in the page: where its points are, which of its lines are shown. Draws nothing but the cursor.

import { px, svg } from "./dom";

/** A point of a line, in units of the drawing. */
export interface Place {
  line: number;
  index: number;
  x: number;
  y: number;
}

/** The places of all points, in the order of the lines. */
export function placesOf(drawing: SVGSVGElement): Place[] {
  const places: Place[] = [];
  for (const group of drawing.querySelectorAll<SVGGElement>(":scope > g.series[data-s]")) {
    const line = Number(group.dataset["s"]);
    const numbers = (group.querySelector("path.line")?.getAttribute("d") ?? "").match(/-?[\d.]+/g) ?? [];
    for (let index = 0; 2 * index + 1 < numbers.length; index += 1) {
      places.push({ line, index, x: Number(numbers[2 * index]), y: Number(numbers[2 * index + 1]) });
    }
  }
  return places.sort((a, b) => a.line - b.line || a.index - b.index);
}

/** Shows these lines and their names, or those that the report and the box above choose. */
export function showLines(drawing: SVGSVGElement, lines: Set<number> | undefined): void {
  drawing.classList.toggle("chosen", lines !== undefined);
  for (const part of drawing.querySelectorAll<SVGElement>("[data-s]")) {
    part.classList.toggle("on", lines?.has(Number(part.dataset["s"])) ?? false);
  }
}

/** Marks a point and brings its line to the fore; without a place takes the mark away. */
export function mark(drawing: SVGSVGElement, place: Place | undefined): void {
  drawing.querySelector(":scope > .marks")?.remove();
  drawing.classList.toggle("has-focus", place !== undefined);
  for (const group of drawing.querySelectorAll<SVGElement>("[data-s]")) {
    group.classList.toggle("is-focus", place !== undefined && group.dataset["s"] === String(place.line));
  }
  if (place === undefined) return;
  const cursor = svg("circle", { class: "cursor", cx: px(place.x), cy: px(place.y), r: 7 });
  drawing.append(svg("g", { class: "marks" }, cursor));
}

/** The drawing that the report wrote as text. Every name in it is escaped by the report. */
export function parsed(markup: string): SVGSVGElement | undefined {
  const drawing = new DOMParser().parseFromString(markup, "text/html").querySelector("svg");
  return drawing === null ? undefined : document.importNode(drawing, true);
}
