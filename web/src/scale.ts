// From values to places along an axis, and the ticks between: the same rules as crates/report/src/chart/scale.rs.

/** How values are spread along an axis. `percentile`: each further nine takes the same length. */
export type Spread = "linear" | "log" | "percentile";

export interface Scale {
  readonly spread: Spread;
  readonly domain: [low: number, high: number];
  /** The place of a value; not a number where the scale has none. */
  at(value: number): number;
}

/** A scale on which `low..high` takes the places `from..to`; an impossible range is widened, so that it can draw. */
export function makeScale(spread: Spread, domain: [number, number], range: [number, number]): Scale {
  const [low, high] = widened(spread, domain);
  const unroll = unrolled(spread);
  const [start, length] = [unroll(low), unroll(high) - unroll(low)];
  return {
    spread,
    domain: [low, high],
    at: (value) => range[0] + ((unroll(value) - start) / length) * (range[1] - range[0]),
  };
}

function unrolled(spread: Spread): (value: number) => number {
  switch (spread) {
    case "linear":
      return (value) => value;
    case "log":
      return (value) => (value > 0 ? Math.log10(value) : NaN);
    case "percentile":
      return (value) => -Math.log10(1 - value / 100);
  }
}

function widened(spread: Spread, [low, high]: [number, number]): [number, number] {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return spread === "percentile" ? [0, 99] : [1, 2];
  if (spread === "percentile") return [Math.min(low, 99), Math.min(Math.max(high, 50), 99.99999)];
  if (spread === "log") {
    const top = high > 0 ? high : 1;
    const bottom = low > 0 ? low : top / 10;
    return top / bottom < 1 + 1e-9 ? [bottom / 2, top * 2] : [bottom, top];
  }
  if (high - low > 1e-12 * Math.max(Math.abs(high), 1e-300)) return [low, high];
  const half = high === 0 ? 1 : Math.abs(high) / 2;
  return [low - half, high + half];
}

/** The range with round ends, so that the outermost ticks are the ends of a linear axis. */
export function rounded([low, high]: [number, number], count: number): [number, number] {
  const step = stepOfTen((high - low) / Math.max(count, 1));
  if (!(step > 0)) return [low, high];
  return [Math.floor(low / step + 1e-9) * step, Math.ceil(high / step - 1e-9) * step];
}

const PERCENTILES = [0, 50, 90, 99, 99.9, 99.99, 99.999];

/** Values with a tick, ascending, at most about `count`; for sizes at powers of two. */
export function ticksOf(scale: Scale, count: number, isBinary: boolean): number[] {
  const [low, high] = scale.domain;
  let ticks: number[];
  if (scale.spread === "percentile") ticks = PERCENTILES;
  else if (scale.spread === "log") ticks = isBinary ? powersOfTwo(low, high, count) : decades(low, high, count);
  else {
    const raw = (high - low) / Math.max(count, 1);
    ticks = multiples(low, high, isBinary ? stepOfTwo(raw) : stepOfTen(raw));
  }
  const slack = 1e-9 * Math.abs(high - low);
  return ticks.filter((tick) => tick >= low - slack && tick <= high + slack);
}

/** 1, 2 or 5 times a power of ten, at least `raw`. */
function stepOfTen(raw: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(Math.max(Math.abs(raw), 1e-300)));
  return ([1, 2, 5, 10].find((factor) => factor * magnitude >= raw * 0.999) ?? 10) * magnitude;
}

function stepOfTwo(raw: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(raw, 1)));
}

function multiples(low: number, high: number, step: number): number[] {
  const ticks: number[] = [];
  // The bound only protects against a step that is lost to rounding.
  for (let index = Math.ceil(low / step - 1e-9); ticks.length < 1000; index += 1) {
    const tick = Number((index * step).toPrecision(12));
    if (tick > high + step * 1e-9) break;
    ticks.push(tick === 0 ? 0 : tick);
  }
  return ticks;
}

function powersOfTwo(low: number, high: number, count: number): number[] {
  const first = Math.ceil(Math.log2(low) - 1e-9);
  const last = Math.floor(Math.log2(high) + 1e-9);
  // Steps of 1, 2, 4, 5 or 10 powers: 1 B, 32 B, 1 KiB, 32 KiB reads better than 1 B, 8 B, 64 B, 512 B, 4 KiB? Both do;
  // what matters is that the units themselves (2^10, 2^20) keep their ticks where they can.
  const needed = Math.max(Math.ceil((last - first + 1) / Math.max(count, 1)), 1);
  const every = [1, 2, 5, 10].find((step) => step >= needed) ?? 10;
  const ticks: number[] = [];
  for (let power = first; power <= last; power += 1) if (power % every === 0) ticks.push(2 ** power);
  return ticks.length > 1 ? ticks : [2 ** first, 2 ** last];
}

/** Decades, with 2 and 5 between where there is room, or every second or third where there is none. */
function decades(low: number, high: number, count: number): number[] {
  const span = Math.log10(high) - Math.log10(low);
  if (span < 0.7) return multiples(low, high, stepOfTen((high - low) / Math.max(count, 1)));
  const factors = span * 3 <= count ? [1, 2, 5] : [1];
  const every = Math.max(Math.floor(span / Math.max(count, 1)), 0) + 1;
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    if (power % every !== 0) continue;
    for (const factor of factors) ticks.push(Number((factor * 10 ** power).toPrecision(12)));
  }
  return ticks;
}
