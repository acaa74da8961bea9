// Draws lines of a list, one above the other: a name, a dot with its interval on a common axis, a value. A pure
// function. Used by the forest plot and by the rows without a sweep of sizes.

import { px, svg } from "./dom";
import { type Look, marker } from "./look";
import { fitted, textWidth } from "./plot";
import { makeScale, type Spread, ticksOf } from "./scale";
import type { Reading } from "./readout";
import { type Quantity, tickLabels } from "./units";

export interface Line {
  name: string;
  value: number | null;
  low: number | null;
  high: number | null;
  /** Class of the group: a verdict or a series' colour. */
  tone: string;
  look: Look;
  /** The text at the right. */
  text: string;
  reading: Reading;
}

export interface RowsAxis {
  quantity: Quantity;
  title: string;
  spread: Spread;
  domain: [number, number];
  /** Shaded: the minimum effect. */
  band?: [number, number];
  reference?: number;
}

export interface RowsDrawing {
  element: SVGSVGElement;
  /** Middle of each line, and half its height. */
  places: { x: number; y: number }[];
  half: number;
}

/** Below this width the name is above its line. */
const WIDTH_WITH_NAMES = 560;

/** From this height on the scale is above too. */
const LONG_PX = 400;

export function drawRows(lines: Line[], axis: RowsAxis, width: number): RowsDrawing {
  const isNarrow = width < WIDTH_WITH_NAMES;
  const lineHeight = isNarrow ? 40 : 24;
  const names = lines.map((line) =>
    isNarrow ? fitted(line.name, width - textWidth(line.text) - 32) : fitted(line.name, width * 0.4 - 16),
  );
  const texts = Math.ceil(Math.max(...lines.map((line) => textWidth(line.text)), 0));
  const left = isNarrow ? 8 : Math.min(Math.ceil(Math.max(...names.map(textWidth), 40)) + 16, width * 0.4);
  const right = isNarrow ? width - 8 : Math.max(width - texts - 20, left + 120);
  const top = lineHeight * lines.length > LONG_PX ? 48 : 30;
  const bottom = top + lineHeight * lines.length;
  const x = makeScale(axis.spread, axis.domain, [left, right]);
  const within = (value: number): number => Math.min(Math.max(x.at(value), left), right);

  const element = svg("svg", { class: "plot", viewBox: `0 0 ${width} ${bottom + 28}`, "aria-hidden": "true" });
  element.append(...frame(axis, x, left, right, top, bottom, within));
  const places = lines.map((line, index) => {
    const centre = top + lineHeight * (index + 0.5);
    const y = isNarrow ? centre + 9 : centre;
    element.append(
      svg("rect", { class: "hit", x: 0, y: px(centre - lineHeight / 2), width, height: lineHeight }),
      svg("text", { class: "name", x: isNarrow ? px(left) : 0, y: px(isNarrow ? centre - 5 : centre + 4) }, names[index] ?? ""),
      drawLine(line, y, within),
      svg(
        "text",
        { class: `value ${line.tone}`, x: width - (isNarrow ? 8 : 0), y: px(isNarrow ? centre - 5 : centre + 4), "text-anchor": "end" },
        line.text,
      ),
    );
    return { x: line.value === null ? left : within(line.value), y };
  });
  return { element, places, half: lineHeight / 2 };
}

function drawLine(line: Line, y: number, within: (value: number) => number): SVGElement {
  const group = svg("g", { class: line.tone });
  if (line.low !== null && line.high !== null) {
    const [low, high] = [px(within(line.low)), px(within(line.high))];
    const ends = `M${low} ${px(y - 3)}v6M${high} ${px(y - 3)}v6`;
    group.append(svg("path", { class: "whisker", d: `M${low} ${px(y)}H${high}${ends}` }));
  }
  if (line.value !== null) group.append(marker(line.look, within(line.value), y));
  return group;
}

function frame(
  axis: RowsAxis,
  x: ReturnType<typeof makeScale>,
  left: number,
  right: number,
  top: number,
  bottom: number,
  within: (value: number) => number,
): SVGElement[] {
  const ticks = ticksOf(x, (right - left) / 72, false);
  const labels = tickLabels(ticks, axis.quantity, axis.spread === "log");
  const grid = svg("g", { class: "grid" });
  const parts: SVGElement[] = [];
  if (axis.band !== undefined) {
    const [from, to] = axis.band.map(within) as [number, number];
    parts.push(svg("rect", { class: "effect", x: px(from), y: top, width: px(to - from), height: bottom - top }));
  }
  parts.push(grid);
  let end = -Infinity;
  ticks.forEach((tick, index) => {
    const text = labels[index] ?? "";
    const half = textWidth(text) / 2;
    const at = x.at(tick);
    grid.append(svg("path", { d: `M${px(at)} ${top}V${px(bottom)}` }));
    const centre = Math.min(Math.max(at, half), right - half + 8);
    if (centre - half < end + 8) return;
    end = centre + half;
    // A long list has its scale at both ends.
    for (const y of bottom - top > LONG_PX ? [bottom + 17, top - 6] : [bottom + 17]) {
      parts.push(svg("text", { class: "label", x: px(centre), y: px(y), "text-anchor": "middle" }, text));
    }
  });
  if (axis.reference !== undefined) {
    parts.push(svg("path", { class: "reference", d: `M${px(within(axis.reference))} ${top}V${px(bottom)}` }));
  }
  parts.push(svg("text", { class: "axis-title", x: 0, y: 14 }, axis.title));
  return parts;
}
