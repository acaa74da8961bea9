#!/usr/bin/env bash
# The page's own checks, from a clean clone to the end: types, freshness of what is committed, and the browser tests on
# reports that the real command wrote. Called by `cargo xtask ci` after the release build; asks nothing; needs Node 20,
# npm and Chromium. HEADWATER names the command if it is not target/release/headwater, CHROMIUM the browser.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
exec </dev/null

say() { printf 'web: %s\n' "$*"; }

for program in node npm "${CHROMIUM:-/usr/bin/chromium}"; do
    command -v "$program" >/dev/null || { say "$program is missing (Debian: nodejs npm chromium)"; exit 1; }
done
started=$SECONDS
say "node $(node --version), npm $(npm --version)"
# Installing is skipped where node_modules is already what the lock file says.
if ! cmp --silent package-lock.json node_modules/.headwater-lock 2>/dev/null; then
    npm ci --no-audit --no-fund --loglevel=error
    cp package-lock.json node_modules/.headwater-lock
fi
npm run --silent check
npm run --silent fresh
say "types and dist/ are right: $((SECONDS - started)) s"
npm test --silent
say "ok, $((SECONDS - started)) s"
