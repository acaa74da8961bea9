// The script of the report page, which is complete without it. Reads the data, then hands each part of the page to
// its module. If anything fails, the page stays as the report wrote it.

import { delay } from "./charts/delay";
import { distribution } from "./charts/distribution";
import { dots } from "./charts/dots";
import { forest } from "./charts/forest";
import { heatmap } from "./charts/heatmap";
import { improvement } from "./charts/improvement";
import { performance } from "./charts/performance";
import { throughput } from "./charts/throughput";
import { pageControls } from "./controls";
import { type PageData, readData } from "./data";
import { byId } from "./dom";
import { enliven } from "./figure";
import { Looks } from "./look";
import { Model, type Scope } from "./model";
import { navigation } from "./navigation";
import { Hidden } from "./series";
import { State } from "./state";
import { rawTable } from "./table";
import { applyTheme, THEMES } from "./theme";
import type { Context } from "./view";

/** Charts of lines; a new one is a file and its place here. */
const VIEWS = [performance, delay, throughput, improvement, distribution];

/** Draws a part of the page again when that choice has changed. */
type Update = (key: string) => void;

async function main(): Promise<void> {
  const state = new State();
  // Before anything is drawn, so that a dark page does not flash.
  applyTheme(THEMES.find((theme) => theme === state.get("theme")) ?? "auto");
  const element = byId("headwater-data");
  if (element === null) return;
  const data = await readData(element);
  const model = new Model(data);
  const context: Context = { model, state, looks: new Looks(model), hidden: new Hidden(state, model) };

  const updates: Update[] = [];
  state.onChange((key) => updates.forEach((update) => update(key)));
  const figures = [...document.querySelectorAll<HTMLElement>("figure[data-view]")];
  const controls = byId("controls");
  if (controls !== null) updates.push(pageControls(controls, figures, context));
  const section = byId("data");
  whenNear(section === null ? figures : [...figures, section], (part) => {
    const update = part === section ? rawTable(section, model, state) : enlivened(part, data, context);
    if (update !== undefined) updates.push(update);
    part.dataset["live"] = "";
  });
  navigation(state);
  // For tests: ready, and after how many milliseconds.
  document.documentElement.dataset["ready"] = globalThis.performance.now().toFixed(0);
}

/** Makes one figure interactive. Figures that this script does not know stay as they are. */
function enlivened(figure: HTMLElement, data: PageData, context: Context): Update | undefined {
  const { view, pattern, placement, variant, metric, size, candidate, baseline } = figure.dataset;
  const scope: Scope = { pattern, placement, variant, metric, size };
  switch (view) {
    case "heatmap":
      return heatmap(figure, scope, context);
    case "dots":
      return dots(figure, scope, context);
    case "forest": {
      const comparison = data.comparisons.find((one) => one.candidate === candidate && one.baseline === baseline);
      const shown = comparison ?? data.comparisons[0];
      return shown === undefined ? undefined : forest(figure, shown, context);
    }
    default: {
      const kind = VIEWS.find((candidate) => candidate.name === view);
      return kind === undefined ? undefined : enliven(figure, kind, context, scope);
    }
  }
}

/** Calls back with each part of the page before it becomes visible, and with all of them before they are printed. */
function whenNear(parts: HTMLElement[], callback: (part: HTMLElement) => void): void {
  const waiting = new Set(parts);
  const take = (part: HTMLElement): void => {
    if (waiting.delete(part)) callback(part);
  };
  const observer = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) if (entry.isIntersecting) take(entry.target as HTMLElement);
    },
    { rootMargin: "800px 0px" },
  );
  for (const part of parts) observer.observe(part);
  window.addEventListener("beforeprint", () => parts.filter((part) => !part.hidden).forEach(take));
}

void main();
