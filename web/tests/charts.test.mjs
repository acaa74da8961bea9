// Every chart and each of its controls: the reader's actions, and the resulting page. The drawings are the report's.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Browser, figure } from "./browser.mjs";

let browser;
before(async () => {
  browser = await Browser.start();
});
after(() => browser.stop());

const LINES = ["performance", "delay", "throughput", "improvement", "distribution"];

/** A figure of a section, not the one beside the summary. */
const own = (page, view, more = "") => figure(page, view, `:not(.lead *)${more}`);
const option = (scope, label, value) => scope.locator(`[aria-label="${label}"] button[data-value="${value}"]`);
const line = (scope, name) => scope.locator(`.legend button[title="${name}"]`);
const pressed = (button) => button.getAttribute("aria-pressed");
const shown = (scope) => scope.locator(".stage svg:visible > g.series:visible").count();
const names = (scope) => scope.locator(".stage svg:visible .ends text:visible").allTextContents();

for (const view of LINES) {
  test(`${view}: at most six lines at first, all of them one click away, each named at its end`, () =>
    browser.with("report.html", async (page) => {
      const chart = await own(page, view);
      const first = await shown(chart);
      assert.ok(first >= 2 && first <= 6, `${first} lines`);
      assert.equal((await names(chart)).length, first);
      const all = await chart.locator(".legend button").count();
      assert.ok(all > 6, `${all} lines`);
      await chart.locator("label.more-lines").click();
      assert.equal(await shown(chart), all);
      const labels = await names(chart);
      assert.equal(new Set(labels).size, all, labels.join());
      assert.match(page.url(), /lines=all/);
      await page.reload();
      await page.waitForSelector("html[data-ready]", { state: "attached" });
      assert.equal(await shown(await own(page, view)), all, "the address keeps it");
      await (await own(page, view)).locator("label.more-lines").click();
      assert.equal(await shown(await own(page, view)), first);
    }));

  test(`${view}: a button hides and shows a line, alone and among others`, () =>
    browser.with("report.html", async (page) => {
      const chart = await own(page, view);
      const first = await shown(chart);
      const button = chart.locator('.legend button[aria-pressed="true"]').first();
      const name = await button.getAttribute("title");
      const one = line(chart, name);
      await one.click();
      assert.equal(await pressed(one), "false");
      assert.equal(await shown(chart), first - 1);
      assert.ok(!(await names(chart)).includes(name));
      assert.match(page.url(), /toggle=/);
      await one.click();
      assert.equal(await shown(chart), first);
      assert.doesNotMatch(page.url(), /toggle=/);
      await one.click({ modifiers: ["Shift"] });
      assert.deepEqual(await names(chart), [name]);
      await one.click({ modifiers: ["Shift"] });
      assert.equal(await shown(chart), first);
      const other = chart.locator('.legend button[aria-pressed="false"]').first();
      await other.click();
      assert.equal(await shown(chart), first + 1);
    }));

  test(`${view}: pointer and keys read values off`, () =>
    browser.with("report.html", async (page) => {
      const chart = await own(page, view);
      const readout = chart.locator(".readout");
      assert.equal(await readout.textContent(), "");
      await chart.locator(".stage").scrollIntoViewIfNeeded();
      const [x, y] = await chart.locator(".stage svg:visible > g.series:visible .line").first().evaluate((path) => {
        const [, left, top] = /^M([\d.]+) ([\d.]+)/.exec(path.getAttribute("d"));
        const at = new DOMPoint(Number(left), Number(top)).matrixTransform(path.getScreenCTM());
        return [at.x, at.y];
      });
      await page.mouse.move(x + 2, y + 2);
      await readout.locator(".value").waitFor();
      const box = await chart.locator(".stage svg:visible").boundingBox();
      await page.mouse.move(box.x + box.width - 2, box.y + box.height - 2);
      assert.equal(await readout.textContent(), "", "far from every point");
      await chart.locator(".stage").focus();
      const texts = [];
      for (const key of ["Home", "ArrowRight", "ArrowRight", "ArrowUp", "ArrowDown", "ArrowDown", "End", "ArrowLeft"]) {
        await page.keyboard.press(key);
        texts.push(await readout.textContent());
      }
      assert.ok(new Set(texts).size >= 5, texts.join("\n"));
      if (view === "distribution") assert.match(texts.join(), /took at most this long/);
      else assert.match(texts.join(), /12 launches/);
      if (view !== "distribution") assert.match(texts.join(), / \.\. .*\(9\d\.\d %\)/);
      assert.ok(texts.every((text) => !/[a-zA-Z%]\d{2,} launches/.test(text)), "lines are separated");
      await page.keyboard.press("Escape");
      assert.equal(await readout.textContent(), "");
    }));

  test(`${view}: another scale is another drawing of the report`, () =>
    browser.with("report.html", async (page) => {
      const chart = await own(page, view);
      const drawing = () => chart.locator(".stage svg.wide").evaluate((one) => one.outerHTML);
      const first = await drawing();
      const now = await chart.locator('[aria-label="Scale"] button[aria-pressed="true"]').getAttribute("data-value");
      const other = now === "log" ? "linear" : "log";
      await option(chart, "Scale", other).click();
      assert.match(page.url(), new RegExp(`${view}\\.scale=${other}`));
      assert.notEqual(await drawing(), first);
      assert.ok((await shown(chart)) >= 2);
      await option(chart, "Scale", now).click();
      assert.equal(await drawing(), first);
      assert.doesNotMatch(page.url(), /scale/);
    }));
}

