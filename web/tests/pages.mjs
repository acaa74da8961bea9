// Makes the pages that the tests open, by the real `headwater report`. HEADWATER names the program; with HEADWATER_REPORT
// an existing folder with the pages is used unchanged.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { deflateRawSync } from "node:zlib";
import { largeRun, smallRun } from "./runs.mjs";

const WEB = fileURLToPath(new URL("..", import.meta.url));
export const ARTEFACTS = join(WEB, "artefacts");
export const PAGES = process.env.HEADWATER_REPORT ?? join(ARTEFACTS, "pages");

/** A text that must stay text in every place. */
export const HOSTILE = {
  run: "<img src=x onerror=alert(1)>",
  pipe: "</script><script>alert(2)</script>",
  fifo: '=cmd("calc")!A1',
  tcp: "\"><svg onload=alert(3)>' & ~,|",
};

export const ROWS_LARGE = 50_000;

export function makePages() {
  if (process.env.HEADWATER_REPORT !== undefined) return;
  const program = process.env.HEADWATER ?? join(WEB, "../target/release/headwater");
  if (!existsSync(program)) throw new Error(`no ${program}: build it (cargo build --release) or name it in HEADWATER`);
  rmSync(PAGES, { recursive: true, force: true });
  mkdirSync(PAGES, { recursive: true });
  const runs = mkdtempSync(join(tmpdir(), "headwater-runs-"));
  const store = (name, run) => {
    mkdirSync(join(runs, name), { recursive: true });
    writeFileSync(join(runs, name, "run.json"), JSON.stringify(run));
    return join(runs, name);
  };
  const report = (page, ...of) => execFileSync(program, ["report", ...of, "-o", join(PAGES, page)], { stdio: ["ignore", "ignore", "pipe"] });

  const before = store("before", smallRun({ id: "before", seed: 1 }));
  const after = store("after", smallRun({ id: "after", seed: 2, factors: { tcp: 1.1, fifo: 0.9 } }));
  const rename = (name) => HOSTILE[name] ?? name;
  const command = ["headwater", "run", "</script><script>alert(4)</script>"];
  const hostile = store(HOSTILE.run, smallRun({ id: "hostile", seed: 3, rename, command }));
  report("report.html", before, after);
  report("single.html", before);
  report("hostile.html", hostile, before);
  // Twenty nights: from the thirteenth on the FIFO is slower.
  for (let night = 0; night < 20; night += 1) {
    const id = `night-${String(night).padStart(2, "0")}`;
    const run = smallRun({ id, seed: 200 + night, factors: { fifo: night < 12 ? 1 : 1.15 } });
    store(`nights/${id}`, { ...run, started_at: `2026-03-${String(night + 1).padStart(2, "0")}T02:00:00Z` });
  }
  const rows = ["fifo/stream/64", "-f", "pipe/stream/64"];
  execFileSync(program, ["history", ...rows, join(runs, "nights"), "-o", join(PAGES, "history.html")], { stdio: ["ignore", "ignore", "pipe"] });
  report("large.html", store("large", largeRun("large", ROWS_LARGE)));
  writeFileSync(join(PAGES, "rows.html"), withRows(readFileSync(join(PAGES, "single.html"), "utf8"), ROWS_LARGE));
  rmSync(runs, { recursive: true });
}

/** A page with this many rows: more than fit into a report of 1.5 MB, to show that the script is not the limit. */
function withRows(page, count) {
  const [, json] = /<script type="application\/json" id="headwater-data">(.*?)<\/script>/s.exec(inflated(page)) ?? [];
  const data = JSON.parse(json);
  const columns = data.rows;
  const length = columns.median.length;
  for (const [name, values] of Object.entries(columns)) {
    columns[name] = Array.from({ length: count }, (_, index) => (name === "median" ? index + 1 : values[index % length]));
  }
  const packed = deflateRawSync(Buffer.from(JSON.stringify(data))).toString("base64");
  const element = `<script type="application/octet-stream" id="headwater-data" data-encoding="deflate-raw-base64">${packed}</script>`;
  return page.replace(/<script [^>]*id="headwater-data"[^>]*>.*?<\/script>/s, () => element);
}

function inflated(page) {
  if (page.includes('<script type="application/json" id="headwater-data">')) return page;
  throw new Error("the small page's data is expected to stand in the clear");
}

/** Whether the page contains exactly this bundle, and its policy the bundle's hash. */
export function carriesBundle(page) {
  const text = readFileSync(join(PAGES, page), "utf8");
  return ["page.js", "page.css"].every((name) => {
    const bundle = readFileSync(join(WEB, "dist", name), "utf8");
    const hash = createHash("sha256").update(bundle).digest("base64");
    return text.includes(bundle) && text.includes(`'sha256-${hash}'`);
  });
}
