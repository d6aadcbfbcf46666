// The view that the server was started with: the first of its paths that selects a counter says how it is shown.

import { selects, withoutMachine } from "./paths.js";
import { entry } from "./state.js";

/** The fragment of a link that shows the view's counters. */
export function fragmentOf(view) {
  const text = new URLSearchParams(view.counters.map((counter) => ["path", counter.path]));
  text.set("view", view.view);
  if (view.points !== null) text.set("points", String(view.points));
  return text.toString();
}

/** How the counters of the view are shown. Each is told once: what is chosen on the page later holds. */
export class Presets {
  constructor() {
    this.take([]);
  }

  /** Takes the counters of another view. */
  take(counters) {
    this.counters = counters;
    this.told = new Set();
    this.coloured = new Set();
  }

  /** Shows lines as the view says, those that are new; answers the keys of those that it leaves out. */
  apply(lines) {
    const left = [];
    for (const { key, path } of this.counters.length ? lines : []) {
      if (this.told.has(key)) continue;
      this.told.add(key);
      const counter = this.counters.find((one) => selects(one.path, path));
      if (!counter) continue;
      if (counter.except.some((one) => one.toLowerCase() === withoutMachine(path).toLowerCase() || one.toLowerCase() === path.toLowerCase())) {
        left.push(key);
        continue;
      }
      const parts = { isHidden: !counter.is_shown, isHighlighted: counter.is_highlighted };
      if (counter.scale !== null) parts.scale = String(counter.scale);
      // Of a path with wildcards the colour is that of the first instance.
      if (counter.colour !== null && !this.coloured.has(counter)) {
        this.coloured.add(counter);
        Object.assign(parts, { number: counter.colour - 1, isColoured: true });
      }
      Object.assign(entry(key), parts);
    }
    return left;
  }
}
