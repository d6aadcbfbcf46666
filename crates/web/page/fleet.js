// The machines of the live source as a table: a row for each machine, one for all together, and their lines over time.

import * as api from "./api.js";
import { onMachine } from "./catalogue.js";
import { byId, element, setText } from "./element.js";
import { FleetChart } from "./fleet-chart.js";
import { count, lineFigure, NONE } from "./figures.js";
import { showError } from "./messages.js";
import { headlineOf, panelOf } from "./panels.js";
import { change } from "./state.js";

/** With at least this many machines, the page begins with the table, because more lines are hard to distinguish. */
const MANY = 8;
/** The number of machines whose lines are drawn. */
const LINES = 10;
/** The shortest time between two requests, in milliseconds. */
const MIN_MS = 1000;
/** The choices of the number of intervals over which values are averaged, by their text. */
const WINDOWS = { "last interval": 1, "last 10 intervals": 10, "last 60 intervals": 60 };

export class Fleet {
  /** `sources` are the sources of the page. */
  constructor({ sources }) {
    this.sources = sources;
    this.paths = null;
    Object.assign(this, { sort: 0, order: "descending", top: 50, filter: "", window: 1, generation: 0, isOpen: false });
    this.chart = new FleetChart(byId("fleet-chart"));
    byId("fleet-button").addEventListener("click", () => (this.isOpen ? this.close() : this.open()));
    byId("fleet-filter").addEventListener("input", (event) => this.set({ filter: event.target.value.trim() }));
    byId("fleet-top").addEventListener("change", (event) => this.set({ top: Math.max(1, Math.min(10_000, Math.round(Number(event.target.value)) || 50)) }));
    byId("fleet-window").replaceChildren(...Object.entries(WINDOWS).map(([name, value]) => element("option", { value }, name)));
    byId("fleet-window").addEventListener("change", (event) => this.set({ window: Number(event.target.value) }));
    byId("fleet-form").addEventListener("submit", (event) => this.addColumn(event));
  }

  source() {
    return this.sources.all.find((source) => source.kind === "live" && source.machines.length > 1) ?? null;
  }

  /** Shows the button if there are several machines. */
  sourcesChanged() {
    byId("fleet-button").hidden = !this.source();
  }

  /** Whether the page begins with the table, because there are many machines and no link that shows something else. */
  isFirst(fragment) {
    return !fragment && (this.source()?.machines.length ?? 0) >= MANY;
  }

  open() {
    const source = this.source();
    if (!source) return;
    this.paths ??= source.default_paths.slice(0, 8);
    this.show(true);
    this.run();
  }

  close() {
    this.show(false);
    this.generation += 1;
    this.requests?.abort();
    clearTimeout(this.timer);
  }

  show(isOpen) {
    this.isOpen = isOpen;
    byId("fleet").hidden = !isOpen;
    byId("content").classList.toggle("has-fleet", isOpen);
    byId("fleet-button").setAttribute("aria-pressed", String(isOpen));
  }

  set(parts) {
    Object.assign(this, parts);
    if (this.isOpen) this.run();
  }

  /** Polls the table until it is closed or its settings change. */
  async run() {
    const generation = (this.generation += 1);
    clearTimeout(this.timer);
    const source = this.source();
    if (!source) return this.close();
    // Responses to earlier requests are no longer wanted.
    this.requests?.abort();
    this.requests = new AbortController();
    const { signal } = this.requests;
    try {
      const { paths, sort, order, top, filter, window } = this;
      const column = Math.min(sort, paths.length - 1);
      const table = await api.fleet({ path: paths, sort: column, order, top, filter: filter || null, window }, signal);
      if (generation !== this.generation) return undefined;
      this.draw(table);
      await this.chart.update(source, table.columns[column].shown, table.rows.slice(0, LINES).map(({ machine }) => machine), signal);
      setText(byId("fleet-problem"), "");
    } catch (problem) {
      if (generation !== this.generation) return undefined;
      setText(byId("fleet-problem"), problem.message);
    }
    if (generation !== this.generation) return undefined;
    const wait = Math.max(MIN_MS, (source.interval ?? 1) * 1000) * (document.hidden ? 10 : 1);
    this.timer = setTimeout(() => this.run(), wait);
    return undefined;
  }

