// The one figure that bars and reports show of a counter.

import { state } from "./state.js";

/** Which figure is in force for a line: "default" is the last value of live counters, and the average of logs. */
export function figureName(line) {
  if (state.figure !== "default") return state.figure;
  return line.source.kind === "live" ? "last" : "average";
}

/** That figure; null where there is none. */
export function shownValue(line) {
  return line.statistics?.[figureName(line)] ?? null;
}

/** What the figure is called over several lines. */
export function figureTitle(lines) {
  const names = new Set(lines.map(figureName));
  const words = { last: "last value", average: "average", minimum: "minimum", maximum: "maximum" };
  return [...names].map((name) => words[name]).join(" or ") || "value";
}
