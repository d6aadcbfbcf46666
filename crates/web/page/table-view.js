// A table panel: rows are instances, columns are counters. Sorted, filtered and limited by users.

import { onMachine } from "./catalogue.js";
import { element, setText } from "./element.js";
import { figureTitle, lineFigure, NONE } from "./figures.js";
import { areSeveral, withSource } from "./names.js";
import { PROPERTIES, TREES, withPanel } from "./panels.js";
import { change, state } from "./state.js";
import { arranged, needsPresence, sortValue, valueOf } from "./tables.js";

/** The maximum number of rows; users find other rows with the filter. */
const MAX_ROWS = 500;

/** The share of the time range in which an instance had values. */
const PRESENCE = { title: "PRESENT %", isPresence: true };
const isName = ({ counter, property, isPresence, of }) => !counter && !property && !isPresence && !of;
/** Tables that are narrower than this, in pixels, begin with the name. */
const NARROW = 520;

/** The counter column by which a table is sorted, or else its first one. */
function mainColumn({ columns, sort }) {
  const counters = columns.filter(({ counter, is_last: isLast }) => counter && !isLast);
  return counters.find(({ title }) => title === sort) ?? counters[0] ?? null;
}

/** The order of the columns of a narrow table. */
const rankOf = (column, main) => (isName(column) ? 0 : column === main || column.of ? 1 : 2);

/** Explanations of rows that are not processes. */
const EXPLAINED = {
  _exited: "Time of processes that ended between two samples",
  _unattributed: "Processor time that the kernel attributes to no process",
};

/** Whether a row is counted: sums and the time of ended processes are not. */
const isCounted = (row) => !row.isReserved && !EXPLAINED[row.name.toLowerCase()];

/** The longest name, in characters. */
const MAX_NAME = 40;

/** A long name without its middle, because the ends of the paths of control groups distinguish them. */
const shortened = (name) => (name.length > MAX_NAME ? `${name.slice(0, 12)}…${name.slice(13 - MAX_NAME)}` : name);

/** The table in an element. */
export class TableView {
  /** `onChart(path)` shows a counter of a row as a chart. */
  constructor(place, onChart) {
    this.place = place;
    this.onChart = onChart;
    this.shape = "";
    /** Whether the table is wider than its place. */
    this.isWide = false;
  }

  settings(panel, parts) {
    change({ panels: withPanel(state.panels, panel.id, { table: { ...panel.table, ...parts } }), viewName: null });
  }

  sortBy(panel, column) {
    const { table } = panel;
    const isSame = table.sort === column.title;
    this.settings(panel, { sort: column.title, is_descending: isSame ? !table.is_descending : Boolean(column.counter) });
  }

  /** Adds or removes the column of a property. */
  toggleProperty(panel, property) {
    const { columns } = panel.table;
    const rest = columns.filter((column) => column.property !== property);
    this.settings(panel, { columns: rest.length < columns.length ? rest : [...columns, { title: property.toUpperCase(), counter: null, property, is_last: false }] });
  }

  /** Draws `rows` of the loader; undefined while they are loaded. */
  draw(panel, rows) {
    const { table } = panel;
    // Logs have no properties of processes.
    const hasProperties = Boolean(table.process && (rows ?? []).some(({ source }) => source.kind === "live"));
    const columns = table.columns.filter(({ property }) => !property || hasProperties);
    if (needsPresence(rows ?? [])) columns.splice(columns.findIndex(isName) > 0 ? columns.findIndex(isName) : columns.length, 0, PRESENCE);
    // The averages by which rows are sorted are beside the others.
    const sorted = columns.findIndex(({ title, counter, is_last: isLast }) => title === table.sort && counter && !isLast);
    if (columns.includes(PRESENCE) && sorted >= 0) columns.splice(sorted + 1, 0, { title: "× PRESENT", of: columns[sorted], help: "The average over the whole time range, in which the instance counts as 0 while it did not exist" });
    const main = mainColumn({ ...table, columns });
    // On narrow screens, the name is first, and then the counter that matters. So it is if names at the end were outside.
    if (this.isWide || this.place.clientWidth < NARROW) columns.sort((one, other) => rankOf(one, main) - rankOf(other, main));
    const shape = JSON.stringify([panel.id, columns.map(({ title }) => title), hasProperties]);
    if (shape !== this.shape) this.build(panel, columns, hasProperties, shape);
    this.panel = panel;
    this.tree.value = table.tree;
    for (const box of this.choices.querySelectorAll("input")) box.checked = table.columns.some(({ property }) => property === box.value);
    if (document.activeElement !== this.filter) this.filter.value = table.filter;
    if (document.activeElement !== this.top) this.top.value = table.top ?? "";
    const isWeighted = columns.some(({ of }) => of);
    columns.forEach((column, index) => {
      const isSorted = isWeighted ? Boolean(column.of) : column.title === table.sort;
      this.heads[index].setAttribute("aria-sort", isSorted ? (table.is_descending ? "descending" : "ascending") : "none");
    });
    const { lines, found } = arranged(rows ?? [], table);
    const total = found.filter(isCounted).length;
    const shown = lines.slice(0, MAX_ROWS);
    const first = shown.find(({ row }) => row)?.row;
    const areCounted = shown.filter(({ row, isContext }) => row && !isContext && isCounted(row)).length;
    setText(this.state, rows ? `${areCounted} of ${total}${first ? `, ${figureTitle([...first.lines.values()])}` : ""}` : "Reading…");
    const several = areSeveral(rows ?? []);
    const heading = ({ group, count }) => element("tr", { class: "group" }, element("th", { scope: "rowgroup", colspan: columns.length }, `${group} (${count})`));
    const focused = this.body.contains(document.activeElement) ? document.activeElement.dataset.path : null;
    this.body.replaceChildren(...shown.map((line) => (line.row ? this.row(line, columns, several) : heading(line))));
    if (!this.isWide && isName(columns.at(-1)) && this.scrolled.scrollWidth > this.scrolled.clientWidth) {
      this.isWide = true;
      this.draw(panel, rows);
    }
    // The rows of live tables are replaced at each update.
    if (focused) this.body.querySelector(`[data-path="${CSS.escape(focused)}"]`)?.focus();
  }

