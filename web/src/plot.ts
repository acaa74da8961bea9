// Draws a view of lines into an SVG of the available width. A pure function: it keeps no state, listens to
// no event, and returns the place of every point.

import { px, svg } from "./dom";
import { marker } from "./look";
import { makeScale, rounded, type Scale, type Spread, ticksOf } from "./scale";
import type { Point, Series } from "./series";
import { type Quantity, tickLabels } from "./units";
import type { Axis, Curves, View } from "./view";

export interface Placed {
  point: Point;
  series: Series;
  x: number;
  y: number;
}

export interface Drawing {
  element: SVGSVGElement;
  placed: Placed[];
  /** The plotted area: left, top, right, bottom. */
  area: [number, number, number, number];
}

/** Below this width the names at the lines' ends would take the chart's space; the legend has them. */
const WIDTH_WITH_NAMES = 620;
const NAMES_MAX = 16;
const NAME_LETTERS_MAX = 24;
const LINE_HEIGHT = 14;
/** A line that ends so near to the right edge has its name outside. */
const EDGE_PX = 40;

/** More markers than this on a line hide it. */
const MARKERS_MAX = 48;

export function drawLines(view: View, visible: Series[], spreads: [Spread, Spread], width: number): Drawing {
  const height = Math.round(Math.min(Math.max(width * 0.5, 260), 430));
  const hasNames = width >= WIDTH_WITH_NAMES && visible.length <= NAMES_MAX;
  const names = hasNames ? endNames(visible) : [];
  const referenceName = hasNames && view.reference !== undefined ? shortened(view.reference[1]) : "";
  const [top, bottom] = [30, height - 44];

  const yDomain = domainOf(visible.flatMap(extent), view.y, spreads[1], bottom - top, view.reference?.[0]);
  const y = makeScale(spreads[1], yDomain, [bottom, top]);
  const yTicks = ticksOf(y, (bottom - top) / 52, view.y.quantity === "size");
  const yLabels = tickLabels(yTicks, view.y.quantity, spreads[1] === "log");
  const left = Math.ceil(Math.max(...yLabels.map(textWidth), 20)) + 12;
  const right = width - (hasNames ? Math.ceil(Math.max(...[...names, referenceName].map(textWidth))) + 34 : 14);

  const xs = view.series.flatMap((series) => series.points.map((point) => point.x));
  const inset = spreads[0] === "log" ? 8 : 0;
  const x = makeScale(spreads[0], xDomain(xs, view.x, spreads[0]), [left + inset, right - inset]);

  const element = svg("svg", { class: "plot", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  element.append(
    ...valueAxis(view.y, y, yTicks, yLabels, left, right),
    ...baseAxis(view.x, x, spreads[0], left, right, bottom, width),
  );
  const reference = view.reference === undefined ? NaN : y.at(view.reference[0]);
  if (reference >= top - 1 && reference <= bottom + 1) {
    element.append(svg("path", { class: "reference", d: `M${px(left)} ${px(reference)}H${px(right)}` }));
  }

  const placed: Placed[] = [];
  for (const series of visible) {
    const group = svg("g", { class: `series ${series.look.colour}`, "data-series": series.key });
    const places = series.points
      .map((point) => ({ point, series, x: x.at(point.x), y: y.at(point.y) }))
      .filter((place) => Number.isFinite(place.x) && Number.isFinite(place.y));
    drawSeries(group, places, y, view.curves?.(series), x, series);
    element.append(group);
    placed.push(...places);
  }
  if (hasNames) {
    const ends = visible.flatMap((series, index): End[] => {
      const last = placed.filter((place) => place.series === series).pop();
      return last === undefined ? [] : [{ name: names[index] ?? "", x: last.x, y: last.y, key: series.key, colour: series.look.colour }];
    });
    if (Number.isFinite(reference)) ends.push({ name: referenceName, x: right - 6, y: reference, key: "", colour: "neutral" });
    nameEnds(element, ends, right, top, bottom);
  }
  return { element, placed, area: [left, top, right, bottom] };
}

function drawSeries(
  group: SVGGElement,
  places: Placed[],
  y: Scale,
  curves: Curves | undefined,
  x: Scale,
  series: Series,
): void {
  const clamped = (value: number): number => y.at(Math.min(Math.max(value, y.domain[0]), y.domain[1]));
  const hasInterval = places.some(({ point }) => point.low < point.high);
  if (hasInterval && places.length > 1) {
    const upper = places.map((place) => `${px(place.x)} ${px(clamped(place.point.high))}`);
    const lower = places.map((place) => `${px(place.x)} ${px(clamped(place.point.low))}`).reverse();
    group.append(svg("path", { class: "band", d: `M${upper.join("L")}L${lower.join("L")}z` }));
  }
  if (hasInterval && (places.length === 1 || curves !== undefined)) {
    const whiskers = places.map(
      (place) => `M${px(place.x)} ${px(clamped(place.point.low))}V${px(clamped(place.point.high))}`,
    );
    group.append(svg("path", { class: "whisker", d: whiskers.join("") }));
  }
  if (curves === undefined || curves.fits.length === 0) {
    const line = places.map((place) => `${px(place.x)} ${px(place.y)}`).join("L");
    const dash = series.look.dash || undefined;
    if (places.length > 1) group.append(svg("path", { class: "line", d: `M${line}`, "stroke-dasharray": dash }));
  } else {
    for (const fit of curves.fits) {
      const at = fit.map(([size, value]) => [x.at(size), y.at(value)] as const).filter((p) => p.every(Number.isFinite));
      const path = at.map(([a, b]) => `${px(a)} ${px(b)}`).join("L");
      if (at.length > 1) group.append(svg("path", { class: "fit", d: `M${path}` }));
    }
    for (const [size, value] of curves.knees) {
      const [at, middle] = [x.at(size), y.at(value)];
      if (Number.isFinite(at + middle)) group.append(svg("path", { class: "knee", d: `M${px(at)} ${px(middle - 9)}v18` }));
    }
  }
  if (places.length <= MARKERS_MAX) group.append(...places.map((place) => marker(series.look, place.x, place.y)));
}

/** Ticks, grid and title of the value axis. The title is above it, so that it need not be rotated. */
function valueAxis(axis: Axis, y: Scale, ticks: number[], labels: string[], left: number, right: number): SVGElement[] {
  const grid = svg("g", { class: "grid" });
  const texts = ticks.map((tick, index) => {
    const at = y.at(tick);
    grid.append(svg("path", { d: `M${px(left)} ${px(at)}H${px(right)}` }));
    return svg("text", { class: "label", x: px(left - 8), y: px(at + 4), "text-anchor": "end" }, labels[index] ?? "");
  });
  return [grid, ...texts, svg("text", { class: "axis-title", x: 0, y: 12 }, axis.title)];
}

function baseAxis(
  axis: Axis,
  x: Scale,
  spread: Spread,
  left: number,
  right: number,
  bottom: number,
  width: number,
): SVGElement[] {
  const ticks = ticksOf(x, (right - left) / 74, axis.quantity === "size");
  const labels = tickLabels(ticks, axis.quantity, spread === "log");
  const group = svg("g", { class: "axis" }, svg("path", { d: `M${px(left)} ${px(bottom)}H${px(right)}` }));
  const texts: SVGElement[] = [];
  let end = -Infinity;
  ticks.forEach((tick, index) => {
    const at = x.at(tick);
    const text = labels[index] ?? "";
    const half = textWidth(text) / 2;
    group.append(svg("path", { d: `M${px(at)} ${px(bottom)}v5` }));
    // Near the right edge a label is moved inwards; one that would touch its neighbour is left out.
    const centre = Math.min(at, width - half - 1);
    if (centre - half < end + 8) return;
    end = centre + half;
    texts.push(svg("text", { class: "label", x: px(centre), y: px(bottom + 19), "text-anchor": "middle" }, text));
  });
  const title = svg(
    "text",
    { class: "axis-title", x: px((left + right) / 2), y: px(bottom + 38), "text-anchor": "middle" },
    axis.title,
  );
  return [group, ...texts, title];
}

/** The names at the ends of the lines: only the parts that differ between these series. */
function endNames(visible: Series[]): string[] {
  const isOneOf = (part: (series: Series) => string): boolean => new Set(visible.map(part)).size < 2;
  const [oneSubject, oneCircumstance] = [isOneOf((series) => series.subject), isOneOf((series) => series.circumstance)];
  return visible.map((series) => {
    if (oneCircumstance) return shortened(series.subject);
    return shortened(oneSubject && series.circumstanceName !== "" ? series.circumstanceName : series.name);
  });
}

interface End {
  name: string;
  x: number;
  y: number;
  key: string;
  colour: string;
}

/** Names at the lines' right ends, moved apart where they would touch. A line that ends before has the legend alone. */
function nameEnds(element: SVGSVGElement, all: End[], right: number, top: number, bottom: number): void {
  const ends = all.filter((end) => end.x > right - EDGE_PX).sort((a, b) => a.y - b.y);
  const wanted = ends.map((end) => Math.min(Math.max(end.y, top), bottom));
  const places = spreadOut(wanted, LINE_HEIGHT, top - 6, bottom + 4);
  ends.forEach((end, index) => {
    const y = places[index] ?? end.y;
    const start = Math.min(end.x + 6, right);
    element.append(
      svg(
        "g",
        { class: `series ${end.colour}`, "data-series": end.key },
        svg("path", { class: "leader", d: `M${px(start)} ${px(end.y)}L${px(right + 14)} ${px(y)}h6` }),
        svg("text", { class: "name", x: px(right + 24), y: px(y + 4) }, end.name),
      ),
    );
  });
}

/** Ascending places moved as little as needed to be `gap` apart and within `low..high`, if there is room at all. */
export function spreadOut(places: number[], gap: number, low: number, high: number): number[] {
  const step = Math.min(gap, (high - low) / Math.max(places.length - 1, 1));
  // Blocks of touching labels are centred on the wanted places of their members.
  const blocks: { sum: number; count: number }[] = [];
  const start = (block: { sum: number; count: number }): number => {
    const room = high - (block.count - 1) * step;
    return Math.min(Math.max(block.sum / block.count - ((block.count - 1) * step) / 2, low), Math.max(room, low));
  };
  for (const place of places) {
    blocks.push({ sum: place, count: 1 });
    for (;;) {
      const [before, last] = [blocks[blocks.length - 2], blocks[blocks.length - 1]];
      if (before === undefined || last === undefined) break;
      if (start(before) + before.count * step <= start(last) + 1e-6) break;
      blocks.splice(-2, 2, { sum: before.sum + last.sum, count: before.count + last.count });
    }
  }
  return blocks.flatMap((block) => Array.from({ length: block.count }, (_, index) => start(block) + index * step));
}

function extent(series: Series): number[] {
  return series.points.flatMap((point) => [point.low, point.y, point.high]).filter(Number.isFinite);
}

function domainOf(
  values: number[],
  axis: Axis,
  spread: Spread,
  length: number,
  reference: number | undefined,
): [number, number] {
  const all = reference === undefined ? values : [...values, reference];
  if (spread === "log") {
    const positive = all.filter((value) => value > 0);
    const [low, high] = [least(positive), most(positive)];
    return [low / 1.12, high * 1.12];
  }
  const [low, high] = [axis.fromZero ? Math.min(least(all), 0) : least(all), most(all)];
  return Number.isFinite(low) && Number.isFinite(high) ? rounded([low, high], length / 52) : [0, 1];
}

function xDomain(xs: number[], axis: Axis, spread: Spread): [number, number] {
  const positive = spread === "log" ? xs.filter((value) => value > 0) : xs;
  if (spread === "percentile") return [0, most(xs.filter((value) => value < 100))];
  return [spread === "linear" && axis.fromZero ? Math.min(0, least(positive)) : least(positive), most(positive)];
}

function least(values: number[]): number {
  return values.reduce((a, b) => Math.min(a, b), Infinity);
}

function most(values: number[]): number {
  return values.reduce((a, b) => Math.max(a, b), -Infinity);
}

export function shortened(name: string, letters = NAME_LETTERS_MAX): string {
  const characters = [...name];
  return characters.length <= letters ? name : `${characters.slice(0, letters - 1).join("")}…`;
}

/** The name, cut to a largest width, px. */
export function fitted(name: string, width: number): string {
  const all = [...name].length;
  let letters = all;
  while (letters > 4 && textWidth(shortened(name, letters)) > width) letters -= 1;
  return shortened(name, letters);
}

let ruler: CanvasRenderingContext2D | null | undefined;

/** Width of a text in the charts' font, px. */
export function textWidth(text: string): number {
  if (ruler === undefined) {
    ruler = document.createElement("canvas").getContext("2d");
    if (ruler !== null) ruler.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  }
  return ruler === null ? text.length * 7 : ruler.measureText(text).width;
}

export type { Quantity };
