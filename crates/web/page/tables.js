// The values of table panels: per instance of a set its counters, from statistics that the server computes over the visible range.

import * as api from "./api.js";
import { onMachine } from "./catalogue.js";
import { figureName } from "./values.js";
import { state } from "./state.js";

/** The time between two updates of live tables, in milliseconds; a slower collection takes precedence. */
const UPDATE_MS = 1000;
/** Rows that are no instances of their own: they are not ranked. */
const RESERVED = new Set(["_total", "idle"]);

/** Loads the values of the table panels of the visible range. */
export class TableLoader {
  constructor({ sources, loader, onData, onProblem }) {
    Object.assign(this, { sources, loader, onData, onProblem });
    /** The loaded rows and their columns, by panel: `{columns, rows}`. */
    this.loaded = new Map();
    this.loading = new Map();
    setInterval(() => this.loader.isRunning() && !document.hidden && this.update(), UPDATE_MS);
  }

  panels() {
    return state.panels.filter((panel) => panel.kind === "table" && panel.table && (state.open === null || state.open === panel.id));
  }

  /** The rows of a panel; undefined while they are loaded. */
  rowsFor(panel) {
    const loaded = this.loaded.get(panel.id);
    return loaded && panel.table && loaded.columns === JSON.stringify(pathsOf(panel)) ? loaded.rows : undefined;
  }

  /** The request for a panel. `range` names what it shows: running live values are one range, of which `key` is one moment. */
  requestFor(panel) {
    const paths = pathsOf(panel);
    const sources = this.sources.shown();
    const isRunning = this.loader.isRunning();
    const isMoving = (source) => source.kind === "live" && isRunning;
    const bounds = sources.map((source) => (isMoving(source) && !this.loader.feed.block ? { begin: null, end: null } : this.loader.boundsOf(source)));
    const ranges = sources.map((source, index) => [source.id, isMoving(source) ? [state.every, state.points] : bounds[index]]);
    const key = JSON.stringify([paths, sources.map(({ id }) => id), bounds, isRunning ? Math.floor(Date.now() / UPDATE_MS) : 0]);
    return { key, range: JSON.stringify([paths, ranges]), paths, sources, bounds, isDone: false };
  }

  /** Loads what changed: the range, the columns, or live values. One request per panel at a time. */
  update() {
    for (const id of this.loaded.keys()) if (!state.panels.some((panel) => panel.id === id)) this.loaded.delete(id);
    for (const panel of this.panels()) {
      const request = this.requestFor(panel);
      const known = this.loading.get(panel.id);
      if (!request.paths.length || known?.key === request.key || (known && !known.isDone)) continue;
      this.load(panel, request);
    }
  }

  async load(panel, request) {
    const { paths, sources, bounds } = request;
    this.loading.set(panel.id, request);
    // The range can have changed meanwhile; then another request follows.
    const isPresent = () => {
      const now = this.panels().find(({ id }) => id === panel.id);
      return now !== undefined && this.requestFor(now).range === request.range;
    };
    const show = (rows) => this.loaded.set(panel.id, { columns: JSON.stringify(paths), rows });
    try {
      const answers = await Promise.all(sources.map((source, index) => api.series(source.id, { paths, ...bounds[index], columns: 1 })));
      if (isPresent()) {
        show(answers.flatMap((answer, index) => rowsOf(sources[index], answer)));
        this.onData();
      }
    } catch (problem) {
      if (isPresent()) {
        show([]);
        // When the server responds again, the same request is sent again.
        if (!problem.status) request.key = null;
        this.onData();
      }
      if (problem.status) this.onProblem(problem);
    } finally {
      request.isDone = true;
      if (!isPresent()) this.update();
    }
  }
}

/** The paths of the columns of a table. */
function pathsOf(panel) {
  const counters = panel.table.columns.map(({ counter }) => counter).filter(Boolean);
  return counters.map((counter) => onMachine(panel.table.machine, `\\${panel.table.set}(*)\\${counter}`));
}

/** A row per instance of a machine: `{name, source, machine, lines}` with its lines by counter. */
function rowsOf(source, { series }) {
  const rows = new Map();
  for (const line of series) {
    const name = line.parent ? `${line.parent}/${line.instance}` : (line.instance ?? "");
    const key = `${line.machine} ${name}`;
    if (!rows.has(key)) rows.set(key, { name, source, machine: line.machine, isReserved: RESERVED.has((line.instance ?? "").toLowerCase()), lines: new Map() });
    rows.get(key).lines.set(line.counter.toLowerCase(), { ...line, source });
  }
  return [...rows.values()];
}

/** The value of a row in a column: the name, or a statistic. Identifiers have no average. */
export function valueOf(row, { counter, is_last: isLast }) {
  if (!counter) return row.name;
  const line = row.lines.get(counter.toLowerCase());
  if (!line) return null;
  return line.statistics?.[isLast ? "last" : figureName(line)] ?? null;
}

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** The rows of a table in its order, filtered and limited: `{rows, total}`. */
export function arranged(rows, { columns, sort, is_descending: isDescending, top, filter }) {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const ids = columns.filter(({ is_last: isLast }) => isLast);
  const textOf = (row) => `${row.name} ${ids.map((column) => valueOf(row, column) ?? "").join(" ")}`.toLowerCase();
  const found = rows.filter((row) => words.every((word) => textOf(row).includes(word)));
  const column = columns.find(({ title }) => title === sort) ?? columns[0];
  const turn = isDescending ? -1 : 1;
  found.sort((one, other) => {
    if (one.isReserved !== other.isReserved) return Number(one.isReserved) - Number(other.isReserved);
    const [a, b] = [valueOf(one, column), valueOf(other, column)];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return turn * (typeof a === "number" ? a - b : collator.compare(a, b)) || collator.compare(one.name, other.name);
  });
  return { rows: top ? found.slice(0, top) : found, total: found.length };
}
