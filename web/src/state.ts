// The reader's choices, kept in the address behind `#` so that a view can be shared and reloads the same:
// `#delay&baseline=subject:pipe&theme=dark`. The first part is the section, as in any page. Knows no chart.

export class State {
  private anchor = "";
  private readonly values = new Map<string, string>();
  private readonly listeners: ((key: string) => void)[] = [];

  constructor() {
    this.read();
    window.addEventListener("hashchange", () => {
      const before = new Map(this.values);
      this.read();
      for (const key of new Set([...before.keys(), ...this.values.keys()])) {
        if (before.get(key) !== this.values.get(key)) this.tell(key);
      }
    });
  }

  /** The section that the address names, or nothing. */
  get section(): string {
    return this.anchor;
  }

  get(key: string): string | undefined {
    return this.values.get(key);
  }

  /** Stores a choice; the default is stored by leaving it out. */
  set(key: string, value: string | undefined): void {
    if (this.values.get(key) === value) return;
    if (value === undefined) this.values.delete(key);
    else this.values.set(key, value);
    history.replaceState(null, "", this.hash(this.anchor));
    this.tell(key);
  }

  /** Forgets every choice. */
  clear(): void {
    for (const key of [...this.values.keys()]) this.set(key, undefined);
  }

  /** Notes that the reader went to a section, as following its link would. */
  visit(section: string): void {
    this.anchor = section;
    history.pushState(null, "", this.hash(section));
  }

  /** Calls back with the key of each change. */
  onChange(listener: (key: string) => void): void {
    this.listeners.push(listener);
  }

  private hash(anchor: string): string {
    const pairs = [...this.values].sort(([a], [b]) => (a < b ? -1 : 1));
    return `#${[anchor, ...pairs.map(([key, value]) => `${key}=${encoded(value)}`)].join("&")}`;
  }

  private read(): void {
    const [first = "", ...rest] = location.hash.slice(1).split("&");
    const parts = first.includes("=") ? [first, ...rest] : rest;
    this.anchor = first.includes("=") ? "" : decoded(first);
    this.values.clear();
    for (const part of parts) {
      const equals = part.indexOf("=");
      if (equals > 0) this.values.set(part.slice(0, equals), decoded(part.slice(equals + 1)));
    }
  }

  private tell(key: string): void {
    for (const listener of this.listeners) listener(key);
  }
}

function encoded(text: string): string {
  return encodeURIComponent(text).replace(/%3A/g, ":").replace(/%2C/g, ",").replace(/%2F/g, "/");
}

/** A truncated address must not cause an error. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
