// Buttons that show and hide series, and buttons that choose one of several. Keyboard and pointer alike.

import { html } from "./dom";
import { sample } from "./look";
import type { Hidden, Series } from "./series";

/** The legend of a chart: click shows or hides, shift-click or double-click shows one alone. */
export class Legend {
  readonly element = html("div", { class: "legend", role: "group", "aria-label": "Series: shift-click shows one alone" });
  private keys = "";

  constructor(private readonly hidden: Hidden) {}

  /** Brings the buttons up to date; those that stay are the same elements, so that focus and double clicks survive. */
  update(all: Series[]): void {
    const keys = all.map((series) => series.key).join("\n");
    if (keys !== this.keys) this.element.replaceChildren(...all.map((series) => this.button(series, all)));
    this.keys = keys;
    all.forEach((series, index) => {
      this.element.children[index]?.setAttribute("aria-pressed", String(!this.hidden.has(series)));
    });
  }

  private button(series: Series, all: Series[]): HTMLElement {
    const button = html(
      "button",
      { type: "button", title: series.name, "data-series": series.key },
      sample(series.look),
      html("span", {}, series.name),
    );
    button.addEventListener("click", (event) => {
      // The first click of a double click has already toggled: take that back.
      if (event.detail === 2 && !event.shiftKey) this.hidden.toggle(series);
      if (event.detail === 2 || event.shiftKey) this.hidden.only(series, all);
      else this.hidden.toggle(series);
    });
    return button;
  }
}

/** A choice of one: a group of buttons of which one is pressed. */
export function choice<T extends string>(
  label: string,
  options: readonly (readonly [value: T, text: string])[],
  chosen: T,
  choose: (value: T) => void,
): HTMLElement {
  const group = html("span", { class: "choice", role: "group", "aria-label": label });
  for (const [value, text] of options) {
    const button = html("button", { type: "button", "aria-pressed": String(value === chosen), "data-value": value }, text);
    button.addEventListener("click", () => {
      press(group, value);
      choose(value);
    });
    group.append(button);
  }
  return html("span", { class: "control" }, label, group);
}

/** Shows which of a choice is in force. */
export function press(control: HTMLElement, value: string): void {
  for (const button of control.querySelectorAll("[data-value]")) {
    button.setAttribute("aria-pressed", String(button.getAttribute("data-value") === value));
  }
}

/** A choice of one among many: a list. */
export function select(
  label: string,
  groups: { label: string; options: [value: string, text: string][] }[],
  chosen: string,
  choose: (value: string) => void,
): HTMLElement {
  const list = html("select");
  for (const group of groups) {
    const options = group.options.map(([value, text]) => {
      const option = html("option", { value }, text);
      option.selected = value === chosen;
      return option;
    });
    if (groups.length === 1 || group.label === "") list.append(...options);
    else list.append(html("optgroup", { label: group.label }, ...options));
  }
  list.addEventListener("change", () => choose(list.value));
  return html("label", { class: "control" }, label, list);
}
