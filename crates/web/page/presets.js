// The view with which the page opens (`--view`): the first of its paths that selects a counter defines how the counter is shown.

import { selects, withoutMachine } from "./paths.js";
import { entry } from "./state.js";

/** The fragment of a link that shows the view's counters. */
export function fragmentOf(view) {
  const text = new URLSearchParams(view.counters.map((counter) => ["path", counter.path]));
  text.set("view", view.view);
  if (view.points !== null) text.set("points", String(view.points));
  return text.toString();
}

/** How the counters of the view are shown. Applied once per counter, so that later changes on the page persist. */
export class Presets {
  constructor() {
    this.set([]);
  }

  /** Sets the counters of a view. */
  set(counters) {
    this.counters = counters;
    this.applied = new Set();
    this.coloured = new Set();
  }

  /** Applies the view to new lines; returns the keys of excluded ones. */
  apply(lines) {
    const excluded = [];
    for (const { key, path } of this.counters.length ? lines : []) {
      if (this.applied.has(key)) continue;
      this.applied.add(key);
      const counter = this.counters.find((one) => selects(one.path, path));
      if (!counter) continue;
      if (counter.except.some((one) => one.toLowerCase() === withoutMachine(path).toLowerCase() || one.toLowerCase() === path.toLowerCase())) {
        excluded.push(key);
        continue;
      }
      const parts = { isHidden: !counter.is_shown, isHighlighted: counter.is_highlighted };
      if (counter.scale !== null) parts.scale = String(counter.scale);
      // With wildcards, the colour applies to the first instance.
      if (counter.colour !== null && !this.coloured.has(counter)) {
        this.coloured.add(counter);
        Object.assign(parts, { styleIndex: counter.colour - 1, isColoured: true });
      }
      Object.assign(entry(key), parts);
    }
    return excluded;
  }
}
