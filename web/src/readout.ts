// The box that describes the point under the pointer or the keyboard's cursor. Read aloud when it changes (role=status).
// It shows the report's words and makes none.

import { html } from "./dom";

export class Readout {
  readonly element = html("div", { role: "status", class: "readout" });

  /** Shows the lines, the figure in the second one, beside a place of the parent. */
  show(lines: string[], flags: [letter: string, sentence: string][], x: number, y: number): void {
    const classes = ["name", "value"];
    const parts = lines.map((line, index) => html("p", { class: classes[index] }, line));
    for (const [letter, sentence] of flags) parts.push(html("p", { class: "flag" }, html("b", {}, letter), ` ${sentence}`));
    // Line breaks separate the lines where the box is read as text.
    this.element.replaceChildren(...parts.flatMap((part) => [part, "\n"]));
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
