// Loads the blocks of all sources on the chart for the visible range.

import * as api from "./api.js";
import { blockOf, shifted } from "./blocks.js";
import { earlierOf, idOf } from "./earlier.js";
import { selects } from "./paths.js";
import { change, state } from "./state.js";
import { seconds, secondsOf, textOf, ticksOf, ticksOfSeconds, wholeMilliseconds, zoneOf } from "./time.js";

/** The time between two updates of the earlier values that are shown with running live values, in milliseconds. */
const EARLIER_MS = 2000;

/** The blocks of the shown sources; live ones come from the feed while it runs. */
export class Loader {
  /** `columns()`: the width of the chart. `onData()`, `onBusy(isBusy)`, `onProblem(error)`. */
  constructor({ sources, feed, columns, onData, onBusy, onProblem }) {
    Object.assign(this, { sources, feed, columns, onData, onBusy, onProblem });
    this.blocks = new Map();
    this.frozenBlocks = new FrozenBlocks();
    setInterval(() => this.isRunning() && state.shift && !document.hidden && this.feed.block && !this.loading && this.load(), EARLIER_MS);
  }

  /** The sources to load: the shown ones, and, if the user chose a shift, each followed by its earlier values. */
  entries() {
    const shown = this.sources.shown();
    return state.shift ? shown.flatMap((source) => [source, earlierOf(source, state.shift)]) : shown;
  }

  /** Parameters of all requests for values. */
  parameters() {
    return { group_by: state.group === "name" ? "name" : null };
  }

  /**
   * Freezes live data at the present window, or at one that ends at `end` if that is later. The chart stays unchanged until the
   * server has responded with more data.
   */
  freeze(end = -Infinity) {
    const { begin, end: last } = this.feed.bounds().seconds;
    const frozen = { begin, end: Math.max(last, end) };
    const shift = this.isAlignedAtStarts() ? begin : 0;
    this.frozenBlocks.setRange(frozen);
    this.blocks.set(this.feed.source.id, shifted(this.frozenBlocks.copy(this.feed.block), shift));
    change({ frozen, range: null });
  }

  /** Whether sources are overlaid from their starts. */
  isAlignedAtStarts() {
    return state.align === "start" && this.sources.shown().length > 1;
  }

  /** Whether the chart shows running live values. */
  isRunning() {
    return !state.frozen && !state.range && this.sources.shown().some((source) => source.kind === "live");
  }

  /** The unzoomed time range of a source on the axis. */
  spanOf(source) {
    if (source.kind === "earlier") return null;
    if (source.kind === "log") return this.spanOfLog(source);
    const span = state.frozen ?? this.feed.block;
    if (!span) return null;
    return this.isAlignedAtStarts() ? { begin: 0, end: span.end - span.begin } : { begin: span.begin, end: span.end };
  }

  /** The range of a log in whole milliseconds, so that users can also type it. */
  spanOfLog({ begin, end }) {
    if (begin === null) return null;
    const start = this.isAlignedAtStarts() ? ticksOf(begin) : 0n;
    const span = wholeMilliseconds(ticksOf(begin) - start, ticksOf(end) - start);
    return { begin: secondsOf(span[0]), end: secondsOf(span[1]) };
  }

  /** The whole range of the axis. */
  whole() {
    const spans = this.sources.shown().map((source) => this.spanOf(source)).filter(Boolean);
    if (!spans.length) return null;
    return { begin: Math.min(...spans.map((span) => span.begin)), end: Math.max(...spans.map((span) => span.end)) };
  }

  /** The visible range. An open end is that of the data; if the range would be empty then, it is one second long. */
  range() {
    const whole = this.whole() ?? { begin: 0, end: 1 };
    if (!state.range) return whole;
    const { begin, end } = state.range;
    if (begin === null) return { begin: Math.min(whole.begin, end - 1), end };
    return { begin, end: end ?? Math.max(whole.end, begin + 1) };
  }

  /** The visible range in the time of a source, as RFC 3339 strings; null for the whole log. */
  boundsOf(source) {
    if (source.kind === "earlier") return this.boundsOfEarlier(source);
    const isLive = source.kind === "live";
    if (isLive && this.isRunning()) {
      const { begin, end } = this.feed.bounds();
      return { begin, end };
    }
    const range = state.range ? this.range() : isLive ? (this.isAlignedAtStarts() ? { begin: 0, end: state.frozen.end - state.frozen.begin } : state.frozen) : null;
    if (!range) return { begin: null, end: null };
    let start = 0n;
    if (this.isAlignedAtStarts()) start = isLive ? ticksOfSeconds(state.frozen.begin) : ticksOf(source.begin);
    return { begin: textOf(start + ticksOfSeconds(range.begin)), end: textOf(start + ticksOfSeconds(range.end)) };
  }

  /** The visible range of a source's earlier values. It is never open, unlike that of a whole log. */
  boundsOfEarlier({ of, shift }) {
    const source = this.sources.byId(of);
    let { begin, end } = this.boundsOf(source);
    if (begin === null) {
      const start = this.isAlignedAtStarts() ? ticksOf(source.begin) : 0n;
      const range = this.range();
      [begin, end] = [range.begin, range.end].map((at) => textOf(start + ticksOfSeconds(at)));
    }
    const before = (text) => textOf(ticksOf(text) - ticksOfSeconds(shift));
    return { begin: before(begin), end: before(end) };
  }

  shiftOf(source) {
    if (source.kind === "earlier") return this.shiftOf(this.sources.byId(source.of)) - source.shift;
    if (!this.isAlignedAtStarts()) return 0;
    return source.kind === "live" ? (state.frozen ?? this.feed.block).begin : seconds(source.begin);
  }

