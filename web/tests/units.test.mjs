// Tests without a browser: what the script leaves to the report, CSV, and the contrast of the colours.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
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
const csv = await load("csv");

test("the script has no arithmetic of charts: it formats no figure, has no scale and draws no line", () => {
  const folder = new URL("../src/", import.meta.url);
  for (const name of readdirSync(folder).filter((file) => file.endsWith(".ts"))) {
    const text = readFileSync(new URL(name, folder), "utf8");
    assert.doesNotMatch(text, /Math\.(log|pow|exp)|toPrecision|\*\* -|stroke-dasharray|"ns"|"us"/, name);
  }
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
