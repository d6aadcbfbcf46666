// The report view: tables of figures, one per counter set of a machine, counters down and instances across.

import { element } from "./element.js";
import { figure } from "./figures.js";
import { entry, state } from "./state.js";
import { figureTitle, shownValue } from "./values.js";

const MOST_ACROSS = 24;

/** The sets in their order: `[{title, lines}]`. */
function setsOf(lines) {
  const sets = new Map();
  for (const line of lines) {
    const key = `${line.source.id} ${line.machine} ${line.set}`;
    if (!sets.has(key)) sets.set(key, { source: line.source, machine: line.machine, set: line.set, lines: [] });
    sets.get(key).lines.push(line);
  }
  return [...sets.values()];
}

const instanceOf = (line) => (line.parent ? `${line.parent}/${line.instance}` : (line.instance ?? ""));

/** Draws the view. `severalSources` names the source of each table. */
export function drawReport(place, lines, severalSources, onSelect) {
  const shown = lines.filter((line) => !entry(line.key).isHidden);
  const tables = setsOf(shown).flatMap((told) => {
    const instances = [...new Set(told.lines.map(instanceOf))];
    const counters = [...new Set(told.lines.map((line) => line.counter))];
    const found = new Map(told.lines.map((line) => [`${line.counter}\n${instanceOf(line)}`, line]));
    const unit = new Map(told.lines.map((line) => [line.counter, line.unit]));
    const caption = [severalSources ? told.source.name : null, told.machine ? `\\\\${told.machine}` : null, told.set].filter(Boolean).join("  ›  ");
    // Many instances go down, where there is room for them.
    const isDown = instances.length > MOST_ACROSS;
    const [across, down] = isDown ? [counters, instances] : [instances, counters];
    const cell = (row, column) => {
      const line = isDown ? found.get(`${column}\n${row}`) : found.get(`${row}\n${column}`);
      if (!line) return element("td", { class: "number" });
      const attributes = { class: line.key === state.selected ? "number selected" : "number", onclick: () => onSelect(line.key), title: line.path };
      return element("td", attributes, figure(shownValue(line), line.type));
    };
    const headed = (counter) => (unit.get(counter) ? [counter, " ", element("span", { class: "unit" }, unit.get(counter))] : [counter]);
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
  const kind = element("p", { class: "hint" }, shown.length ? `Shown: ${figureTitle(shown)} of the visible range.` : "No counters to report.");
  place.replaceChildren(kind, ...tables);
}
