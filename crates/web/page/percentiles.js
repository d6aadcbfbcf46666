// Percentiles of the visible range. The server computes them from raw values, as `tacho stats` does, when a legend, a table or bars
// show them.

import * as api from "./api.js";
import { idOf } from "./earlier.js";
import { state } from "./state.js";
import { PERCENTILES } from "./figures.js";

/** The time between two updates of live values, in milliseconds. */
const UPDATE_MS = 2000;

/** Whether anything on the page shows percentiles. */
export const needPercentiles = () => PERCENTILES.includes(state.figure) || state.columns.some((column) => PERCENTILES.includes(column));

const hasValues = ({ statistics }) => statistics?.values > 0;

/** The percentiles of paths of a source over a range, by full path. */
export async function percentilesOf(source, request, signal) {
  try {
    const rows = await api.statistics(idOf(source), request, signal);
    return new Map(rows.map((row) => [row.path, row]));
  } catch (problem) {
    if (problem.status === 404) return new Map();
    throw problem;
  }
}

export class PercentileLoader {
  constructor({ sources, loader, onData, onProblem }) {
    Object.assign(this, { sources, loader, onData, onProblem });
    /** By id of the source: the key and moment of the request, and the percentiles by path. */
    this.loaded = new Map();
    this.loading = new Map();
    setInterval(() => needPercentiles() && this.loader.isRunning() && !document.hidden && this.update(), UPDATE_MS);
  }

  /** The request for a block: its paths and range. `moment` changes while live values are updated. */
  requestFor({ source, missing }) {
    const isMoving = this.loader.isRunning() && (source.originalKind ?? source.kind) === "live";
    const absent = new Set(missing.map(({ path }) => path));
    const paths = state.paths.filter((path) => !absent.has(path));
    const request = { paths, ...this.loader.boundsOf(source), ...this.loader.parameters() };
    const range = isMoving ? { ...request, begin: state.every, end: state.points } : request;
    return { request, key: JSON.stringify(range), moment: isMoving ? Math.floor(Date.now() / UPDATE_MS) : 0 };
  }

  /** Loads the percentiles that are shown and not loaded yet. */
  update() {
    if (!needPercentiles()) return;
    for (const block of this.loader.data().blocks) {
      const { request, key, moment } = this.requestFor(block);
      const { id } = block.source;
      const known = this.loading.get(id) ?? this.loaded.get(id);
      if (!request.paths.length || !block.lines.some(hasValues) || (known?.key === key && known.moment === moment)) continue;
      this.load(block.source, { request, key, moment });
    }
  }

  async load(source, { request, key, moment }) {
    const mine = { key, moment };
    this.loading.set(source.id, mine);
    try {
      const byPath = await percentilesOf(source, request);
      if (this.loading.get(source.id) !== mine) return;
      this.loaded.set(source.id, { key, moment, byPath });
      this.onData();
    } catch (problem) {
      if (problem.status && this.loading.get(source.id) === mine) this.onProblem(problem);
    } finally {
      if (this.loading.get(source.id) === mine) this.loading.delete(source.id);
    }
  }

  /** Sets the percentiles of the lines of blocks; removes those of another range. */
  apply(blocks) {
    for (const block of blocks) {
      const loaded = needPercentiles() ? this.loaded.get(block.source.id) : undefined;
      const isSame = loaded !== undefined && loaded.key === this.requestFor(block).key;
      for (const line of block.lines) line.percentiles = isSame ? loaded.byPath.get(line.path) : undefined;
    }
  }
}
