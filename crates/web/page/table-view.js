// A table panel: rows are instances, columns are counters. Sorted, filtered and limited by users.

import { element, setText } from "./element.js";
import { lineFigure, NONE } from "./figures.js";
import { withPanel } from "./panels.js";
import { change, state } from "./state.js";
import { arranged, valueOf } from "./tables.js";
import { figureTitle } from "./values.js";

/** More rows are not drawn; the filter finds the others. */
const MAX_ROWS = 500;

/** The table in an element. */
export class TableView {
  constructor(place) {
    this.place = place;
    this.shape = "";
  }

  settings(panel, parts) {
    change({ panels: withPanel(state.panels, panel.id, { table: { ...panel.table, ...parts } }), viewName: null });
  }

  sortBy(panel, column) {
    const { table } = panel;
    const isSame = table.sort === column.title;
    this.settings(panel, { sort: column.title, is_descending: isSame ? !table.is_descending : Boolean(column.counter) });
  }

  /** Draws `rows` of the loader; undefined while they are loaded. */
  draw(panel, rows) {
    const { table } = panel;
    const shape = JSON.stringify([panel.id, table.columns.map(({ title }) => title)]);
    if (shape !== this.shape) this.build(panel, shape);
    this.panel = panel;
    if (document.activeElement !== this.filter) this.filter.value = table.filter;
    if (document.activeElement !== this.top) this.top.value = table.top ?? "";
    table.columns.forEach((column, index) => this.heads[index].setAttribute("aria-sort", column.title === table.sort ? (table.is_descending ? "descending" : "ascending") : "none"));
    const { rows: shown, total } = arranged(rows ?? [], table);
    const lines = shown.length ? [...shown[0].lines.values()] : [];
    setText(this.state, rows ? `${Math.min(shown.length, MAX_ROWS)} of ${total}${lines.length ? `, ${figureTitle(lines)}` : ""}` : "Reading…");
    const several = new Set(shown.map(({ source }) => source.id)).size > 1;
    this.body.replaceChildren(...shown.slice(0, MAX_ROWS).map((row) => this.row(row, table, several)));
  }

  row(row, table, several) {
    const cells = table.columns.map((column) => {
      const value = valueOf(row, column);
      if (!column.counter) return element("th", { scope: "row", title: row.name }, several ? `${row.name} · ${row.source.name}` : row.name);
      const line = row.lines.get(column.counter.toLowerCase());
      return element("td", { class: "number", "data-value": value ?? "" }, line ? lineFigure(value, line) : NONE);
    });
    return element("tr", { class: row.isReserved ? "reserved" : null }, cells);
  }

  build(panel, shape) {
    this.shape = shape;
    this.filter = element("input", { type: "search", class: "table-filter", placeholder: "Filter", "aria-label": "Rows that contain these words", oninput: (event) => this.settings(this.panel, { filter: event.target.value }) });
    this.top = element("input", { type: "number", class: "table-top", min: 1, max: 100_000, placeholder: "all", "aria-label": "Number of rows", onchange: (event) => this.settings(this.panel, { top: Math.max(0, Math.round(Number(event.target.value))) || null }) });
    this.state = element("span", { class: "hint" });
    this.heads = panel.table.columns.map((column) =>
      element("th", { scope: "col", class: column.counter ? "number" : null }, element("button", { type: "button", class: "plain", title: column.counter ?? "Instance", onclick: () => this.sortBy(this.panel, column) }, column.title)),
    );
    this.body = element("tbody");
    const scrolled = element("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": `Rows of ${panel.table.set}` }, element("table", { class: "instances" }, element("thead", {}, element("tr", {}, this.heads)), this.body));
    this.place.replaceChildren(element("div", { class: "table-controls" }, this.filter, element("label", { class: "hint" }, "Top ", this.top), this.state), scrolled);
  }
}
