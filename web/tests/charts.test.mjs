// Every chart and each of its controls: the reader's actions, and the resulting page.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Browser, figure, picture } from "./browser.mjs";

let browser;
before(async () => {
  browser = await Browser.start();
});
after(() => browser.stop());

const LINES = ["performance", "delay", "throughput", "improvement", "distribution"];

/** A button of a choice, by its label and value. */
const option = (scope, label, value) => scope.locator(`[aria-label="${label}"] button[data-value="${value}"]`);
const token = (scope, name) => scope.locator(`.legend button[data-token="${name}"]`);
const pressed = (button) => button.getAttribute("aria-pressed");
const lines = (scope) => scope.locator(".stage svg g.series:has(.point, .line)").count();
const labels = (scope) => scope.locator(".stage svg .label").allTextContents();

for (const view of LINES) {
  test(`${view}: the legend hides and shows, alone and all`, () =>
    browser.with("report.html", async (page) => {
      const chart = await figure(page, view);
      const all = await lines(chart);
      assert.ok(all >= 4, `${all} lines`);
      const names = await chart.locator(".legend-group").first().locator("button").count();
      const fifo = token(chart, "fifo");
      await fifo.click();
      assert.equal(await pressed(fifo), "false");
      const without = await lines(chart);
      assert.ok(without < all);
      assert.match(page.url(), /hide=fifo,null/);
      await fifo.click();
      assert.equal(await lines(chart), all);
      assert.doesNotMatch(page.url(), /hide=/);
      await fifo.click({ modifiers: ["Shift"] });
      assert.equal(await chart.locator('.legend-group:first-child button[aria-pressed="true"]').count(), 1);
      assert.equal(await pressed(fifo), "true");
      await fifo.click({ modifiers: ["Shift"] });
      assert.equal(await chart.locator('.legend-group:first-child button[aria-pressed="true"]').count(), names);
      await fifo.dblclick();
      assert.equal(await chart.locator('.legend-group:first-child button[aria-pressed="true"]').count(), 1);
      await token(chart, "@1").click();
      assert.equal(await lines(chart), 1, "fifo of one run");
      await token(chart, "@0").click();
      assert.match(await chart.locator(".stage").textContent(), /Every series is hidden/);
    }));

  test(`${view}: pointer and keys read values off`, () =>
    browser.with("report.html", async (page) => {
      const chart = await figure(page, view);
      const readout = chart.locator(".readout");
      assert.equal(await readout.textContent(), "");
      const box = await chart.locator(".stage svg").boundingBox();
      await page.mouse.move(box.x + box.width * 0.4, box.y + box.height * 0.5);
      await readout.locator(".value").waitFor();
      await page.mouse.move(box.x + 2, box.y + 2);
      assert.equal(await readout.textContent(), "", "outside the plotted area");
      await chart.locator(".stage").focus();
      const texts = [];
      for (const key of ["Home", "ArrowRight", "ArrowRight", "ArrowUp", "ArrowDown", "ArrowDown", "End", "ArrowLeft"]) {
        await page.keyboard.press(key);
        texts.push(await readout.textContent());
      }
      assert.ok(new Set(texts).size >= 6, texts.join("\n"));
      assert.match(texts.join(), /12 launches/);
      if (view !== "distribution") assert.match(texts.join(), / to .*\(96\s%\)/);
      await page.keyboard.press("Escape");
      assert.equal(await readout.textContent(), "");
    }));

  test(`${view}: each axis switches between its scales`, () =>
    browser.with("report.html", async (page) => {
      const chart = await figure(page, view);
      for (const axis of ["x", "y"]) {
        const values = await chart.locator(`[aria-label="${axis}"] button`).evaluateAll((all) => all.map((one) => one.dataset.value));
        assert.ok(values.length === 2, `${axis}: ${values}`);
        const seen = [];
        for (const value of values) {
          await option(chart, axis, value).click();
          assert.equal(await pressed(option(chart, axis, value)), "true");
          assert.match(page.url(), new RegExp(`${view}\\.${axis}=${value}`));
          seen.push((await labels(chart)).join());
        }
        assert.notEqual(seen[0], seen[1]);
      }
    }));
}

test("a reading is the value that was measured, with interval, launches and flags", () =>
  browser.with("single.html", async (page) => {
    const chart = await figure(page, "performance", '[data-placement="two-cpus"]');
    await chart.locator(".stage").focus();
    await page.keyboard.press("Home");
    // 1 / (420 ns + 0.2 ns), within the generator's 1.2 %.
    const [name, value, interval, launches] = await chart.locator(".readout p").allTextContents();
    assert.match(name, /^pipe, 1\sB$/);
    assert.match(value, /^2\.(3[5-9]|40)\sM\/s$/);
    const [, low, high] = /^(2\.3\d)\sM\/s to (2\.\d\d)\sM\/s \(96\s%\)$/.exec(interval) ?? assert.fail(interval);
    assert.ok(Number(low) < Number(high), interval);
    assert.equal(launches, "12 launches");
    await token(chart, "tcp").click({ modifiers: ["Shift"] });
    await chart.locator(".stage").focus();
    await page.keyboard.press("End");
    const text = await chart.locator(".readout").textContent();
    assert.match(text, /^tcp, 64\sKiB/);
    assert.equal(await chart.locator(".readout .flag").count(), 2, text);
  }));

