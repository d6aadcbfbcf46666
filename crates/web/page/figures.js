// Formatting numbers and durations; the statistic that bars and reports show.

import { state } from "./state.js";
import { valueText } from "./units.js";

// Ties are rounded to even, as in Rust, so that the page, the terminal monitor and `tacho stats` show the same digits.
const threeDecimals = new Intl.NumberFormat("en-US", {
  minimumFractionDigits: 3,
  maximumFractionDigits: 3,
  roundingMode: "halfEven",
});
const short = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 4 });

/** The text of a missing value, which is not zero. */
export const NONE = "---";

/**
 * Three decimals with digit grouping: `5,309.189`; more decimals if three would be 0; `---` for a missing value; hexadecimal
 * for hexadecimal types. The same as in the terminal monitor.
 */
export function figure(value, type = "") {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  const size = Math.abs(value);
  if (type?.endsWith("_HEX") && Number.isInteger(value)) return `0x${value.toString(16)}`;
  if (size !== 0 && (size >= 1e15 || size < 1e-6)) return value.toExponential(3).replace("e+", "e");
  if (size !== 0 && size < 0.0005) return value.toFixed(2 + Math.ceil(-Math.log10(size)));
  return threeDecimals.format(value);
}

/** The text of a counter's value: with its unit, or with all digits if the user chose raw numbers. */
export function lineFigure(value, line) {
  if (state.numbers === "raw" || !line?.format) return figure(value, line?.type);
  return value === null || value === undefined || !Number.isFinite(value) ? NONE : valueText(value, line.format);
}

/** A number on an axis, with as few digits as distinguish the steps. */
export function axisFigure(value, step) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e9 || size < 1e-4) return value.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e");
  const decimals = Math.max(0, Math.min(9, -Math.floor(Math.log10(step || size) + 1e-9)));
  return value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

/** The units of durations, in seconds. */
const LENGTHS = [["d", 86_400], ["h", 3600], ["min", 60], ["s", 1]];

/** A duration in seconds: `20 s`, `1 h 23 min 45 s`, `1 d 23 h 59 min`; rounded down to seconds, and from a day on to minutes. */
export function duration(seconds) {
  if (seconds === null || !Number.isFinite(seconds) || seconds < 0) return NONE;
  let rest = Math.floor(seconds + 1e-7);
  if (rest < 1) return seconds >= 0.0005 ? `${Number(seconds.toFixed(3))} s` : "0 s";
  if (rest >= 86_400) rest -= rest % 60;
  const parts = [];
  for (const [unit, length] of LENGTHS) {
    if (rest >= length) parts.push(`${Math.floor(rest / length)} ${unit}`);
    rest %= length;
  }
  return parts.join(" ");
}

/** The length of an interval with three digits, in the largest unit that it reaches: `30 s`, `5.62 min`. */
export function span(seconds) {
  const [unit, length] = LENGTHS.find(([, size]) => seconds >= size * (1 - 1e-6)) ?? LENGTHS.at(-1);
  return `${Number((seconds / length).toPrecision(3))} ${unit}`;
}

/** A size of a file: `393 kB`. */
export function fileSize(bytes) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  let size = bytes;
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${short.format(size)} ${units[unit]}`;
}

/** `1 counter`, `2 counters`. */
export function count(number, noun) {
  return `${number.toLocaleString("en-US")} ${noun}${number === 1 ? "" : "s"}`;
}

/** The relative change from one value to another in percent: `+12.3 %`; empty if either value is missing, or the first one is 0. */
export function changeText(now, before) {
  if (now === null || !before) return "";
  const change = (now - before) / Math.abs(before);
  const size = Math.abs(change) * 100;
  return `${change < 0 ? "−" : "+"}${size >= 999.5 ? `${Math.round(size).toLocaleString("en-US")}` : size.toPrecision(3)} %`;
}

/** The statistics and their names in sentences. */
export const FIGURES = { last: "last value", average: "average", minimum: "minimum", maximum: "maximum", p50: "50th percentile", p90: "90th percentile", p95: "95th percentile", p99: "99th percentile" };
/** The statistics in the order of the legend's columns. */
export const LEGEND_FIGURES = ["average", "last", "minimum", "maximum", "p50", "p90", "p95", "p99"];
/** The statistics that the server computes only on request. */
export const PERCENTILES = ["p50", "p90", "p95", "p99"];

/** The name of the statistic that is shown for a line: by default the last value of live counters, and the average of logs. */
export function figureName(line) {
  if (state.figure !== "default") return state.figure;
  return (line.source.originalKind ?? line.source.kind) === "live" ? "last" : "average";
}

/** A statistic of a line: one that all series have, or a percentile, if it is loaded; otherwise null. */
export const figureOf = (line, name) => line.statistics?.[name] ?? line.percentiles?.[name] ?? null;

/** The value that is shown for a line, or null. */
export function shownValue(line) {
  return figureOf(line, figureName(line));
}

/** The name of the statistic of several lines. */
export function figureTitle(lines) {
  const names = new Set(lines.map(figureName));
  return [...names].map((name) => FIGURES[name]).join(" or ") || "value";
}
