// Numbers for a reader, by the same rules as crates/report/src/units.rs: three significant digits, a prefix, a unit.
// Prefixes of rates and durations are powers of 1000, those of message sizes powers of 1024.

/** The quantity of an axis or a value; decides prefix and unit. */
export type Quantity = "size" | "rate" | "seconds" | "bits" | "percent" | "gain" | "ratio" | "count" | "percentile" | "plain";

const SI: [scale: number, prefix: string][] = [
  [1, ""],
  [1e3, "k"],
  [1e6, "M"],
  [1e9, "G"],
  [1e12, "T"],
];

const SECONDS: [scale: number, unit: string][] = [
  [1e-9, "ns"],
  [1e-6, "µs"],
  [1e-3, "ms"],
  [1, "s"],
];

/** Between a number and its unit: they stay on one line. */
const GLUE = "\u00a0";

/** A value of one of the chart's quantities, with its unit. */
export function format(value: number, quantity: Quantity): string {
  switch (quantity) {
    case "size":
      return size(value);
    case "rate":
      return `${prefixed(value)}/s`;
    case "bits":
      return `${prefixed(value)}bit/s`;
    case "seconds":
      return scaled(value, SECONDS);
    case "percent":
      return `${signed(value)}${GLUE}%`;
    case "gain":
      return `${signed((value - 1) * 100)}${GLUE}%`;
    case "ratio":
      return `${value.toFixed(Math.abs(value) < 9.995 ? 2 : 1)}×`;
    case "percentile":
      return `${plain(value)}${GLUE}%`;
    case "count":
      return grouped(value);
    case "plain":
      return prefixed(value).trim();
  }
}

/** A value in the unit that its metric names. */
export function inUnit(value: number, unit: string): string {
  switch (unit) {
    case "messages/s":
    case "operations/s":
    case "1/s":
      return `${prefixed(value)}/s`;
    case "bytes/s":
      return `${prefixed(value)}B/s`;
    case "bits/s":
    case "bit/s":
      return `${prefixed(value)}bit/s`;
    case "ns":
      return scaled(value * 1e-9, SECONDS);
    case "us":
    case "µs":
      return scaled(value * 1e-6, SECONDS);
    case "ms":
      return scaled(value * 1e-3, SECONDS);
    case "s":
      return scaled(value, SECONDS);
    case "ratio":
      return `${significant(value * 100)}${GLUE}%`;
    default:
      return `${prefixed(value).trim()}${GLUE}${unit}`.trim();
  }
}

/** A message size: `64 B`, `4 KiB`, `1,500 B`. */
export function size(bytes: number): string {
  const names = ["B", "KiB", "MiB", "GiB"];
  let [count, unit] = [bytes, 0];
  while (count !== 0 && count % 1024 === 0 && unit < names.length - 1) [count, unit] = [count / 1024, unit + 1];
  if (!Number.isInteger(bytes) || (unit === 0 && bytes >= 10240)) {
    // A fitted size, or one that no unit divides.
    [count, unit] = [bytes, 0];
    while (count >= 1024 && unit < names.length - 1) [count, unit] = [count / 1024, unit + 1];
    return `${significant(count)}${GLUE}${names[unit]}`;
  }
  return `${grouped(count)}${GLUE}${names[unit]}`;
}

/** Three significant digits, or all digits before the point; never with an exponent. */
export function significant(value: number): string {
  const magnitude = Math.abs(value);
  if (magnitude === 0) return "0";
  if (magnitude < 0.01) return minus(value.toPrecision(2).includes("e") ? "0" : value.toPrecision(2));
  const decimals = magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0;
  return magnitude < 999.5 ? minus(value.toFixed(decimals)) : grouped(value);
}

/** A whole number with separated thousands. */
export function grouped(value: number): string {
  return minus(Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ","));
}

/** A share in percent with its sign: `+12.3`, `−4.50`. */
function signed(value: number): string {
  const text = significant(value);
  return value > 0 && text !== "0" ? `+${text}` : text;
}

/** Labels of an axis' ticks; on a linear axis all in one unit, with the decimals of their step. */
export function tickLabels(ticks: number[], quantity: Quantity, isLog: boolean): string[] {
  switch (quantity) {
    case "size":
      return ticks.map((tick) => (tick === 0 ? "0" : size(tick)));
    case "percentile":
      return ticks.map((tick) => `${plain(tick)}${GLUE}%`);
    case "ratio":
      return ticks.map((tick) => `${plain(tick)}×`);
    case "percent":
      return ticks.map(percentTick);
    case "gain":
      return ticks.map((tick) => percentTick((tick - 1) * 100));
    default: {
      const table = quantity === "seconds" ? SECONDS : SI;
      const largest = Math.max(...ticks.map(Math.abs));
      return ticks.map((tick) => {
        if (tick === 0) return "0";
        const [scale, unit] = largestOf(table, isLog ? tick : largest);
        return `${plain(tick / scale)}${GLUE}${unit}`.trim();
      });
    }
  }
}

function percentTick(percent: number): string {
  const value = Number(percent.toPrecision(6));
  const digits = Math.abs(value) >= 1000 ? grouped(value) : plain(value);
  return `${value > 0 ? "+" : ""}${digits}${GLUE}%`;
}

/** Digits as they are, without the noise of binary fractions. */
function plain(value: number): string {
  return minus(String(Number(value.toPrecision(10))));
}

/** `1.23 M`, or `12.0 ` with the glue that a unit follows. */
function prefixed(value: number): string {
  return scaled(value, SI);
}

function scaled(value: number, table: [number, string][]): string {
  const [scale, unit] = largestOf(table, value);
  return `${significant(value / scale)}${GLUE}${unit}`;
}

/** The largest unit of which the value, as it will be rounded, has at least one. */
function largestOf(table: [number, string][], value: number): [number, string] {
  const fitting = table.filter(([scale]) => Math.abs(value) >= scale * 0.9995);
  return fitting[fitting.length - 1] ?? (table[0] as [number, string]);
}

function minus(text: string): string {
  return text.replace(/^-/, "−");
}
