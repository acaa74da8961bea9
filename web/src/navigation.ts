// The links within the page: they keep the reader's choices in the address, move the focus, and mark which
// section is in sight. Without the script they are plain links.

import { byId } from "./dom";
import type { State } from "./state";

/** `settle` is called with the target of a link before it is gone to, so that nothing moves it afterwards. */
export function navigation(state: State, settle: (target: Element) => void): void {
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('a[href^="#"]') : null;
    if (link === null || event.defaultPrevented || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const section = link.hash.slice(1);
    if (byId(section) === null) return;
    event.preventDefault();
    state.visit(section);
    go(section, settle);
  });
  window.addEventListener("popstate", () => go(state.section, settle));
  // With choices behind it, the browser does not know the section by itself.
  if (state.section !== "") go(state.section, settle);
  markCurrent();
}

function go(section: string, settle: (target: Element) => void): void {
  const target = byId(section);
  if (target === null) return;
  settle(target);
  if (!target.hasAttribute("tabindex")) target.tabIndex = -1;
  target.scrollIntoView();
  target.focus({ preventScroll: true });
}

function markCurrent(): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>('nav a[href^="#"]')];
  const sections = links.map((link) => byId(link.hash.slice(1))).filter((section) => section !== null);
  const inSight = new Set<Element>();
  const observer = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting) inSight.add(entry.target);
        else inSight.delete(entry.target);
      }
      const current = sections.find((section) => inSight.has(section));
      for (const link of links) {
        if (current !== undefined && link.hash === `#${current.id}`) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    },
    { rootMargin: "-80px 0px -60% 0px" },
  );
  for (const section of sections) observer.observe(section);
}
