// `npm test`: makes the pages by the report command, then runs every test file. `--report FILE` instead looks at one page
// of the caller's: it must open without a message, every figure must react, and pictures are taken.

import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ARTEFACTS, makePages } from "./pages.mjs";

const folder = fileURLToPath(new URL(".", import.meta.url));
const [option, ...files] = process.argv.slice(2);
let tests = ["units", "charts", "page", "history"];
const env = { ...process.env };
if (option === "--report") {
  env.HEADWATER_REPORT = join(ARTEFACTS, "given");
  mkdirSync(env.HEADWATER_REPORT, { recursive: true });
  env.HEADWATER_GIVEN = files.map((file, index) => {
    copyFileSync(file, join(env.HEADWATER_REPORT, `${index}.html`));
    return `${index}.html`;
  }).join();
  tests = ["given"];
} else if (option !== undefined) {
  tests = [option, ...files];
  makePages();
} else makePages();

const started = Date.now();
const paths = tests.map((name) => join(folder, `${name}.test.mjs`));
// Two browsers at a time: one for each core of a small machine.
const { status } = spawnSync(process.execPath, ["--test", "--test-concurrency=2", "--test-reporter=spec", ...paths], { stdio: "inherit", env });
console.log(`browser tests: ${Math.round((Date.now() - started) / 1000)} s; pictures in web/artefacts/pictures`);
process.exit(status ?? 1);
