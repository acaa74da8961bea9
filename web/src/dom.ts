// Makes elements. Text is always text: no function here parses markup, so that a hostile name stays a name.

const SVG = "http://www.w3.org/2000/svg";

type Attributes = Record<string, string | number | boolean | undefined>;
type Child = Node | string | undefined;

/** An HTML element with attributes (`undefined` and `false` leave one out) and children. */
export function html<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return dressed(document.createElement(name), attributes, children);
}

/** The same for SVG. */
export function svg<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return dressed(document.createElementNS(SVG, name) as SVGElementTagNameMap[K], attributes, children);
}

/** The element of that id, if the page has it. */
export function byId(id: string): HTMLElement | null {
  return document.getElementById(id);
}

/** A coordinate without needless digits. */
export function px(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function dressed<E extends Element>(element: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== undefined) element.append(child);
  return element;
}
