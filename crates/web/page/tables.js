// The values of table panels: for each instance of a set, statistics of its counters that the server computes over the visible range.

import * as api from "./api.js";
import { onMachine } from "./catalogue.js";
import { idOf } from "./earlier.js";
import { percentilesOf } from "./percentiles.js";
import { PROPERTIES } from "./panels.js";
import { groupLines, parentsOf, treeLines } from "./table-tree.js";
import { figureName, figureOf, PERCENTILES } from "./figures.js";
import { state } from "./state.js";

/** The time between two updates of live tables, in milliseconds. */
const UPDATE_MS = 1000;
/** Reserved instance names, whose rows are always last. */
const RESERVED = new Set(["_total", "idle"]);

/** Properties of known processes are read again after this time, in milliseconds. */
const PROPERTIES_MS = 5000;
/** The maximum number of processes in a request. */
const MAX_PROCESSES = 1000;

/** Loads the values of the table panels for the visible range. */
export class TableLoader {
  constructor({ sources, loader, onData, onProblem }) {
    Object.assign(this, { sources, loader, onData, onProblem });
    /** The loaded rows and their columns, by panel: `{columns, rows}`. */
    this.loaded = new Map();
    this.loading = new Map();
    /** Properties of processes by id and name, and when they were read. */
    this.properties = new Map();
    this.propertiesAt = 0;
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

  /** The request for a panel. While live values are updated, `key` changes with each update, but `range` stays the same. */
  requestFor(panel) {
    const paths = pathsOf(panel);
    const sources = this.loader.entries();
    const shared = this.loader.parameters();
    const hasPercentiles = PERCENTILES.includes(state.figure);
    const isRunning = this.loader.isRunning();
    const isMoving = (source) => (source.originalKind ?? source.kind) === "live" && isRunning;
    const bounds = sources.map((source) => (isMoving(source) && !this.loader.feed.block ? { begin: null, end: null } : this.loader.boundsOf(source)));
    const ranges = sources.map((source, index) => [source.id, isMoving(source) ? [state.every, state.points] : bounds[index]]);
    const settings = { ...shared, hasPercentiles };
    const key = JSON.stringify([settings, paths, sources.map(({ id }) => id), bounds, isRunning ? Math.floor(Date.now() / UPDATE_MS) : 0]);
    return { key, range: JSON.stringify([settings, paths, ranges]), paths, sources, bounds, settings, isDone: false };
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

  /** Adds user, state, command line and control group to the processes of this machine. */
  async addProperties(table, rows) {
    const idOf = (row) => row.lines.get(table.process.toLowerCase())?.statistics?.last ?? null;
    const own = rows.filter((row) => row.source.kind === "live" && idOf(row) !== null);
    const keyOf = (row) => `${idOf(row)} ${row.name}`;
    const isOld = Date.now() - this.propertiesAt > PROPERTIES_MS;
    const wanted = own.filter((row) => isOld || !this.properties.has(keyOf(row)));
    if (wanted.length) {
      try {
        const { processes } = await api.processes(wanted.slice(0, MAX_PROCESSES).map(idOf));
        const byId = new Map(processes.map((found) => [found.id, found]));
        if (isOld) {
          this.properties.clear();
          this.propertiesAt = Date.now();
        }
        for (const row of wanted) this.properties.set(keyOf(row), byId.get(idOf(row)) ?? null);
      } catch {
        // The table is shown without properties.
      }
    }
    for (const row of own) row.properties = this.properties.get(keyOf(row)) ?? null;
  }

  async load(panel, request) {
    const { paths, sources, bounds, settings: { hasPercentiles, ...shared } } = request;
    this.loading.set(panel.id, request);
    // The range can have changed meanwhile; then another request follows.
    const isPresent = () => {
      const now = this.panels().find(({ id }) => id === panel.id);
      return now !== undefined && this.requestFor(now).range === request.range;
    };
    const show = (rows) => this.loaded.set(panel.id, { columns: JSON.stringify(paths), rows });
    try {
      const answers = await Promise.all(
        sources.map(async (source, index) => {
          const asked = { paths, ...bounds[index], ...shared };
          const answer = await api.series(idOf(source), { ...asked, columns: 1 });
          const percentiles = hasPercentiles && answer.series.length ? await percentilesOf(source, asked) : null;
          for (const line of answer.series) line.percentiles = percentiles?.get(line.path);
          return answer;
        }),
      );
      // An instance that has ended has no last value.
      const rows = answers.flatMap((answer, index) => rowsOf(sources[index], answer)).filter((row) => !row.hasEnded || figureName(row) !== "last");
      if (panel.table.process && hasProperties(panel.table)) await this.addProperties(panel.table, rows);
      if (isPresent()) {
        show(rows);
        this.onData();
      }
    } catch (problem) {
      if (isPresent()) {
        show([]);
        // If the server did not answer, the key is removed, so that the next update sends the same request again.
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
  const { columns, tree, process, parent } = panel.table;
  const identity = [hasProperties(panel.table) || tree === "parent" ? process : null, tree === "parent" ? parent : null];
  const counters = [...new Set([...columns.map(({ counter }) => counter), ...identity].filter(Boolean))];
  return counters.map((counter) => onMachine(panel.table.machine, `\\${panel.table.set}(*)\\${counter}`));
}

/**
 * A row per instance of a machine: `{name, source, machine, isReserved, lines, present, hasEnded}`. `lines` maps the lower-case name of each
 * counter to its series; `present` is the share of the range in which the instance had values; `hasEnded`: the last sample of a live source
 * does not have the instance.
 */
function rowsOf(source, { series }) {
  const rows = new Map();
  for (const line of series) {
    const name = line.parent ? `${line.parent}/${line.instance}` : (line.instance ?? "");
    const key = `${line.machine} ${name}`;
    if (!rows.has(key)) rows.set(key, { name, source, machine: line.machine, isReserved: RESERVED.has((line.instance ?? "").toLowerCase()), lines: new Map() });
    rows.get(key).lines.set(line.counter.toLowerCase(), { ...line, source });
  }
  const all = [...rows.values()];
  // Instances that were present in the whole range have the most values.
  const valuesOf = ({ lines }) => Math.max(0, ...[...lines.values()].map(({ statistics }) => statistics?.values ?? 0));
  const most = Math.max(1, ...all.map(valuesOf));
  for (const row of all) {
    row.present = valuesOf(row) / most;
    row.hasEnded = (source.originalKind ?? source.kind) === "live" && [...row.lines.values()].every((line) => line.has_ended);
  }
  return all;
}

/** Whether a table shows properties of processes. */
const hasProperties = ({ columns, tree }) => tree === "cgroup" || columns.some(({ property }) => property);

/**
 * The value of a row in a column: the name, a property, or a statistic. Identifiers (`is_last`) have no average, so their last value is
 * used.
 */
export function valueOf(row, { counter, property, is_last: isLast }) {
  if (property) return row.properties?.[PROPERTIES[property]] ?? null;
  if (!counter) return row.name;
  const line = row.lines.get(counter.toLowerCase());
  if (!line) return null;
  return figureOf(line, isLast ? "last" : figureName(line));
}

/** The value by which rows are sorted: an average is multiplied by the share of the range in which the instance was present. */
export function sortValue(row, column) {
  const value = valueOf(row, column);
  const line = column.counter && !column.is_last ? row.lines.get(column.counter.toLowerCase()) : null;
  return typeof value === "number" && line && figureName(line) === "average" ? value * row.present : value;
}

/** Whether a table needs a column that says how long its instances were present: averages cover only that time. */
export const needsPresence = (rows) => rows.some((row) => !row.isReserved && row.present < 0.995 && [...row.lines.values()].some((line) => figureName(line) === "average"));

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** The lines of a table in its order, filtered and limited: `{lines, found}`; `found` are the rows with the words of the filter. */
export function arranged(rows, table) {
  const { columns, sort, is_descending: isDescending, top, filter, tree } = table;
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const ids = columns.filter(({ is_last: isLast }) => isLast);
  const propertiesOf = ({ properties }) => (properties ? [properties.user, properties.command, properties.cgroup] : []);
  const textOf = (row) => [row.name, ...ids.map((column) => valueOf(row, column)), ...propertiesOf(row)].map((part) => part ?? "").join(" ").toLowerCase();
  const isFound = (row) => words.every((word) => textOf(row).includes(word));
  const found = new Set(rows.filter(isFound));
  const column = columns.find(({ title }) => title === sort) ?? columns[0];
  const turn = isDescending ? -1 : 1;
  const sorted = (tree === "parent" ? [...rows] : [...found]).sort((one, other) => {
    if (one.isReserved !== other.isReserved) return Number(one.isReserved) - Number(other.isReserved);
    const [a, b] = [sortValue(one, column), sortValue(other, column)];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return turn * (typeof a === "number" ? a - b : collator.compare(a, b)) || collator.compare(one.name, other.name);
  });
  const limited = top ? sorted.slice(0, top) : sorted;
  if (tree === "cgroup") return { lines: groupLines(limited, (row) => row.properties?.cgroup), found: [...found] };
  if (tree !== "parent") return { lines: limited.map((row) => ({ row, depth: 0, isContext: false })), found: [...found] };
  const lines = treeLines(sorted, (row) => found.has(row), parentsOf(rows, table));
  return { lines: top ? lines.slice(0, top) : lines, found: [...found] };
}
