// The page of `headwater history`: the frame, style and script are those of the page of runs.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Browser, picture } from "./browser.mjs";

let browser;
before(async () => {
  browser = await Browser.start();
});
after(() => browser.stop());

/** What the page says with and without its script, on a screen and at 400 pixels. */
async function complete(page) {
  assert.match(await page.locator("#summary .verdict li").first().textContent(), /^fifo\/stream\/64.*: worse from 2026-03-13/);
  const box = await page.locator("#summary figure .stage svg:visible").boundingBox();
  assert.ok(box !== null && box.width > 300, JSON.stringify(box));
  for (const part of ["mark", "mark-name"]) {
    assert.equal(await page.locator(`#summary .stage svg:visible .${part}.worse`).count(), 1, part);
  }
  assert.equal(await page.locator("#changes tbody tr").count(), 2);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, "it scrolls sideways");
  for (const tab of await page.locator("nav a").all()) {
    const { x, width } = await tab.boundingBox();
    assert.ok(x >= 0 && x + width <= page.viewportSize().width, await tab.textContent());
  }
  const words = await page.evaluate(() => document.querySelector("main").innerText);
  assert.ok(!words.includes("`"), "a literal backtick");
}

for (const [name, viewport] of [["1280", { width: 1280, height: 900 }], ["400", { width: 400, height: 800 }]]) {
  test(`a change is said and drawn, ${name} pixels`, () =>
    browser.with(
      "history.html",
      async (page) => {
        await complete(page);
        if (name === "1280") {
          const box = await page.locator("#summary figure .stage svg:visible").boundingBox();
          assert.ok(box.y + box.height <= 900, "the chart is not on the first screen");
        }
        await picture(page, `history-${name}`);
      },
      { viewport },
    ));
}

test("without a script: the same", async () => {
  const still = await Browser.start({ javaScriptEnabled: false });
  try {
    await still.with("history.html", complete, { viewport: { width: 400, height: 800 } });
  } finally {
    await still.stop();
  }
});

test("the words about a run follow the cursor", () =>
  browser.with("history.html", async (page) => {
    const stage = page.locator("#history figure .stage").first();
    await stage.scrollIntoViewIfNeeded();
    await page.waitForFunction(() => "live" in document.querySelector("#history figure").dataset);
    await stage.focus();
    await page.keyboard.press("ArrowRight");
    assert.match(await stage.locator(".readout").innerText(), /2026-03-\d\d 02:00 UTC[^]*night-\d\d on fixture/);
  }));