  /** Loads the data for the state. A call cancels earlier calls. */
  async load() {
    this.loading?.abort();
    const loading = (this.loading = new AbortController());
    const isRunning = this.isRunning();
    // Before the first live values there is no range to shift.
    const shown = this.entries().filter((source) => !isRunning || (source.kind !== "live" && (source.originalKind !== "live" || this.feed.block)));
    const busy = setTimeout(() => this.onBusy(true), 250);
    const whole = this.whole();
    this.frozenBlocks.setRange(state.frozen);
    try {
      const blocks = await Promise.all(
        shown.map(async (source) => {
          if (!state.paths.length) return null;
          const span = this.spanOf(source);
          const share = state.range || !whole || !span ? 1 : (span.end - span.begin) / Math.max(1e-6, whole.end - whole.begin);
          const columns = Math.max(20, Math.round(this.columns() * Math.min(1, share)));
          const bounds = this.boundsOf(source);
          const received = blockOf(source, await api.seriesWithin(idOf(source), { paths: state.paths, ...bounds, columns, ...this.parameters() }, loading.signal));
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
      if (this.loading === loading) {
        this.loading = null;
        this.onBusy(false);
      }
    }
  }

  /** Where a source is on an axis that begins at the starts of the sources: its range in its own time, and how far it is shifted. */
  originOf(source) {
    const isLive = source.kind === "live";
    const { begin, end } = (isLive ? (state.frozen ?? this.feed.block) : { begin: seconds(source.begin), end: seconds(source.end) }) ?? { begin: null };
    return begin === null ? null : { source, begin, end, shift: begin, zone: zoneOf(state.zone, source) };
  }

  /**
   * The loaded data: blocks, the visible range, its time zone, missing paths. If sources are aligned at their starts, there is no zone,
   * and `origins` are the sources' own times.
   */
  data() {
    const blocks = [];
    for (const source of this.entries()) {
      const isLive = source.kind === "live" && this.isRunning();
      let block = isLive ? this.feed.block : this.blocks.get(source.id);
      if (!block) continue;
      if (isLive && this.isAlignedAtStarts()) block = shifted(block, block.begin);
      blocks.push(block);
    }
    const range = this.range();
    const named = this.sources.shown();
    const origins = this.isAlignedAtStarts() ? named.map((source) => this.originOf(source)).filter(Boolean) : null;
    const zone = origins ? null : zoneOf(state.zone, named.find((source) => source.kind === "log") ?? named[0]);
    return { blocks, lines: blocks.flatMap((block) => block.lines), begin: range.begin, end: range.end, range: state.range && range, zone, origins, missing: missingIn(blocks.filter(({ source }) => !source.of)), isGone: blocks.some((block) => block.isGone), isEmpty: blocks.length > 0 && blocks.every(isEmpty) };
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

/** Precision of times, in seconds. */
const TIME_TOLERANCE = 0.001;

/** The blocks of frozen live data, which stay on the chart after the server has discarded the samples: one of the whole frozen range, and one of the part of it that was shown last. */
class FrozenBlocks {
  constructor() {
    this.frozen = "";
    this.clear();
  }

  clear() {
    this.whole = null;
    this.part = null;
  }

  /** Sets the frozen range: `{begin, end}` or null. If it has changed, discards the blocks. */
  setRange(frozen) {
    const text = JSON.stringify(frozen);
    if (text !== this.frozen) this.clear();
    this.frozen = text;
  }

  /** Copies the block of the feed, which continues to change. */
  copy(block) {
    const lines = block.lines.map((line) => ({ ...line, average: [...line.average], minimum: [...line.minimum], maximum: [...line.maximum] }));
    const row = block.times.findIndex((_, at) => lines.some((line) => line.average[at] !== null));
    this.whole = { ...block, times: [...block.times], lines, first: block.times[row] ?? null };
    return this.whole;
  }

  /**
   * Chooses the block to show for `bounds`: the `received` one, or a kept one if the server has discarded some of its samples.
   * `isGone` marks a block whose statistics are no longer available.
   */
  async choose(received, bounds, signal) {
    const isWhole = !state.range;
    const key = `${bounds.begin} ${bounds.end}`;
    const isComplete = await this.isComplete(received, bounds);
    if (signal.aborted) return received;
    if (isComplete) {
      if (isWhole) this.whole = received;
      this.part = { key, block: received };
      return received;
    }
    if (!isWhole && this.part?.key === key) return onlyChosen(this.part.block);
    return onlyChosen(isWhole ? this.whole : { ...withoutFigures(this.whole), isGone: true });
  }

  /** Whether the server still had the samples of this range. */
  async isComplete(received, bounds) {
    if (!this.whole || this.whole.first === null) return true;
    const from = Math.max(seconds(bounds.begin), this.whole.first);
    if (from >= seconds(bounds.end) || (received.first !== null && received.first <= from + TIME_TOLERANCE)) return true;
    // The first value can be an interval after the start of the range.
    const begin = seconds((await api.source(received.source.id)).begin);
    return begin !== null && begin <= from + TIME_TOLERANCE;
  }
}

/** A block without statistics, because those of a part of it cannot be computed from displayed values. */
function withoutFigures(block) {
  return { ...block, lines: block.lines.map((line) => ({ ...line, statistics: null })) };
}

/** A block without the lines whose paths were removed from the chart. */
function onlyChosen(block) {
  return { ...block, lines: block.lines.filter((line) => state.paths.some((path) => selects(path, line.path))) };
}