test("intervals are bands, one to a series", () =>
  browser.with("report.html", async (page) => {
    const chart = await figure(page, "performance");
    assert.equal(await chart.locator(".stage svg .band").count(), await lines(chart));
  }));

test("runs differ by dash and by the filling of the marker", () =>
  browser.with("report.html", async (page) => {
    const chart = await figure(page, "performance");
    await token(chart, "pipe").click({ modifiers: ["Shift"] });
    const dashes = await chart.locator(".stage svg .line").evaluateAll((all) => all.map((line) => line.getAttribute("stroke-dasharray")));
    assert.equal(new Set(dashes).size, 2, dashes.join());
    assert.ok((await chart.locator(".stage svg .hollow").count()) > 0);
    assert.deepEqual((await chart.locator(".stage svg text.name").allTextContents()).sort(), ["after", "before"]);
  }));

test("sizes and times are labelled in their units", () =>
  browser.with("report.html", async (page) => {
    const performance = (await labels(await figure(page, "performance"))).join("|").replace(/\s/g, " ");
    assert.match(performance, /1 B\|.*64 KiB|1 B\|.*32 KiB/);
    assert.match(performance, /\d M\|/);
    const delay = await figure(page, "delay", '[data-pattern="stream"]');
    assert.match((await labels(delay)).join("|").replace(/\s/g, " "), /µs.*\|0\|.*16 KiB/);
    await option(delay, "y", "log").click();
    assert.match((await labels(delay)).join("|").replace(/\s/g, " "), /ns/);
  }));

test("delay: fitted lines, their knee, their words and their residuals", () =>
  browser.with("single.html", async (page) => {
    const chart = await figure(page, "delay", '[data-pattern="stream"][data-placement="two-cpus"]');
    await token(chart, "pipe").click({ modifiers: ["Shift"] });
    assert.ok((await chart.locator(".stage svg .fit").count()) >= 2, "two segments");
    assert.ok((await chart.locator(".stage svg .knee").count()) >= 1);
    const words = chart.locator("details.words");
    if ((await words.getAttribute("open")) === null) await words.locator("summary").click();
    const text = (await words.locator("li").allTextContents()).join("\n").replace(/\s/g, " ");
    // alpha 420 ns and beta 0.2 ns per byte up to the knee at 8 KiB, 9.1 GB/s (1 / 0.11 ns) behind it.
    assert.match(text, /pipe, 1 B to 4 KiB: 4[12]\d ns .* per message and 0\.(19|20|21) ns .* per byte/);
    assert.match(text, /8 KiB to 64 KiB: .* up to (8|9)\.\d\d GB\/s .*; half of that at/);
    await picture(chart, "delay-fit");
    await option(chart, "show", "residuals").click();
    assert.match(page.url(), /delay\.show=residuals/);
    assert.match((await labels(chart)).join(), /%/);
    assert.equal(await chart.locator(".stage svg .fit").count(), 0);
    await chart.locator(".stage").focus();
    await page.keyboard.press("ArrowRight");
    assert.match(await chart.locator(".readout").textContent(), /of the fitted line/);
  }));

test("improvement: the choice of baseline is computed in the browser", () =>
  browser.with("report.html", async (page) => {
    const chart = await figure(page, "improvement", '[data-pattern="stream"][data-placement="two-cpus"]');
    const baseline = page.locator("#controls label", { hasText: "Baseline" }).locator("select");
    assert.equal(await baseline.inputValue(), "subject:pipe");
    assert.equal(await token(chart, "pipe").count(), 0, "the base is no series");
    await baseline.selectOption("run:0");
    assert.match(page.url(), /baseline=run:0/);
    await token(chart, "tcp").click({ modifiers: ["Shift"] });
    await chart.locator(".stage").focus();
    await page.keyboard.press("End");
    // tcp was slowed down by 10 %: its rate is 1 / 1.1 of the former one.
    assert.match((await chart.locator(".readout .value").textContent()).replace(/\s/g, " "), /^−(8|9|10)\.\d+ %$/);
    await token(chart, "fifo").click({ modifiers: ["Shift"] });
    await chart.locator(".stage").focus();
    await page.keyboard.press("End");
    assert.match((await chart.locator(".readout .value").textContent()).replace(/\s/g, " "), /^\+1[012]\.\d %$/);
    await token(chart, "fifo").click({ modifiers: ["Shift"] });
    await baseline.selectOption("subject:fifo");
    assert.equal(await token(chart, "fifo").count(), 0);
    assert.match(await chart.locator(".axis-title").first().textContent(), /than fifo$/);
  }));

