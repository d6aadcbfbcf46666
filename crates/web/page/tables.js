// The values of table panels: per instance of a set its counters, from statistics that the server computes over the visible range.

import * as api from "./api.js";
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
    /** The loaded rows, by panel. */
    this.rows = new Map();
    this.loading = new Map();
    setInterval(() => this.loader.isRunning() && !document.hidden && this.update(), UPDATE_MS);
  }

  panels() {
    return state.panels.filter((panel) => panel.kind === "table" && panel.table && (state.open === null || state.open === panel.id));
  }

  /** Loads what changed: the range, the columns, or live values. One request per panel at a time. */
  update() {
    for (const panel of this.panels()) {
      const counters = panel.table.columns.map(({ counter }) => counter).filter(Boolean);
      const paths = counters.map((counter) => `\\${panel.table.set}(*)\\${counter}`);
      const sources = this.sources.shown();
      const bounds = sources.map((source) => (source.kind === "live" && this.loader.isRunning() && !this.loader.feed.block ? { begin: null, end: null } : this.loader.boundsOf(source)));
      const key = JSON.stringify([paths, sources.map(({ id }) => id), bounds, this.loader.isRunning() ? Math.floor(Date.now() / UPDATE_MS) : 0]);
      const known = this.loading.get(panel.id);
      if (!paths.length || known?.key === key || (known && !known.isDone)) continue;
      this.load(panel, { key, isDone: false }, paths, sources, bounds);
    }
  }

  async load(panel, request, paths, sources, bounds) {
    this.loading.set(panel.id, request);
    try {
      const answers = await Promise.all(sources.map((source, index) => api.series(source.id, { paths, ...bounds[index], columns: 1 })));
      this.rows.set(panel.id, answers.flatMap((answer, index) => rowsOf(sources[index], answer)));
      this.onData();
    } catch (problem) {
      if (problem.status) this.onProblem(problem);
    } finally {
      request.isDone = true;
    }
  }
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
