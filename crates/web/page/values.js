// The statistic that bars and reports show.

import { state } from "./state.js";

/** The name of the statistic for a line: by default the last value of live counters, and the average of logs. */
export function figureName(line) {
  if (state.figure !== "default") return state.figure;
  return line.source.kind === "live" ? "last" : "average";
}

/** The value of that statistic, or null. */
export function shownValue(line) {
  return line.statistics?.[figureName(line)] ?? null;
}

/** The name of the statistic of several lines. */
export function figureTitle(lines) {
  const names = new Set(lines.map(figureName));
  const words = { last: "last value", average: "average", minimum: "minimum", maximum: "maximum" };
  return [...names].map((name) => words[name]).join(" or ") || "value";
}
