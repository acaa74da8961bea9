// Buttons that show and hide series, and buttons that choose one of several. Keyboard and pointer alike.

import { html } from "./dom";
import { type Look, sample } from "./look";
import { circumstanceToken, type Hidden, type Series } from "./series";

interface Entry {
  token: string;
  name: string;
  look: Look;
}

/** The legend of a chart: click shows or hides, shift-click or double-click shows one alone of its group. */
export class Legend {
  readonly element = html("div", { class: "legend" });
  private tokens = "";

  constructor(private readonly hidden: Hidden) {}

  /** Updates the buttons; those that stay are the same elements, so that focus and double clicks survive. */
  update(all: Series[]): void {
    const groups = [subjects(all), circumstances(all)].filter((entries, index) => entries.length > (index === 0 ? 0 : 1));
    const tokens = groups.flat().map((entry) => entry.token).join("\n");
    if (tokens !== this.tokens) this.element.replaceChildren(...groups.map((entries, index) => this.group(entries, index)));
    this.tokens = tokens;
    for (const button of this.element.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(!this.hidden.hasToken(button.dataset["token"] ?? "")));
    }
  }

  private group(entries: Entry[], index: number): HTMLElement {
    const label = `${index === 0 ? "Series" : "Runs and variants"}: shift-click or double-click shows one alone`;
    const group = html("div", { class: "legend-group", role: "group", "aria-label": label });
    const all = entries.map((entry) => entry.token);
    for (const { token, name, look } of entries) {
      const button = html("button", { type: "button", title: name, "data-token": token }, sample(look), html("span", {}, name));
      button.addEventListener("click", (event) => {
        // The first click of a double click has already toggled: take that back.
        if (event.detail === 2 && !event.shiftKey) this.hidden.toggle(token);
        if (event.detail === 2 || event.shiftKey) this.hidden.only(token, all);
        else this.hidden.toggle(token);
      });
      group.append(button);
    }
    return group;
  }
}

/** One entry for each subject. With several circumstances its line is plain: the dash is theirs. */
function subjects(all: Series[]): Entry[] {
  const entries = new Map<string, Entry>();
  for (const { subject, look, name, circumstance } of all) {
    if (entries.has(subject)) continue;
    const isShared = all.some((other) => other.circumstance !== circumstance);
    entries.set(subject, isShared ? { token: subject, name: subject, look } : { token: subject, name, look });
  }
  return [...entries.values()];
}

/** One entry for each circumstance, without a colour unless it has the only one. */
function circumstances(all: Series[]): Entry[] {
  const entries = new Map<string, Entry>();
  const isColoured = new Set(all.map((series) => series.subject)).size < 2;
  for (const series of all) {
    const token = circumstanceToken(series);
    const name = series.circumstanceName || "(plain)";
    if (!entries.has(token)) entries.set(token, { token, name, look: isColoured ? series.look : { ...series.look, colour: "neutral" } });
  }
  return [...entries.values()];
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

/** Shows the current option of a choice. */
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
