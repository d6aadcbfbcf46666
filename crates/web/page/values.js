// The statistic that bars and reports show.

import { state } from "./state.js";

/** The statistics and their names in sentences. */
export const FIGURES = { last: "last value", average: "average", minimum: "minimum", maximum: "maximum", p50: "50th percentile", p90: "90th percentile", p95: "95th percentile", p99: "99th percentile" };
/** The statistics in the order of the legend's columns. */
export const LEGEND_FIGURES = ["average", "last", "minimum", "maximum", "p50", "p90", "p95", "p99"];
/** The statistics that the server computes only on request. */
export const PERCENTILES = ["p50", "p90", "p95", "p99"];

/** The name of the statistic that is shown for a line: by default the last value of live counters, and the average of logs. */
export function figureName(line) {
  if (state.figure !== "default") return state.figure;
  return (line.source.ofKind ?? line.source.kind) === "live" ? "last" : "average";
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