  draw({ columns, rows, machines, found, missing }) {
    const heads = columns.map((column, index) => this.head(column, index));
    byId("fleet-head").replaceChildren(element("th", { scope: "col" }, "Machine"), ...heads);
    const cell = (statistics, column) => element("td", { class: "number", "data-value": statistics?.average ?? "" }, statistics && column.format ? lineFigure(statistics.average, column) : NONE);
    const all = element("tr", { class: "fleet-all" }, element("th", { scope: "row", title: "The formula of the counter, applied to the sums over all machines" }, "All machines"), columns.map((column) => cell(column.all, column)));
    const row = ({ machine, statistics }) =>
      element(
        "tr",
        {},
        element("th", { scope: "row" }, element("button", { type: "button", class: "plain", title: `Show ${machine}`, onclick: () => this.openMachine(machine) }, machine)),
        columns.map((column, index) => cell(statistics[index], column)),
      );
    byId("fleet-body").replaceChildren(all, ...rows.map(row));
    const shown = rows.length < found ? `the first ${rows.length} of ${count(found, "machine")}` : count(found, "machine");
    setText(byId("fleet-state"), found < machines ? `${shown}, of ${machines}` : shown);
    setText(byId("fleet-missing"), missing.map(({ path, reason }) => `${path}: ${reason}`).join("; "));
  }

  head(column, index) {
    const isSorted = index === this.sort;
    const order = isSorted && this.order === "descending" ? "ascending" : "descending";
    const counter = column.counter ?? column.path.slice(column.path.lastIndexOf("\\") + 1);
    const title = column.instance === null ? counter : `${counter} (${column.instance})`;
    return element(
      "th",
      { scope: "col", class: "number", "aria-sort": isSorted ? this.order : "none" },
      element("button", { type: "button", class: "plain", title: `${column.path}: sort`, onclick: () => this.set({ sort: index, order }) }, title),
      this.paths.length > 1 && element("button", { type: "button", class: "plain fleet-remove", "aria-label": `Remove ${title}`, onclick: () => this.removeColumn(index) }, "×"),
    );
  }

  removeColumn(index) {
    this.set({ paths: this.paths.filter((_, other) => other !== index), sort: this.sort > index ? this.sort - 1 : Math.min(this.sort, this.paths.length - 2) });
  }

  addColumn(event) {
    event.preventDefault();
    const field = byId("fleet-path");
    const path = field.value.trim();
    if (!path.startsWith("\\")) return setText(byId("fleet-problem"), "A counter path begins with \\, for example \\Memory\\Available Bytes.");
    if (!this.paths.includes(path)) this.set({ paths: [...this.paths, path], sort: this.paths.length, order: "descending" });
    field.value = "";
    return undefined;
  }

  /** Shows the overview of one machine. */
  async openMachine(machine) {
    const source = this.source();
    try {
      const view = await api.view("overview", source.id);
      const onThis = (path) => onMachine(machine, path);
      const panels = view.panels.map((panel) =>
        panelOf({
          ...panel,
          id: null,
          counters: (panel.counters ?? []).map((counter) => ({ ...counter, path: onThis(counter.path), or: [], except: (counter.except ?? []).map(onThis) })),
          table: panel.table ? { ...panel.table, machine } : null,
        }),
      );
      this.close();
      change({ panels, headline: headlineOf(view.headline).map((counter) => ({ ...counter, path: onThis(counter.path) })), sources: [source.id], title: machine, savedName: null, isChanged: false, viewName: null, open: null, removed: new Set(), legend: new Map(), selected: null, range: null, frozen: null });
    } catch (problem) {
      showError(problem);
    }
  }
}
