// Which lines of all figures are shown: at first those that the report chose, then what the reader chose. A line is known
// by its name, so that a choice holds for every figure. Kept in the address.

import type { Line } from "./data";
import type { State } from "./state";

export class Lines {
  constructor(private readonly state: State) {}

  /** Whether the lines that are not drawn at first are shown too. */
  get areAll(): boolean {
    return this.state.get("lines") === "all";
  }

  isShown(line: Line): boolean {
    return this.changed().has(line.name) !== this.isShownUnchanged(line);
  }

  /** Shows all lines, or those of the beginning, whatever was chosen one by one. */
  showAll(areAll: boolean): void {
    this.state.set("toggle", undefined);
    this.state.set("lines", areAll ? "all" : undefined);
  }

  toggle(line: Line): void {
    const changed = this.changed();
    if (!changed.delete(line.name)) changed.add(line.name);
    this.store(changed);
  }

  /** Shows one of these lines alone; once more, all that were shown at first. */
  only(line: Line, among: Line[]): void {
    const isAlone = among.every((other) => this.isShown(other) === (other === line));
    const changed = this.changed();
    for (const other of among) {
      if (isAlone || (other === line) === this.isShownUnchanged(other)) changed.delete(other.name);
      else changed.add(other.name);
    }
    this.store(changed);
  }

  private isShownUnchanged(line: Line): boolean {
    return this.areAll || line.is_first;
  }

  /** The names of the lines that the reader hid or showed. */
  private changed(): Set<string> {
    const stored = this.state.get("toggle") ?? "";
    return new Set(stored === "" ? [] : stored.split(",").map(unescaped));
  }

  private store(names: Set<string>): void {
    this.state.set("toggle", names.size === 0 ? undefined : [...names].sort().map(escaped).join(","));
  }
}

/** A name in a list with commas. */
function escaped(name: string): string {
  return name.replace(/[~,]/g, (character) => (character === "~" ? "~0" : "~1"));
}

function unescaped(name: string): string {
  return name.replace(/~([01])/g, (_, digit) => (digit === "0" ? "~" : ","));
}
