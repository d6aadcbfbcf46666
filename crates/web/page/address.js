// The state in the address of the page. Each choice of a view, a source, a time range or panels is a step to which Back of the browser returns.

import { isEmbedded } from "./embed.js";
import { state } from "./state.js";
import { setZoomHistory, zoomHistory } from "./zoom.js";

/** The time after a change until the address is written, because browsers limit the rate. */
const DELAY_MS = 200;

/** The address of the page. */
export class Address {
  /** `fragment()` is the state as a fragment, `show(fragment)` shows one. */
  constructor({ fragment, show }) {
    this.fragment = fragment;
    this.timer = null;
    /** The step that the address has; null if the next one replaces it. */
    this.step = null;
    addEventListener("hashchange", async ({ newURL }) => {
      this.replaceNext();
      setZoomHistory(history.state);
      // A delayed write of the previous state can have replaced the address before this event.
      await show(new URL(newURL).hash.slice(1));
      if (this.step === null) this.write(true);
    });
  }

  /** The next state replaces the present step: it was not chosen by users. */
  replaceNext() {
    clearTimeout(this.timer);
    this.step = null;
  }

  /** Writes the state, with a delay, so that changes in quick succession are one step; immediately if `isNow`. */
  write(isNow = false) {
    clearTimeout(this.timer);
    if (isNow) this.writeNow();
    else this.timer = setTimeout(() => this.writeNow(), DELAY_MS);
  }

  writeNow() {
    const step = stepOf();
    // The history of a frame is part of that of its page.
    const isNew = this.step !== null && this.step !== step && !isEmbedded;
    this.step = step;
    history[isNew ? "pushState" : "replaceState"](zoomHistory(), "", `#${this.fragment()}`);
  }
}

/** The part of the state whose changes are steps. Counters are not compared by path, because they are fitted to the source. */
function stepOf() {
  const { sources, viewName, savedName, panels, open, range, every, points, align, shift } = state;
  return JSON.stringify([sources, viewName ?? panels.map(({ id, kind, counters }) => [id, kind, counters.length]), savedName, open, range, every, points, align, shift]);
}