  row({ row, depth, isContext }, columns, several) {
    const cells = columns.map((column) => {
      if (column.isPresence) return element("td", { class: "number", "data-value": row.present }, String(Math.round(row.present * 100)));
      const value = column.of ? sortValue(row, column.of) : valueOf(row, column);
      if (column.property) return element("td", { class: "property", title: value ?? null }, value ?? NONE);
      if (isName(column)) {
        const name = withSource(shortened(row.name), row.source, several);
        const counter = this.chartCounter(columns);
        const shown = counter && !row.isReserved && this.onChart ? element("button", { type: "button", class: "plain instance-name", title: `${EXPLAINED[row.name.toLowerCase()] ?? row.name}\nA click shows ${counter} as a chart`, "data-path": this.pathOf(row, counter) }, name) : name;
        return element("th", { scope: "row", title: EXPLAINED[row.name.toLowerCase()] ?? row.name, "data-depth": depth || null }, depth ? element("span", { class: "indent", "aria-hidden": "true" }, `${"  ".repeat(Math.min(depth, 20) - 1)}└ `) : null, shown);
      }
      const line = row.lines.get((column.of ?? column).counter.toLowerCase());
      return element("td", { class: "number", "data-value": value ?? "" }, line ? lineFigure(value, line) : NONE);
    });
    return element("tr", { class: [row.isReserved ? "reserved" : "", isContext ? "context" : ""].join(" ").trim() || null }, cells);
  }

  /** The counter by which the table is sorted, or else its first one. */
  chartCounter(columns) {
    return mainColumn({ ...this.panel.table, columns })?.counter ?? null;
  }

  /** The path of a counter of a row. */
  pathOf(row, counter) {
    const { machine, set } = this.panel.table;
    return onMachine(machine, `\\${set}(${row.name})\\${counter}`);
  }

  build(panel, columns, hasProperties, shape) {
    this.shape = shape;
    const trees = Object.entries(TREES).filter(([tree]) => tree === "none" || (tree === "parent" ? panel.table.parent || panel.table.set === "Cgroup" : hasProperties));
    this.tree = element("select", { class: "table-tree", "aria-label": "Order of rows", hidden: trees.length < 2, onchange: (event) => this.settings(this.panel, { tree: event.target.value }) }, trees.map(([tree, words]) => element("option", { value: tree }, words)));
    this.choices = element("fieldset", { class: "choices", hidden: !hasProperties }, element("legend", { class: "visually-hidden" }, "Columns with properties"));
    this.choices.append(...Object.keys(PROPERTIES).map((property) => element("label", { class: "hint" }, element("input", { type: "checkbox", value: property, onchange: () => this.toggleProperty(this.panel, property) }), property)));
    this.filter = element("input", { type: "search", class: "table-filter", placeholder: "Filter", "aria-label": "Rows that contain these words", oninput: (event) => this.settings(this.panel, { filter: event.target.value }) });
    this.top = element("input", { type: "number", class: "table-top", min: 1, max: 100_000, placeholder: "all", "aria-label": "Number of rows", onchange: (event) => this.settings(this.panel, { top: Math.max(0, Math.round(Number(event.target.value))) || null }) });
    this.state = element("span", { class: "hint" });
    this.heads = columns.map((column) =>
      element("th", { scope: "col", class: column.counter || column.isPresence || column.of ? "number" : null }, column.isPresence ? element("span", { class: "hint", title: "How much of the time range the instance existed; averages cover only that time, and are multiplied by it for sorting" }, column.title) : element("button", { type: "button", class: "plain", title: [column.of ? "" : (column.counter ?? column.property ?? "Instance"), column.help].filter(Boolean).join("\n"), onclick: () => this.sortBy(this.panel, column.of ?? column) }, column.title)),
    );
    // A row can be replaced while the button is pressed.
    let pressed = null;
    const pathAt = (event) => event.target.closest?.("[data-path]")?.dataset.path ?? null;
    const press = (event) => (pressed = { path: pathAt(event), x: event.clientX, y: event.clientY });
    const click = (event) => {
      const isSame = pressed && Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) < 5;
      const path = event.detail ? isSame && pressed.path : pathAt(event);
      if (path) this.onChart(path);
    };
    this.body = element("tbody", { onpointerdown: press, onclick: click });
    this.scrolled = element("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": `Rows of ${panel.table.set}` }, element("table", { class: "instances" }, element("thead", {}, element("tr", {}, this.heads)), this.body));
    this.place.replaceChildren(element("div", { class: "table-controls" }, this.filter, element("label", { class: "hint" }, "Top ", this.top), this.tree, this.choices, this.state), this.scrolled);
  }
}
