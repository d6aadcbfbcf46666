// The machines of the live source as a table: a row for each machine, one for all together, and their lines over time.

import * as api from "./api.js";
import { onMachine } from "./catalogue.js";
import { byId, element, setText } from "./element.js";
import { axisFigure, count, lineFigure, NONE } from "./figures.js";
import { showError } from "./messages.js";
import { highlightColour, lineStyle } from "./palette.js";
import { headlineOf, panelOf } from "./panels.js";
import { withoutMachine } from "./paths.js";
import { change } from "./state.js";
import { colour, theme } from "./theme.js";

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

/** The minified uPlot is not a module, so a script before this one defines it. */
const { uPlot } = globalThis;
/** The time that the chart covers, in seconds. */
const SPAN = 300;
const COLUMNS = 300;
const HEIGHT = 180;

/** A chart of one counter: a line for each of some machines, and a line for all machines together. */
class FleetChart {
  constructor(place) {
    this.place = place;
    this.plot = null;
  }

  /** Loads and draws the lines of a path: the sum of its instances on each of these machines, and on all machines together. Draws nothing
   * if the signal is aborted. */
  async update(source, path, machines, signal) {
    const now = await api.source(source.id, signal);
    if (!now.end) return;
    const end = Date.parse(now.end) / 1000;
    const begin = end - SPAN;
    const request = { begin: String(begin), end: null, columns: COLUMNS };
    const own = machines.map((machine) => onMachine(machine, withoutMachine(path)));
    const [single, merged] = await Promise.all([
      own.length ? api.seriesWithin(source.id, { ...request, paths: own, group_by: "machine" }, signal) : { times: [], series: [] },
      api.seriesWithin(source.id, { ...request, paths: [path], group_by: "machine", across: "machines" }, signal),
    ]);
    if (signal.aborted) return;
    this.draw([...single.series.map((line) => ({ line, times: single.times, name: line.machine })), ...merged.series.map((line) => ({ line, times: merged.times, name: "All machines", isAll: true }))]);
  }

  draw(lines) {
    const now = theme();
    const times = [...new Set(lines.flatMap((one) => one.times))].sort((one, other) => one - other);
    const columns = lines.map(({ line, times: own }) => {
      const known = new Map(own.map((time, index) => [time, line.average[index]]));
      return times.map((time) => (known.has(time) ? known.get(time) : undefined));
    });
    const styles = lines.map(({ isAll }, index) => (isAll ? { colour: highlightColour(now), dash: [], width: 3 } : lineStyle(index, now)));
    const shape = JSON.stringify([now, lines.map(({ name, line }) => [name, line.path])]);
    if (shape !== this.shape) this.build(shape, lines, styles);
    this.plot.setData([times, ...columns]);
    lines.forEach(({ line }, index) => setText(this.values[index], lineFigure(line.average.at(-1), line)));
  }

  build(shape, lines, styles) {
    this.shape = shape;
    this.plot?.destroy();
    const grid = { stroke: colour("grid"), width: 1 };
    const format = lines.at(-1)?.line;
    const axis = { stroke: colour("ink-soft"), grid, ticks: grid };
    const values = (_, ticks) => ticks.map((tick) => (format ? lineFigure(tick, format) : axisFigure(tick, ticks[1] - ticks[0])));
    const series = lines.map((_, index) => ({ stroke: styles[index].colour, width: styles[index].width, dash: styles[index].dash, points: { show: false } }));
    const chart = element("div", { class: "fleet-plot" });
    this.values = lines.map(() => element("span", { class: "legend-value" }));
    const legend = lines.map(({ name }, index) => {
      const swatch = element("span", { class: "fleet-swatch", "aria-hidden": "true" });
      swatch.style.background = styles[index].colour;
      return element("span", { class: "fleet-line" }, swatch, name, " ", this.values[index]);
    });
    this.place.replaceChildren(chart, element("p", { class: "fleet-legend" }, legend));
    this.plot = new uPlot(
      { width: Math.max(200, this.place.clientWidth), height: HEIGHT, legend: { show: false }, cursor: { drag: { x: false, y: false } }, axes: [axis, { ...axis, values, size: 80 }], series: [{}, ...series] },
      [[], ...lines.map(() => [])],
      chart,
    );
  }
}
