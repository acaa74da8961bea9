// Runs for the tests, as `headwater run` would store them: made of a formula and a seeded generator, so that every test
// knows the expected result. The report command reads them like any other run; nothing here knows the page.

const RELEASE = "6.12.0-fixture";

/** d = alpha + beta * size in ns and ns per byte; behind a knee both change. */
const SUBJECTS = {
  pipe: { alpha: 420, beta: 0.2, standing: "candidate", knee: { from: 8192, alpha: 1400, beta: 0.11 } },
  fifo: { alpha: 440, beta: 0.2, standing: "candidate" },
  "unix-stream": { alpha: 1100, beta: 0.11, standing: "candidate" },
  tcp: { alpha: 900, beta: 0.24, standing: "candidate" },
  "posix-mq": { alpha: 700, beta: 0.3, standing: "candidate", sizeMax: 8192 },
  "ring-futex": { alpha: 16, beta: 0.08, standing: "limit" },
  null: { alpha: 1.5, beta: 0.0001, standing: "null" },
};

// Without 2 B and 32 KiB, so that the page of two such runs has room for all that the script shows.
const SIZES = Array.from({ length: 17 }, (_, power) => 2 ** power).filter((size) => size !== 2 && size !== 32768);

/** Sizes of the round trips: each has a distribution of its own. */
const EXCHANGED = [1, 64, 4096, 65536];

/** A small run: streams and round trips of several subjects, counters under locks. `factors` slow a subject down. */
export function smallRun({ id, factors = {}, seed, rename = (name) => name, command = ["headwater", "run", "ipc"] }) {
  const random = generator(seed);
  const results = [];
  for (const placement of ["same-cpu", "two-cpus"]) {
    for (const [subject, model] of Object.entries(SUBJECTS)) {
      for (const size of SIZES.filter((bytes) => bytes <= (model.sizeMax ?? Infinity))) {
        const line = model.knee !== undefined && size >= model.knee.from ? model.knee : model;
        const slow = (factors[subject] ?? 1) * (placement === "same-cpu" ? 1.3 : 1);
        const delay = (line.alpha + line.beta * size) * slow;
        results.push(row(random, rename(subject), model.standing, "stream", placement, { size_bytes: size }, metric("rate", "messages/s", "higher"), 1e9 / delay));
        if (!EXCHANGED.includes(size)) continue;
        results.push(row(random, rename(subject), model.standing, "rtt", placement, { size_bytes: size }, metric("rtt", "ns", "lower"), 14 * delay));
      }
    }
  }
  for (const [subject, cost] of [["atomic", 9e3], ["mutex", 3e4], ["sysv-semaphore", 8e5]]) {
    for (const kind of ["process", "thread"]) {
      for (let workers = 1; workers <= 5; workers += 1) {
        const parameters = { workers, worker_kind: kind };
        results.push(row(random, rename(subject), "candidate", "sync", "two-cpus", parameters, metric("total", "us", "lower"), cost * workers));
      }
    }
  }
  return run(id, results, command);
}

/** A run with a given number of rows, as in a very long sweep of sizes. */
export function largeRun(id, rows) {
  const random = generator(5);
  const results = [];
  for (let index = 0; index < rows; index += 1) {
    const subject = `transport-${String(index % 20).padStart(2, "0")}`;
    const size = 1 + Math.floor(index / 20) * 16;
    const rate = 1e9 / (400 + 50 * (index % 20) + 0.2 * size);
    results.push(row(random, subject, "candidate", "stream", "two-cpus", { size_bytes: size }, metric("rate", "messages/s", "higher"), rate, 3));
  }
  return run(id, results, ["headwater", "run"]);
}

function metric(name, unit, better) {
  return { name, unit, better };
}

function row(random, subject, standing, pattern, placement, parameters, own, value, launches = 12) {
  const values = Array.from({ length: launches }, () => value * (1 + 0.012 * (random() + random() - 1)));
  const sorted = [...values].sort((a, b) => a - b);
  // The ranks that `results` uses for 12 launches and for fewer than 6.
  const rank = launches >= 12 ? 2 : 0;
  const estimate = {
    median: (sorted[Math.floor((launches - 1) / 2)] + sorted[Math.ceil((launches - 1) / 2)]) / 2,
    low: sorted[rank],
    high: sorted[launches - 1 - rank],
    confidence: launches >= 12 ? 0.961426 : 0.75,
    n: launches,
  };
  const part = parameters.size_bytes ?? `${parameters.worker_kind}-${parameters.workers}`;
  const tail = own.name === "rtt" ? { percentiles: { rtt: percentiles(value) } } : {};
  return {
    row: { id: `${subject}/${pattern}/${part}/${placement}`, subject, pattern, definition_version: 1, standing, placement, ...parameters, metrics: [own] },
    outcome: { status: "measured" },
    metrics: [{ ...own, estimate, launches: values, blocks: values.map((_, block) => block) }],
    counters: {},
    flags: subject.startsWith("tcp") ? [{ flag: "two_modes", lower: 0.9 * value, upper: 1.6 * value, ratio: 1.8 }, { flag: "wide_interval", per_cent: 12 }] : [],
    ...tail,
  };
}

function percentiles(median) {
  const shape = [[0, 0.7], [10, 0.9], [25, 0.95], [50, 1], [75, 1.1], [90, 1.3], [95, 1.6], [99, 2.6], [99.9, 7], [99.99, 30], [100, 45]];
  return shape.map(([percent, factor]) => ({ percent, value_ns: Math.round(median * factor) }));
}

function run(id, results, command) {
  const launches = results[0].metrics[0].launches.length;
  return {
    schema_version: 1,
    headwater_version: "0.1.0",
    run_id: id,
    started_at: "2026-01-31T12:00:00Z",
    command,
    settings: { selection: ["ipc"], launches, time_s: 0.2, warm_up_s: 0.05, budget_s: 600, seed: 7, placements: ["same-cpu", "two-cpus"] },
    rows: results.map((result) => result.row),
    environment: environment(),
    clock_read_ns: 21,
    clock_resolution_ns: 1,
    status: "complete",
    environment_after: environment(),
    results,
  };
}

function environment() {
  return {
    host: "fixture",
    cpu: { model: "Model of a CPU", architecture: "x86_64", online: 2, affinity: [0, 1], threads_per_core: 1, mitigations: {}, cache_bytes: { L1d: 32768 } },
    kernel: { release: RELEASE, version: "#1 SMP" },
    memory: { total_bytes: 8589934592, available_bytes: 4294967296 },
    limits: { sysctl: {}, resource: {} },
    load: { average_1min: 0.1, pressure_some_avg10: {}, steal_since_boot: 0 },
    cgroup: {},
    clock: { current: "tsc" },
    tracing: {},
  };
}

/** Mulberry32: the same numbers on every machine. */
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
