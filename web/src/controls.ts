// The choices that hold for the whole page, in its header: theme, pattern, placement.

import { choice, press, select } from "./choice";
import { html } from "./dom";
import { unique } from "./model";
import type { State } from "./state";
import { applyTheme, type Theme, THEMES } from "./theme";

/** The attributes by which figures can be chosen, and their labels. */
const RESTRICTIONS = [["pattern", "Pattern"], ["placement", "Placement"]] as const;

/** Fills the place for controls and shows it. Returns the function that updates all after a change of state. */
export function pageControls(place: HTMLElement, figures: HTMLElement[], state: State): (key: string) => void {
  const updates: ((key: string) => void)[] = [];
  const add = (control: HTMLElement, name: string, now: () => string, apply?: () => void): void => {
    place.append(control, " ");
    apply?.();
    updates.push((key) => {
      if (key !== name) return;
      const list = control.querySelector("select");
      if (list === null) press(control, now());
      else list.value = now();
      apply?.();
    });
  };

  const theme = (): Theme => THEMES.find((name) => name === state.get("theme")) ?? "auto";
  add(
    choice("Theme", THEMES.map((name) => [name, name] as const), theme(), (value) => state.set("theme", value === "auto" ? undefined : value)),
    "theme",
    theme,
    () => applyTheme(theme()),
  );

  for (const [name, title] of RESTRICTIONS) {
    const values = unique(figures.map((figure) => figure.dataset[name] ?? "")).filter((value) => value !== "");
    if (values.length < 2) continue;
    const chosen = (): string => values.find((value) => value === state.get(name)) ?? "";
    const options = [["", `all ${title.toLowerCase()}s`], ...values.map((value) => [value, value])] as [string, string][];
    add(
      select(title, options, chosen(), (value) => state.set(name, value || undefined)),
      name,
      chosen,
      () => restrict(figures, state),
    );
  }
  const reset = html("button", { type: "button", id: "reset" }, "Reset view");
  reset.addEventListener("click", () => state.clear());
  place.append(reset);
  place.hidden = false;
  return (key) => updates.forEach((update) => update(key));
}

/** Hides the figures that are not of the chosen pattern and placement; figures that name neither stay. */
function restrict(figures: HTMLElement[], state: State): void {
  const chosen = RESTRICTIONS.map(([name]) => [name, state.get(name)] as const);
  for (const figure of figures) {
    figure.hidden = chosen.some(([name, value]) => {
      const own = figure.dataset[name];
      return value !== undefined && own !== undefined && own !== "" && own !== value;
    });
  }
}
