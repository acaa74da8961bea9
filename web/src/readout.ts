// The box that describes the point under the pointer or the keyboard's cursor: value, interval, n, flags. Read aloud
// when it changes (role=status). Knows no chart: it shows given lines.

import { html } from "./dom";
import { inUnit, size } from "./units";
import type { Model, Row } from "./model";

export interface Reading {
  name: string;
  value: string;
  lines: string[];
  flags: [letter: string, sentence: string][];
}

export class Readout {
  readonly element = html("div", { role: "status", class: "readout" });

  show(reading: Reading, x: number, y: number): void {
    this.element.replaceChildren(
      html("p", { class: "name" }, reading.name),
      html("p", { class: "value" }, reading.value),
      ...reading.lines.map((line) => html("p", {}, line)),
      ...reading.flags.map(([letter, sentence]) =>
        html("p", { class: "flag" }, html("b", {}, letter), ` ${sentence}`),
      ),
    );
    // Beside the point, on the side that has room.
    const parent = this.element.parentElement;
    if (parent === null) return;
    const [width, height] = [this.element.offsetWidth, this.element.offsetHeight];
    const left = x + 16 + width > parent.clientWidth ? Math.max(x - 16 - width, 0) : x + 16;
    const top = Math.min(Math.max(y - height / 2, 0), Math.max(parent.clientHeight - height, 0));
    this.element.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  hide(): void {
    this.element.replaceChildren();
  }
}

/** The text for every row: parameters, interval, n and flags. */
export function readingOf(row: Row, model: Model, name: string, value: string, interval: string): Reading {
  const parameters = [
    row.size === null ? "" : size(row.size),
    row.workers === null ? "" : `${row.workers} ${row.workerKind || "worker"}${row.workers === 1 ? "" : row.workerKind === "process" ? "es" : "s"}`,
  ];
  return {
    name: [name, ...parameters].filter((part) => part !== "").join(", "),
    value,
    lines: [interval, launches(row)].filter((line) => line !== ""),
    flags: model.flagSentences(row),
  };
}

/** `1.20 M/s to 1.26 M/s (95 %)`. */
export function intervalText(low: string, high: string, confidence: number): string {
  if (low === high && !(confidence > 0)) return "no interval";
  const share = confidence > 0 ? ` (${(Math.floor(confidence * 1000) / 10).toFixed(confidence >= 0.999 ? 1 : 0)}\u00a0%)` : "";
  return `${low} to ${high}${share}`;
}

/** A row's own value and interval, in its unit. */
export function ownText(row: Row): { value: string; interval: string } {
  return {
    value: inUnit(row.median, row.unit),
    interval: intervalText(inUnit(row.low, row.unit), inUnit(row.high, row.unit), row.n > 1 ? row.confidence : 0),
  };
}

function launches(row: Row): string {
  return row.n === 1 ? "a single launch" : `${row.n} launches`;
}
