// Numbers: the report of all counters, and the value bar of the selected one.

import { byId, element, setText, setTitle } from "./element.js";
import { duration, figure, figureTitle, lineFigure, NONE, shownValue } from "./figures.js";
import { instanceOf, nameOf, withSource } from "./names.js";
import { entry, state } from "./state.js";

const MAX_ACROSS = 24;

/** The sets in order, each with its lines. */
function setsOf(lines) {
  const sets = new Map();
  for (const line of lines) {
    const key = `${line.source.id} ${line.machine} ${line.set}`;
    if (!sets.has(key)) sets.set(key, { source: line.source, machine: line.machine, set: line.set, lines: [] });
    sets.get(key).lines.push(line);
  }
  return [...sets.values()];
}

const nameIn = (line) => instanceOf(line) ?? "";

/** Draws the view. If `severalSources`, each table names its source. */
export function drawReport(place, lines, severalSources, onSelect) {
  const shown = lines.filter((line) => !entry(line.key).isHidden);
  const tables = setsOf(shown).flatMap((set) => {
    const instances = [...new Set(set.lines.map(nameIn))];
    const counters = [...new Set(set.lines.map((line) => line.counter))];
    const found = new Map(set.lines.map((line) => [`${line.counter}\n${nameIn(line)}`, line]));
    const unit = new Map(set.lines.map((line) => [line.counter, line.unit]));
    const caption = [severalSources ? set.source.name : null, set.machine ? `\\\\${set.machine}` : null, set.set].filter(Boolean).join("  ›  ");
    // Many instances become rows.
    const isDown = instances.length > MAX_ACROSS;
    const [across, down] = isDown ? [counters, instances] : [instances, counters];
    const cell = (row, column) => {
      const line = isDown ? found.get(`${column}\n${row}`) : found.get(`${row}\n${column}`);
      if (!line) return element("td", { class: "number" });
      const attributes = { class: line.key === state.selected ? "number selected" : "number", onclick: () => onSelect(line.key), title: line.path };
      return element("td", { ...attributes, "data-value": shownValue(line) ?? "" }, lineFigure(shownValue(line), line));
    };
    const headed = (counter) => (unit.get(counter) && !counter.includes(unit.get(counter)) ? [counter, " ", element("span", { class: "unit" }, unit.get(counter))] : [counter]);
    const isPlain = across.length === 1 && across[0] === "";
    const head = element(
      "thead",
      {},
      element(
        "tr",
        {},
        element("th", { scope: "col" }, isDown ? "Instance" : "Counter"),
        across.map((name) => element("th", { scope: "col", class: "number" }, isDown ? headed(name) : isPlain ? "Value" : name)),
      ),
    );
    const rows = down.map((name) =>
      element("tr", {}, element("th", { scope: "row" }, isDown ? name : headed(name)), across.map((column) => cell(name, column))),
    );
    return [element("table", { class: "report" }, element("caption", {}, caption), head, element("tbody", {}, rows))];
  });
  const kind = element("p", { class: "hint" }, shown.length ? `Shown: ${figureTitle(shown)} of the visible range.` : "No counters to show.");
  place.replaceChildren(kind, ...tables);
}

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