test("distribution: another nine takes the same length, or percentiles are linear", () =>
  browser.with("single.html", async (page) => {
    const chart = await figure(page, "distribution");
    const places = async () =>
      chart.locator(".stage svg .axis path:not(:first-child)").evaluateAll((all) => all.map((tick) => Number(/^M([\d.]+)/.exec(tick.getAttribute("d"))[1])));
    const [, , p90, p99, p999] = await places();
    assert.ok(Math.abs(p99 - p90 - (p999 - p99)) < 2, `${p90} ${p99} ${p999}`);
    await chart.locator(".stage").focus();
    await page.keyboard.press("End");
    assert.match((await chart.locator(".readout").textContent()).replace(/\s/g, " "), /99\.99 % took at most this long/);
  }));

test("heat map: cells have values, colours by the baseline, and keys to walk", () =>
  browser.with("report.html", async (page) => {
    const chart = await figure(page, "heatmap", '[data-placement="two-cpus"]');
    const cells = chart.locator("td");
    assert.ok((await cells.count()) > 40);
    const classes = () => cells.evaluateAll((all) => all.map((cell) => cell.className).join());
    const byPipe = await classes();
    assert.match(byPipe, /h5/);
    assert.match(byPipe, /h10/);
    await page.locator("#controls label", { hasText: "Baseline" }).locator("select").selectOption("subject:tcp");
    assert.notEqual(await classes(), byPipe);
    assert.match(await chart.locator("figcaption").textContent(), /than tcp/);
    await cells.first().focus();
    const readout = chart.locator(".readout");
    const first = await readout.textContent();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowDown");
    const second = await readout.textContent();
    assert.notEqual(first, second);
    assert.match(second, /the speed of tcp/);
    await page.keyboard.press("End");
    await page.keyboard.press("Escape");
    assert.equal(await readout.textContent(), "");
    const [x, y] = await cells.nth(3).boundingBox().then((box) => [box.x + 5, box.y + 5]);
    await page.mouse.move(x, y);
    assert.match(await readout.textContent(), /launches/);
  }));

test("forest: filter by verdict, sort, scale, band of the minimum effect", () =>
  browser.with("report.html", async (page) => {
    const chart = await figure(page, "forest");
    const names = () => chart.locator(".stage svg text.name").allTextContents();
    assert.equal(await chart.locator(".stage svg .effect").count(), 1);
    assert.equal(await chart.locator(".stage svg .reference").count(), 1);
    const all = await names();
    await option(chart, "verdict", "worse").click();
    const worse = await names();
    assert.ok(worse.length > 0 && worse.every((name) => name.startsWith("tcp/")), worse.join());
    await option(chart, "verdict", "better").click();
    assert.ok((await names()).every((name) => name.startsWith("fifo/")));
    assert.match(page.url(), /forest\.verdict=better/);
    await option(chart, "verdict", "all").click();
    assert.deepEqual(await names(), all);
    await option(chart, "sort by", "name").click();
    const sorted = await names();
    assert.deepEqual(sorted, [...sorted].sort((a, b) => a.localeCompare(b, "en", { numeric: true })));
    await option(chart, "sort by", "effect").click();
    assert.ok((await names()).slice(0, 5).every((name) => /^(tcp|fifo)\//.test(name)));
    const points = () => chart.locator(".stage svg .point").evaluateAll((all) => all.map((one) => one.getAttribute("d")).join());
    const log = await points();
    await option(chart, "x", "linear").click();
    assert.notEqual(await points(), log);
    await chart.locator(".stage").focus();
    await page.keyboard.press("ArrowDown");
    const reading = await chart.locator(".readout").textContent();
    assert.match(reading, /\d\.\d\d× \([+−][\d.]+\s%\): (better|worse)/);
    assert.match(reading, /is better.*launches/);
    const more = chart.locator("button.more");
    const shown = (await names()).length;
    await more.click();
    assert.ok((await names()).length > shown);
  }));

test("dots: sort, scale, legend, keys", () =>
  browser.with("single.html", async (page) => {
    const chart = await figure(page, "dots", '[data-pattern="sync"]');
    const names = () => chart.locator(".stage svg text.name").allTextContents();
    const all = await names();
    assert.equal(all.length, 30);
    // From 9 ms (an atomic, one worker) to 4 s (a semaphore, five): dots and scale agree.
    const dots = await chart.locator(".stage svg .point").evaluateAll((every) => every.map((dot) => dot.getBoundingClientRect().x));
    const box = await chart.locator(".stage svg").boundingBox();
    assert.ok(Math.max(...dots) - Math.min(...dots) > box.width / 3, "dots are spread over the axis");
    assert.match((await labels(chart)).join("|").replace(/\s/g, " "), /10 ms.*100 ms.*1 s/);
    await option(chart, "sort by", "value").click();
    assert.match((await names())[0], /^atomic/);
    await option(chart, "sort by", "name").click();
    assert.notDeepEqual(await names(), all);
    const before = (await labels(chart)).join();
    for (const value of ["linear", "log"]) await option(chart, "x", value).click();
    await option(chart, "x", "linear").click();
    assert.notEqual((await labels(chart)).join(), before);
    await token(chart, "atomic").click();
    assert.equal((await names()).length, 20);
    await chart.locator(".stage").focus();
    await page.keyboard.press("End");
    assert.match(await chart.locator(".readout").textContent(), /12 launches/);
  }));
