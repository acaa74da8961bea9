// Buttons of which one is pressed, and lists of which one entry is chosen. Keyboard and pointer alike.

import { html } from "./dom";

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
    // The space separates the words where the page is read as text.
    group.append(button, " ");
  }
  return html("span", { class: "control" }, caption(label), group);
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
  options: [value: string, text: string][],
  chosen: string,
  choose: (value: string) => void,
): HTMLElement {
  const list = html("select");
  for (const [value, text] of options) {
    const option = html("option", { value }, text);
    option.selected = value === chosen;
    list.append(option);
  }
  list.addEventListener("change", () => choose(list.value));
  return html("label", { class: "control" }, caption(label), list);
}

/** The words before a control. A narrow page shows them to screen readers only. */
function caption(label: string): HTMLElement {
  return html("span", { class: "caption" }, `${label} `);
}
