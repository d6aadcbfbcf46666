// The value bar: statistics of the selected counter over the visible range, and its duration.

import { byId, setText, setTitle } from "./element.js";
import { duration, figure, lineFigure, NONE } from "./figures.js";
import { nameOf, withSource } from "./names.js";
import { state } from "./state.js";

/** Shows the statistics of `line` (or null) over `seconds`; `several` names its source. */
export function drawValueBar(line, seconds, several) {
  const statistics = line?.statistics ?? {};
  for (const name of ["last", "average", "minimum", "maximum"]) {
    const cell = byId(`value-${name}`);
    const value = statistics[name] ?? null;
    setText(cell, lineFigure(value, line));
    setTitle(cell, line && state.numbers !== "raw" ? figure(value, line.type) : "");
    cell.dataset.value = value ?? "";
  }
  setText(byId("value-duration"), duration(seconds));
  const unit = line?.unit && state.numbers === "raw" ? ` in ${line.unit}` : "";
  setText(byId("value-name"), line ? `${withSource(nameOf(line), line.source, several)}${unit}` : NONE);
  setTitle(byId("value-name"), line?.path ?? "");
  byId("value-arithmetic").hidden = line?.average_kind !== "arithmetic";
}