test("a reading is the value that was measured, with interval, launches and flags", () =>
  browser.with("single.html", async (page) => {
    const chart = await own(page, "performance", '[data-placement="two-cpus"]');
    await line(chart, "pipe").click({ modifiers: ["Shift"] });
    await chart.locator(".stage").focus();
    await page.keyboard.press("Home");
    // 1 / (420 ns + 0.2 ns), within the generator's 1.2 %.
    const [name, value, interval, launches] = await chart.locator(".readout p").allTextContents();
    assert.equal(name, "pipe, 1 B");
    assert.match(value, /^2\.(3[5-9]|40) M\/s$/);
    const [, low, high] = /^(2\.3\d) M\/s \.\. (2\.\d\d) M\/s \(\d\d\.\d %\)$/.exec(interval) ?? assert.fail(interval);
    assert.ok(Number(low) < Number(high), interval);
    assert.equal(launches, "12 launches");
    await line(chart, "tcp").click({ modifiers: ["Shift"] });
    await chart.locator(".stage").focus();
    await page.keyboard.press("End");
    assert.match(await chart.locator(".readout").textContent(), /^tcp, 64 KiB/);
    assert.equal(await chart.locator(".readout .flag").count(), 2);
  }));

test("with and without the script the page has the same drawings, captions and figures", async () => {
  const seen = (page) =>
    page.locator("figure[data-view]").evaluateAll((figures) =>
      figures.map((figure) => ({
        drawings: [...figure.querySelectorAll(".stage > svg")].map((svg) => svg.outerHTML),
        caption: figure.querySelector("figcaption").textContent,
        tables: [...figure.querySelectorAll("table")].map((table) => table.textContent),
      })),
    );
  const still = await Browser.start({ javaScriptEnabled: false });
  try {
    for (const name of ["report.html", "single.html"]) {
      const without = await still.with(name, seen);
      assert.ok(without.length > 8);
      await browser.with(name, async (page) => {
        for (const chart of await page.locator("figure[data-view]").all()) await chart.scrollIntoViewIfNeeded();
        await page.waitForFunction(() => [...document.querySelectorAll("figure[data-view]")].every((one) => "live" in one.dataset));
        // Classes of state are the script's; what is drawn is the report's.
        const plain = (figures) => JSON.stringify(figures).replace(/ class=\\"[^"]*\\"/g, "");
        assert.equal(plain(await seen(page)), plain(without));
      });
    }
  } finally {
    await still.stop();
  }
});

test("runs differ by the dash of the line, and every marker is filled", () =>
  browser.with("report.html", async (page) => {
    const chart = await own(page, "performance");
    await line(chart, "pipe · before").click({ modifiers: ["Shift"] });
    await line(chart, "pipe · after").click();
    const lines = chart.locator(".stage svg:visible > g.series:visible");
    const looks = await lines.evaluateAll((all) =>
      all.map((one) => ({
        colour: getComputedStyle(one).color,
        dash: one.querySelector(".line").getAttribute("stroke-dasharray"),
        fill: getComputedStyle(one.querySelector(".point")).stroke,
      })),
    );
    assert.equal(looks.length, 2);
    assert.equal(looks[0].colour, looks[1].colour);
    assert.notEqual(looks[0].dash, looks[1].dash);
    assert.ok(looks.every(({ colour, fill }) => colour === fill), "in the colour of the line");
    assert.equal(await page.locator("svg .hollow").count(), 0);
    // Beside its name in the legend, and at the end of its line, a line has its dash.
    for (const place of [".legend button", ".stage svg:visible .ends:visible > g:visible"]) {
      const samples = await chart.locator(place).evaluateAll((all) =>
        all
          .filter((one) => /^pipe · (before|after)$/.test((one.title || one.textContent).trim()))
          .map((one) => one.querySelector("path.line")?.getAttribute("stroke-dasharray") ?? "none"),
      );
      assert.deepEqual(samples.sort(), [...looks.map(({ dash }) => dash ?? "none")].sort(), place);
    }
  }));

test("a mechanism has one colour on every page", async () => {
  const colours = async (file) =>
    browser.with(file, async (page) => {
      const chart = await own(page, "performance");
      return chart.locator(".legend button").evaluateAll((all) =>
        Object.fromEntries(all.map((one) => [one.title.split(" ")[0], getComputedStyle(one.querySelector(".point")).stroke])),
      );
    });
  const [one, two] = [await colours("report.html"), await colours("single.html")];
  for (const name of ["pipe", "unix-stream", "tcp", "posix-mq"]) assert.equal(one[name], two[name], name);
  assert.equal(one.pipe, one.fifo, "of one family");
  assert.equal(new Set([one.pipe, one["unix-stream"], one.tcp, one["posix-mq"]]).size, 4);
});

test("sizes are powers of two in one system of units, on every scale", () =>
  browser.with("report.html", async (page) => {
    for (const view of ["performance", "delay"]) {
      const chart = await own(page, view);
      for (const scale of ["linear", "log"]) {
        await option(chart, "Scale", scale).click();
        const ticks = (await chart.locator(".stage svg .axis .label").allTextContents()).filter((text) => / B$| KiB$/.test(text));
        assert.ok(ticks.length > 4, ticks.join());
        for (const tick of ticks) assert.ok(Number.isInteger(Math.log2(Number(tick.split(" ")[0]))), `${view}: ${tick}`);
      }
    }
  }));
