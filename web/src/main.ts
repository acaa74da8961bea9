// The script of the report page, which is complete without it. Reads the data, then hands each part of the page to
// its module. If anything fails, the page stays as the report wrote it.

import { pageControls } from "./controls";
import { type LiveFigures, type PageData, readData } from "./data";
import { byId } from "./dom";
import { enliven } from "./figure";
import { Lines } from "./lines";
import { Model } from "./model";
import { navigation } from "./navigation";
import { State } from "./state";
import { rawTable } from "./table";
import { applyTheme, THEMES } from "./theme";

/** Updates a part of the page when that choice has changed. */
type Update = (key: string) => void;

async function main(): Promise<void> {
  const state = new State();
  // Before anything is drawn, so that a dark page does not flash.
  applyTheme(THEMES.find((theme) => theme === state.get("theme")) ?? "auto");
  const updates: Update[] = [];
  state.onChange((key) => updates.forEach((update) => update(key)));
  const figures = [...document.querySelectorAll<HTMLElement>("figure[data-view]")];
  const controls = byId("controls");
  if (controls !== null) updates.push(pageControls(controls, figures, state));

  const data = await readData<PageData>("headwater-data");
  const live = await readData<LiveFigures>("headwater-figures");
  const byNumber = new Map((live?.figures ?? []).map((figure) => [String(figure.number), figure]));
  const lines = new Lines(state);
  const section = byId("data");
  const enlivenBefore = whenNear(section === null ? figures : [...figures, section], (part) => {
    if (part === section) {
      if (data !== undefined) updates.push(rawTable(section, new Model(data), state));
    } else {
      const figure = byNumber.get(part.dataset["figure"] ?? "");
      if (figure !== undefined) updates.push(enliven(part, figure, state, lines, data?.flag_sentences ?? {}));
    }
    part.dataset["live"] = "";
  });
  navigation(state, enlivenBefore);
  // For tests: ready, and after how many milliseconds.
  document.documentElement.dataset["ready"] = globalThis.performance.now().toFixed(0);
}

/**
 * Calls back with each part of the page before it becomes visible, and with all of them before they are printed. Returns a
 * function that calls back with those before an element, which then does not move any more.
 */
function whenNear(parts: HTMLElement[], callback: (part: HTMLElement) => void): (target: Element) => void {
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
  return (target) =>
    parts.filter((part) => (part.compareDocumentPosition(target) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0).forEach(take);
}

void main();
