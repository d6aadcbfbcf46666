// The line above the panels: facts about each shown machine or log, and the values of the view's headline counters.

import * as api from "./api.js";
import { byId, element, swatch } from "./element.js";
import { count, duration, lineFigure, span } from "./figures.js";
import { matcherOf, withoutMachine } from "./paths.js";
import { dashOf } from "./palette.js";
import { onChange, state } from "./state.js";
import { rangeText, seconds, zoneOf } from "./time.js";

/** The time between two updates of live values, in milliseconds: load averages change as often. */
const UPDATE_MS = 5000;
/** The number of sources that have a line. */
export const MAX_HEADLINES = 4;

export class Headline {
  constructor({ sources, loader }) {
    Object.assign(this, { sources, loader, values: new Map(), known: "" });
    this.place = byId("headline");
    onChange((names) => {
      if (["sources", "headline", "range", "frozen", "align", "zone"].some((name) => names.has(name))) this.update();
    });
    setInterval(() => !document.hidden && this.loader.isRunning() && this.update(true), UPDATE_MS);
  }

  /** Requests the values of what is shown; those of running live data again if `isDue`. */
  async update(isDue = false) {
    const paths = state.headline.map(({ path }) => path);
    const shown = paths.length ? this.sources.shown().slice(0, MAX_HEADLINES) : [];
    const isMoving = ({ kind }) => kind === "live" && this.loader.isRunning();
    // Without a range, equal requests of several pages share one response.
    const requests = shown.map((source) => ({ source, paths, ...(isMoving(source) ? { begin: null, end: null } : this.loader.boundsOf(source)) }));
    const key = JSON.stringify(requests.map(({ source, ...request }) => [source.id, request]));
    if (key === this.known && !isDue) return;
    this.known = key;
    this.loading?.abort();
    const loading = (this.loading = new AbortController());
    await Promise.all(
      requests.map(async ({ source, ...request }) => {
        try {
          const { series } = await api.series(source.id, { ...request, columns: 1 }, loading.signal);
          if (!loading.signal.aborted) this.values.set(source.id, series);
        } catch {
          // The charts report problems of the same source; the line has no values then.
          if (!loading.signal.aborted) this.values.delete(source.id);
        }
      }),
    );
    if (!loading.signal.aborted) this.draw();
  }

  /** Shows the lines; if one panel is shown alone, only those of logs. */
  show(isShown) {
    this.isShown = isShown;
    this.draw();
  }

  draw() {
    // A panel that is shown alone has the room of the facts about live machines; logs are named.
    const shown = this.sources.shown().filter(({ kind }) => this.isShown || kind === "log").slice(0, MAX_HEADLINES);
    const lines = shown.map((source) => [source, this.partsOf(source)]).filter(([, parts]) => parts.length);
    // In comparisons, the lines of a log have these dashes.
    const all = this.sources.shown();
    const dash = (source) => all.length > 1 && swatch({ colour: "currentColor", width: 0.5, dash: dashOf(0, all.indexOf(source)) });
    const text = JSON.stringify(lines.map(([source, parts]) => [source.name, all.length, all.indexOf(source), parts]));
    this.place.hidden = !lines.length;
    if (text === this.drawn) return;
    this.drawn = text;
    this.place.replaceChildren(...lines.map(([source, parts]) => element("p", {}, element("strong", {}, dash(source), source.name), parts.map(([label, value, kind]) => element("span", { class: kind }, label, label && value ? " " : "", value && element("b", { class: "number" }, value))))));
  }

  /** The parts of a source's line, `[label, value]` each, and a class. A value with an empty label joins the part before it. */
  partsOf(source) {
    const parts = [];
    if (source.operating_system) parts.push([source.operating_system, "", "headline-system"]);
    if (source.kind === "log" && source.machines.length) parts.push([source.machines.slice(0, 3).join(", ") + (source.machines.length > 3 ? ` and ${source.machines.length - 3} more` : ""), ""]);
    if (source.processors) parts.push([count(source.processors, "processor"), ""]);
    for (const { path, label } of state.headline) {
      const found = (this.values.get(source.id) ?? []).filter((line) => matcherOf(path)(line.path));
      const value = found[0]?.statistics?.last ?? null;
      // Several machines have no common value.
      if (found.length !== 1 || value === null) continue;
      // Uptimes in all units; values of panels have three digits.
      const shown = found[0].format?.kind === "seconds" && value >= 60 ? duration(value) : lineFigure(value, found[0]);
      if (label === "" && parts.at(-1)?.[1]) parts.at(-1)[1] += ` ${shown}`;
      else parts.push([label ?? withoutMachine(path).split("\\").at(-1), shown]);
    }
    if (source.kind === "log" && source.begin) {
      const [zone, begin, end] = [zoneOf(state.zone, source), seconds(source.begin), seconds(source.end)];
      parts.push([`${rangeText(begin, end, zone)} (${zone.nameAt(begin)})`, ""]);
      if (source.interval) parts.push([`a sample every ${span(source.interval)}`, ""]);
    }
    return parts;
  }
}
