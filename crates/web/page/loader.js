// Loads the blocks of all sources on the chart for the visible range.

import * as api from "./api.js";
import { blockOf, shifted } from "./blocks.js";
import { FrozenBlocks } from "./frozen-blocks.js";
import { change, state } from "./state.js";
import { seconds, secondsOf, textOf, ticksOf, ticksOfSeconds, wholeMilliseconds, zoneOf } from "./time.js";

/** The blocks of the shown sources; live ones come from the feed while it runs. */
export class Loader {
  /** `columns()`: the width of the chart. `onData()`, `onBusy(isBusy)`, `onProblem(error)`. */
  constructor({ sources, feed, columns, onData, onBusy, onProblem }) {
    Object.assign(this, { sources, feed, columns, onData, onBusy, onProblem });
    this.blocks = new Map();
    this.frozenBlocks = new FrozenBlocks();
  }

  /**
   * Freezes live data at the present window, or at one that ends at `end` if that is later. The chart stays unchanged until the
   * server has responded with more data.
   */
  freeze(end = -Infinity) {
    const { begin, end: last } = this.feed.bounds().seconds;
    const frozen = { begin, end: Math.max(last, end) };
    const shift = this.fromStarts() ? begin : 0;
    this.frozenBlocks.setRange(frozen);
    this.blocks.set(this.feed.source.id, shifted(this.frozenBlocks.copy(this.feed.block), shift));
    change({ frozen, range: null });
  }

  /** Whether sources are overlaid from their starts. */
  fromStarts() {
    return state.align === "start" && this.sources.shown().length > 1;
  }

  /** Whether the chart shows running live values. */
  isRunning() {
    return !state.frozen && !state.range && this.sources.shown().some((source) => source.kind === "live");
  }

  /** The unzoomed time range of a source on the axis. */
  spanOf(source) {
    if (source.kind === "log") return this.spanOfLog(source);
    const span = state.frozen ?? this.feed.block;
    if (!span) return null;
    return this.fromStarts() ? { begin: 0, end: span.end - span.begin } : { begin: span.begin, end: span.end };
  }

  /** The range of a log in whole milliseconds, which users can also enter by hand. */
  spanOfLog({ begin, end }) {
    if (begin === null) return null;
    const start = this.fromStarts() ? ticksOf(begin) : 0n;
    const span = wholeMilliseconds(ticksOf(begin) - start, ticksOf(end) - start);
    return { begin: secondsOf(span[0]), end: secondsOf(span[1]) };
  }

  /** The whole range of the axis. */
  whole() {
    const spans = this.sources.shown().map((source) => this.spanOf(source)).filter(Boolean);
    if (!spans.length) return null;
    return { begin: Math.min(...spans.map((span) => span.begin)), end: Math.max(...spans.map((span) => span.end)) };
  }

  /** The visible range in the time of a source, as RFC 3339 strings; null for the whole log. */
  boundsOf(source) {
    const isLive = source.kind === "live";
    if (isLive && this.isRunning()) {
      const { begin, end } = this.feed.bounds();
      return { begin, end };
    }
    const range = state.range ?? (isLive ? (this.fromStarts() ? { begin: 0, end: state.frozen.end - state.frozen.begin } : state.frozen) : null);
    if (!range) return { begin: null, end: null };
    let start = 0n;
    if (this.fromStarts()) start = isLive ? ticksOfSeconds(state.frozen.begin) : ticksOf(source.begin);
    return { begin: textOf(start + ticksOfSeconds(range.begin)), end: textOf(start + ticksOfSeconds(range.end)) };
  }

  shiftOf(source) {
    if (!this.fromStarts()) return 0;
    return source.kind === "live" ? state.frozen.begin : seconds(source.begin);
  }

  /** Loads the data for the state. A call cancels earlier ones. */
  async load() {
    this.loading?.abort();
    const loading = (this.loading = new AbortController());
    const shown = this.sources.shown().filter((source) => source.kind !== "live" || !this.isRunning());
    const busy = setTimeout(() => this.onBusy(true), 250);
    const whole = this.whole();
    this.frozenBlocks.setRange(state.frozen);
    try {
      const blocks = await Promise.all(
        shown.map(async (source) => {
          if (!state.paths.length) return null;
          const span = this.spanOf(source);
          const share = state.range || !whole ? 1 : (span.end - span.begin) / Math.max(1e-6, whole.end - whole.begin);
          const columns = Math.max(20, Math.round(this.columns() * Math.min(1, share)));
          const bounds = this.boundsOf(source);
          const received = blockOf(source, await api.seriesWithin(source.id, { paths: state.paths, ...bounds, columns }, loading.signal));
          const block = source.kind === "live" ? await this.frozenBlocks.choose(received, bounds, loading.signal) : received;
          return shifted(block, this.shiftOf(source));
        }),
      );
      if (loading.signal.aborted) return;
      this.blocks = new Map(blocks.filter(Boolean).map((block) => [block.source.id, block]));
      this.onData();
    } catch (problem) {
      if (!loading.signal.aborted) this.onProblem(problem);
    } finally {
      clearTimeout(busy);
      if (this.loading === loading) this.onBusy(false);
    }
  }

  /** The loaded data: blocks, the visible range, its time zone, missing paths. */
  data() {
    const blocks = [];
    for (const source of this.sources.shown()) {
      const isLive = source.kind === "live" && this.isRunning();
      let block = isLive ? this.feed.block : this.blocks.get(source.id);
      if (!block) continue;
      if (isLive && this.fromStarts()) block = shifted(block, block.begin);
      blocks.push(block);
    }
    const range = state.range ?? this.whole() ?? { begin: 0, end: 1 };
    const named = this.sources.shown();
    const zone = this.fromStarts() ? null : zoneOf(state.zone, named.find((source) => source.kind === "log") ?? named[0]);
    return { blocks, lines: blocks.flatMap((block) => block.lines), begin: range.begin, end: range.end, range: state.range, zone, missing: missingIn(blocks), isGone: blocks.some((block) => block.isGone), isEmpty: blocks.length > 0 && blocks.every(isEmpty) };
  }
}

/** Whether a source has the paths, but no samples in this range. */
const isEmpty = (block) => !block.lines.length && block.missing.length < state.paths.length;

/** Paths that no source has. */
function missingIn(blocks) {
  if (!blocks.length) return [];
  const [first, ...rest] = blocks;
  return first.missing.filter(({ path }) => rest.every((block) => block.missing.some((other) => other.path === path)));
}
