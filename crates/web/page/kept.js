// Frozen live data stays on the chart: the server keeps so many samples, and has lost those of the frozen time sooner or later.

import { source as askSource } from "./api.js";
import { selects } from "./paths.js";
import { state } from "./state.js";
import { seconds } from "./time.js";

/** Times are told to less than this, in seconds. */
const NOISE = 0.001;

/** What was shown of the frozen stretch: all of it, and the part that was shown last. */
export class Kept {
  constructor() {
    this.frozen = "";
    this.forget();
  }

  forget() {
    this.whole = null;
    this.part = null;
  }

  /** Forgets what was kept of another stretch than this, `{begin, end}` or null. */
  of(frozen) {
    const text = JSON.stringify(frozen);
    if (text !== this.frozen) this.forget();
    this.frozen = text;
  }

  /** Takes what the feed has of the stretch, which goes on changing. */
  take(block) {
    const lines = block.lines.map((line) => ({ ...line, average: [...line.average], minimum: [...line.minimum], maximum: [...line.maximum] }));
    const row = block.times.findIndex((_, at) => lines.some((line) => line.average[at] !== null));
    this.whole = { ...block, times: [...block.times], lines, first: block.times[row] ?? null };
    return this.whole;
  }

  /**
   * The block to show for what the server told of the stretch between `borders`: that itself, or what is kept where samples of
   * it are gone since. `isGone` marks a block without the figures that were asked for.
   */
  async choose(told, borders, signal) {
    const isWhole = !state.range;
    const asked = `${borders.begin} ${borders.end}`;
    const isComplete = await this.isComplete(told, borders);
    if (signal.aborted) return told;
    if (isComplete) {
      if (isWhole) this.whole = told;
      this.part = { asked, block: told };
      return told;
    }
    if (!isWhole && this.part?.asked === asked) return onlyChosen(this.part.block);
    return onlyChosen(isWhole ? this.whole : { ...withoutFigures(this.whole), isGone: true });
  }

  /** Whether the server still had what is kept of this stretch. */
  async isComplete(told, borders) {
    if (!this.whole || this.whole.first === null) return true;
    const from = Math.max(seconds(borders.begin), this.whole.first);
    if (from >= seconds(borders.end) || (told.first !== null && told.first <= from + NOISE)) return true;
    // Its first value may just lie an interval after the begin.
    const begin = seconds((await askSource(told.source.id)).begin);
    return begin !== null && begin <= from + NOISE;
  }
}

/** Statistics of a part cannot be made of what is displayed. */
function withoutFigures(block) {
  return { ...block, lines: block.lines.map((line) => ({ ...line, statistics: null })) };
}

/** Without the lines whose paths were taken off the chart since. */
function onlyChosen(block) {
  return { ...block, lines: block.lines.filter((line) => state.paths.some((path) => selects(path, line.path))) };
}
