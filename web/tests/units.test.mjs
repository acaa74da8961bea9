// Tests without a browser: formatted numbers, ticks, places of labels, CSV, and the contrast of the colours.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const load = async (name) => {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(`../src/${name}.ts`, import.meta.url))],
    bundle: true,
    format: "esm",
    write: false,
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
};
const [units, scale, plot, csv] = await Promise.all(["units", "scale", "plot", "csv"].map(load));
const plain = (text) => text.replace(/\u00a0/g, " ");

test("values are written with three digits and a prefix", () => {
  for (const [value, quantity, text] of [
    [1_234_567, "rate", "1.23 M/s"],
    [999_700, "rate", "1.00 M/s"],
    [0, "rate", "0 /s"],
    [5.12e-6, "seconds", "5.12 µs"],
    [9.996e-7, "seconds", "1.00 µs"],
    [1.2e-10, "seconds", "0.12 ns"],
    [8e9, "bits", "8.00 Gbit/s"],
    [-8.333, "percent", "−8.33 %"],
    [1.25, "gain", "+25.0 %"],
    [13.5, "gain", "+1,250 %"],
    [1, "gain", "0 %"],
    [4096, "size", "4 KiB"],
    [1500, "size", "1,500 B"],
    [65536, "size", "64 KiB"],
    [99.99, "percentile", "99.99 %"],
  ]) {
    assert.equal(plain(units.format(value, quantity)), text);
  }
  assert.equal(plain(units.inUnit(5120, "ns")), "5.12 µs");
  assert.equal(plain(units.inUnit(2.5e9, "bytes/s")), "2.50 GB/s");
  assert.equal(plain(units.inUnit(0.024, "ratio")), "2.40 %");
});

test("the ticks of a linear axis share one unit, those of a logarithm have their own", () => {
  const labels = (...of) => units.tickLabels(...of).map(plain);
  assert.deepEqual(labels([0, 5e5, 1e6, 1.5e6], "rate", false), ["0", "0.5 M", "1 M", "1.5 M"]);
  assert.deepEqual(labels([1e-7, 1e-6, 1e-5], "seconds", true), ["100 ns", "1 µs", "10 µs"]);
  assert.deepEqual(labels([0, 16384, 32768], "size", false), ["0", "16 KiB", "32 KiB"]);
  assert.deepEqual(labels([0.1, 1, 10], "gain", true), ["−90 %", "0 %", "+900 %"]);
});

test("ticks are round, few and within the axis", () => {
  const ticks = (spread, domain, count, isBinary) => scale.ticksOf(scale.makeScale(spread, domain, [0, 100]), count, isBinary);
  assert.deepEqual(ticks("linear", [0, 2.3], 5, false), [0, 0.5, 1, 1.5, 2]);
  assert.deepEqual(ticks("linear", [0, 65536], 8, true), [0, 8192, 16384, 24576, 32768, 40960, 49152, 57344, 65536]);
  assert.deepEqual(ticks("log", [1, 65536], 9, true), [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536]);
  assert.deepEqual(ticks("log", [0.5, 2e6], 7, false), [1, 10, 100, 1000, 10000, 100000, 1000000]);
  for (const domain of [[NaN, NaN], [0, 0], [5, 5], [-1, 0], [1e-300, 1e300]]) {
    for (const spread of ["linear", "log", "percentile"]) assert.ok(ticks(spread, domain, 6, false).length < 1001, `${spread} ${domain}`);
  }
});

test("labels that touch move apart, no further than needed and within their room", () => {
  assert.deepEqual(plot.spreadOut([10, 50, 90], 14, 0, 100), [10, 50, 90]);
  assert.deepEqual(plot.spreadOut([50, 50], 14, 0, 100), [43, 57]);
  assert.deepEqual(plot.spreadOut([0, 1, 2], 14, 0, 100), [0, 14, 28]);
  assert.deepEqual(plot.spreadOut([99, 100], 14, 0, 100), [86, 100]);
  assert.deepEqual(plot.spreadOut([], 14, 0, 100), []);
  const crowded = plot.spreadOut(Array(30).fill(50), 14, 0, 100);
  assert.ok(crowded.every((place) => place >= -1e-9 && place <= 100 + 1e-9), String(crowded));
});

test("CSV quotes what RFC 4180 says and defuses formulas, but not numbers", () => {
  assert.equal(csv.csv(["a", "b"], [[-1, null], ["-1", "=A1"], ['x"y', "a,b"], ["l\nm", "@x"], ["+1", "plain"]]), 'a,b\r\n-1,\r\n\'-1,\'=A1\r\n"x""y","a,b"\r\n"l\nm",\'@x\r\n\'+1,plain\r\n');
});

test("text has a contrast of 4.5:1 and every series 3:1, in both themes", () => {
  const style = readFileSync(new URL("../src/style/tokens.css", import.meta.url), "utf8");
  const theme = (pattern) => Object.fromEntries([...pattern.exec(style)[1].matchAll(/--([\w-]+): (#\w+);/g)].map(([, name, value]) => [name, value]));
  for (const [name, colours] of Object.entries({
    light: theme(/^:root \{(.*?)^\}/ms),
    dark: theme(/^:root\[data-theme="dark"\] \{(.*?)^\}/ms),
  })) {
    for (const text of ["text", "muted", "accent", "good", "bad", "even", "open"]) {
      for (const ground of ["page", "raised", "sunken", "mark"]) {
        assert.ok(contrast(colours[text], colours[ground]) >= 4.5, `${name}: ${text} on ${ground}`);
      }
    }
    assert.ok(contrast(colours["accent-text"], colours.accent) >= 4.5, name);
    assert.ok(contrast(colours["line-strong"], colours.raised) >= 3, name);
    for (let index = 0; index < 12; index += 1) assert.ok(contrast(colours[`s${index}`], colours.page) >= 3, `${name}: s${index}`);
    for (let index = 0; index < 11; index += 1) {
      assert.ok(contrast(colours[`h${index}`], colours[`ht${index}`]) >= 4.5, `${name}: h${index}`);
    }
  }
});

/** WCAG 2.2, relative luminance and contrast ratio. */
function contrast(one, other) {
  const luminance = (colour) => {
    const [r, g, b] = [1, 3, 5].map((at) => {
      const share = parseInt(colour.slice(at, at + 2), 16) / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}
