// A browser that watches: every page that a test opens fails it on a message on the console, an uncaught error, a breach
// of the policy, or a request for anything but its own file.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { ARTEFACTS, PAGES } from "./pages.mjs";

const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export class Browser {
  /** Starts Chromium with an empty profile. */
  static async start(options = {}) {
    const profile = mkdtempSync(join(tmpdir(), "headwater-web-"));
    const context = await chromium.launchPersistentContext(profile, {
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      headless: true,
      args: ARGUMENTS,
      viewport: { width: 1200, height: 900 },
      acceptDownloads: true,
      ...options,
    });
    context.setDefaultTimeout(10_000);
    return new Browser(context, profile, options.javaScriptEnabled !== false);
  }

  constructor(context, profile, hasScript) {
    Object.assign(this, { context, profile, hasScript });
  }

  async stop() {
    await this.context.close();
    rmSync(this.profile, { recursive: true, force: true });
  }

  /** Opens a page and hands it to `work`; fails if the page broke one of the rules above. */
  async with(file, work, { hash = "", viewport, colorScheme, reducedMotion } = {}) {
    const page = await this.context.newPage();
    const wrongs = [];
    page.on("console", (message) => wrongs.push(`console ${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => wrongs.push(`error: ${error.message}`));
    page.on("dialog", (dialog) => {
      wrongs.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    const url = pathToFileURL(join(PAGES, file)).href;
    await page.route("**/*", (route) => {
      const request = route.request().url();
      if (request === url || request.startsWith("blob:") || request.startsWith("data:")) return route.continue();
      wrongs.push(`request: ${request}`);
      return route.abort();
    });
    if (this.hasScript) {
      await page.addInitScript(() => {
        window.breaches = [];
        document.addEventListener("securitypolicyviolation", (event) => window.breaches.push(`${event.violatedDirective} ${event.blockedURI}`));
      });
    }
    if (viewport !== undefined) await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme: colorScheme ?? "light", reducedMotion: reducedMotion ?? "reduce" });
    try {
      await page.goto(url + hash);
      if (this.hasScript) await page.waitForSelector("html[data-ready]", { state: "attached" });
      const result = await work(page);
      if (this.hasScript) wrongs.push(...(await page.evaluate(() => window.breaches)).map((breach) => `policy: ${breach}`));
      assert.deepEqual(wrongs, []);
      return result;
    } finally {
      await page.close();
    }
  }
}

/** The first live figure of a view; scrolls to it. */
export async function figure(page, view, more = "") {
  const found = page.locator(`figure[data-view="${view}"]${more}`).first();
  await found.scrollIntoViewIfNeeded();
  await page.waitForFunction((element) => "live" in element.dataset, await found.elementHandle());
  return found;
}

/** Keeps a picture for inspection. */
export async function picture(target, name) {
  mkdirSync(join(ARTEFACTS, "pictures"), { recursive: true });
  await target.screenshot({ path: join(ARTEFACTS, "pictures", `${name}.png`) });
}
