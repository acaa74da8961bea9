// Makes dist/page.js and dist/page.css from src/, the same bytes on every machine. `--check` writes nothing and fails
// when the committed files differ from the build's. Called by npm and by ci.sh; knows nothing of the report.
import { build } from "esbuild";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

/** The bundle goes into every report, so its size is limited. */
const BYTES_MAX = 150_000;

const folder = new URL(".", import.meta.url).pathname;
const result = await build({
  absWorkingDir: folder,
  entryPoints: { page: "src/main.ts", "page-style": "src/page.css" },
  bundle: true,
  format: "iife",
  target: ["es2022", "chrome110", "firefox115", "safari16.4"],
  minify: true,
  charset: "utf8",
  legalComments: "none",
  outdir: "dist",
  write: false,
});

const made = new Map(
  result.outputFiles.map((file) => [file.path.endsWith(".css") ? "page.css" : "page.js", Buffer.from(file.contents)]),
);
let isStale = false;
for (const [name, bytes] of made) {
  const text = bytes.toString("utf8");
  // Both are put inline into a page: neither may end its own element.
  if (/<\/(script|style)|<!--/i.test(text)) throw new Error(`dist/${name} would end its element in the page`);
  if (bytes.length > BYTES_MAX) throw new Error(`dist/${name} has ${bytes.length} bytes, more than ${BYTES_MAX}`);
  const path = `${folder}dist/${name}`;
  if (process.argv.includes("--check")) {
    let committed = Buffer.alloc(0);
    try {
      committed = readFileSync(path);
    } catch {
      // A missing file is a stale one.
    }
    if (!committed.equals(bytes)) {
      console.error(`web/dist/${name} is not what web/src makes: run \`npm run build\` in web/ and commit dist/`);
      isStale = true;
    }
  } else {
    mkdirSync(`${folder}dist`, { recursive: true });
    writeFileSync(path, bytes);
  }
  console.log(`dist/${name}: ${bytes.length} bytes, ${gzipSync(bytes).length} compressed`);
}
if (isStale) process.exit(1);
