// Keeps frozen live data on the chart after the server has discarded the samples of the frozen range.

import { source as loadSource } from "./api.js";
import { selects } from "./paths.js";
import { state } from "./state.js";
import { seconds } from "./time.js";

/** Precision of times, in seconds. */
const TIME_TOLERANCE = 0.001;

/** The blocks of frozen live data: one of the whole frozen range, and one of the part of it that was shown last. */
export class FrozenBlocks {
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
    const begin = seconds((await loadSource(received.source.id)).begin);
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
