// Gets what is to be shown: the blocks of all sources on the chart over the visible range.

import * as api from "./api.js";
import { blockOf, shifted } from "./blocks.js";
import { Kept } from "./kept.js";
import { change, state } from "./state.js";
import { seconds, secondsOf, textOf, ticksOf, ticksOfSeconds, wholeMilliseconds, zoneOf } from "./time.js";

/** Blocks of the shown sources; live ones come from the feed while it runs. */
export class Loader {
  /** `columns()`: how wide the chart is. `onData()`, `onBusy(isBusy)`, `onProblem(error)`. */
  constructor({ sources, feed, columns, onData, onBusy, onProblem }) {
    Object.assign(this, { sources, feed, columns, onData, onBusy, onProblem });
    this.blocks = new Map();
    this.kept = new Kept();
  }

  /**
   * Stops live data at the present window, or at one that ends at `end` where that is later. What is shown stays as it is until
   * the server has told more of it.
   */
  freeze(end = -Infinity) {
    const { begin, end: last } = this.feed.borders().seconds;
    const frozen = { begin, end: Math.max(last, end) };
    const shift = this.fromStarts() ? begin : 0;
    this.kept.of(frozen);
    this.blocks.set(this.feed.source.id, shifted(this.kept.take(this.feed.block), shift));
    change({ frozen, range: null });
  }

  /** Whether sources are laid over each other from their starts. */
  fromStarts() {
    return state.align === "start" && this.sources.shown().length > 1;
  }

  /** Whether live values run on the chart now. */
  isRunning() {
    return !state.frozen && !state.range && this.sources.shown().some((source) => source.kind === "live");
  }

  /** The stretch of a source on the axis, when nothing is zoomed into. */
  spanOf(source) {
    if (source.kind === "log") return this.spanOfLog(source);
    const span = state.frozen ?? this.feed.block;
    if (!span) return null;
    return this.fromStarts() ? { begin: 0, end: span.end - span.begin } : { begin: span.begin, end: span.end };
  }

  /** Whole milliseconds that all samples of a log lie in: what is shown of them can be asked for again, also by hand. */
  spanOfLog({ begin, end }) {
    if (begin === null) return null;
    const start = this.fromStarts() ? ticksOf(begin) : 0n;
    const span = wholeMilliseconds(ticksOf(begin) - start, ticksOf(end) - start);
    return { begin: secondsOf(span[0]), end: secondsOf(span[1]) };
  }

  /** All of the axis. */
  whole() {
    const spans = this.sources.shown().map((source) => this.spanOf(source)).filter(Boolean);
    if (!spans.length) return null;
    return { begin: Math.min(...spans.map((span) => span.begin)), end: Math.max(...spans.map((span) => span.end)) };
  }

  /** The borders of the visible range in a source's own time, as RFC 3339 texts; null for all of a log. */
  bordersOf(source) {
    const isLive = source.kind === "live";
    if (isLive && this.isRunning()) {
      const { begin, end } = this.feed.borders();
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

  /** Asks for what the state shows. A later call makes an earlier one moot. */
  async load() {
    this.asking?.abort();
    const asking = (this.asking = new AbortController());
    const shown = this.sources.shown().filter((source) => source.kind !== "live" || !this.isRunning());
    const busy = setTimeout(() => this.onBusy(true), 250);
    const whole = this.whole();
    this.kept.of(state.frozen);
    try {
      const blocks = await Promise.all(
        shown.map(async (source) => {
          if (!state.paths.length) return null;
          const span = this.spanOf(source);
          const share = state.range || !whole ? 1 : (span.end - span.begin) / Math.max(1e-6, whole.end - whole.begin);
          const columns = Math.max(20, Math.round(this.columns() * Math.min(1, share)));
          const borders = this.bordersOf(source);
          const told = blockOf(source, await this.ask(source, borders, columns, asking.signal));
          const block = source.kind === "live" ? await this.kept.choose(told, borders, asking.signal) : told;
          return shifted(block, this.shiftOf(source));
        }),
      );
      if (asking.signal.aborted) return;
      this.blocks = new Map(blocks.filter(Boolean).map((block) => [block.source.id, block]));
      this.onData();
    } catch (problem) {
      if (!asking.signal.aborted) this.onProblem(problem);
    } finally {
      clearTimeout(busy);
      if (this.asking === asking) this.onBusy(false);
    }
  }

  /** Asks for a source's series; with fewer columns where that many series have too many values for the server. */
  async ask(source, borders, columns, signal) {
    for (;;) {
      try {
        return await api.series(source.id, { paths: state.paths, ...borders, columns }, signal);
      } catch (problem) {
        if (problem.status !== 413 || columns <= 20) throw problem;
        columns = Math.max(20, columns >> 2);
      }
    }
  }

  /** What is shown now: blocks without what was removed, the visible range, the zone of its times, what was not found. */
  data() {
    const blocks = [];
    for (const source of this.sources.shown()) {
      const isLive = source.kind === "live" && this.isRunning();
      let block = isLive ? this.feed.block : this.blocks.get(source.id);
      if (!block) continue;
      if (isLive && this.fromStarts()) block = shifted(block, block.begin);
      const isRemoved = (line) => state.removed.has(line.key);
      const lines = block.lines.filter((line) => !isRemoved(line));
      blocks.push({ ...block, lines, removed: block.lines.filter(isRemoved) });
    }
    const range = state.range ?? this.whole() ?? { begin: 0, end: 1 };
    const named = this.sources.shown();
    const zone = this.fromStarts() ? null : zoneOf(state.zone, named.find((source) => source.kind === "log") ?? named[0]);
    return { blocks, lines: blocks.flatMap((block) => block.lines), begin: range.begin, end: range.end, range: state.range, zone, missing: missingIn(blocks), isGone: blocks.some((block) => block.isGone), isEmpty: blocks.length > 0 && blocks.every(isEmpty) };
  }
}

/** Whether a source has what was asked for, but not in this stretch. */
const isEmpty = (block) => !block.lines.length && !block.removed.length && block.missing.length < state.paths.length;

/** The paths that no source has. */
function missingIn(blocks) {
  if (!blocks.length) return [];
  const [first, ...rest] = blocks;
  return first.missing.filter(({ path }) => rest.every((block) => block.missing.some((other) => other.path === path)));
}
