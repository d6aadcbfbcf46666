// What changed between two logs: the list of `tacho compare`, beside the panels. A click adds a counter to a panel, which shows both logs.

import * as api from "./api.js";
import { idOf } from "./earlier.js";
import { byId, element, setText } from "./element.js";
import { lineFigure, NONE } from "./figures.js";
import { announce, showNotice } from "./messages.js";
import { nameOf } from "./names.js";
import { counterOf, MAX_PANELS, panelOf, withPanel } from "./panels.js";
import { withoutMachine } from "./paths.js";
import { change, onChange, state } from "./state.js";
import { fixed } from "./units.js";

/** The number of requested rows, of which the first ones are drawn; the filter finds the others. */
const ROWS = 2000;
const MAX_DRAWN = 300;
/** A panel that the list creates has at most this many counters. */
const MAX_IN_PANEL = 12;
/** Changes of the range within this time lead to one request, in milliseconds. */
const PAUSE_MS = 300;

const WORDS = { only_before: "only before", only_after: "only after", unknown: NONE, same: "same", from_zero: "from 0", to_zero: "to 0", sign_changed: "sign" };

/** How an average changed: `× 2.50`, `÷ 2.50`, `from 0`. */
export function changeWords({ change: kind, factor }) {
  if (factor === null || factor === undefined) return WORDS[kind] ?? NONE;
  const decimals = factor >= 99.95 ? 0 : factor >= 9.995 ? 1 : 2;
  const digits = factor >= 999.5 ? Math.round(factor).toLocaleString("en-US") : fixed(factor, decimals);
  return `${kind === "divided" ? "÷" : "×"} ${digits}`;
}

/** The set and the counter of a path without its machine; counters that share them also share a panel. */
const kindOf = (path) => path.replace(/\(.*\)\\/, "\\").toLowerCase();

/**
 * Rows without those that repeat another one, such as a disk and its total: the same counter with the same averages. `equal` of a row are the
 * rows that repeat it. Whole numbers can be equal by chance.
 */
function withoutEqual(rows) {
  const known = new Map();
  const isWhole = ({ before, after }) => Number.isInteger(before ?? 0) && Number.isInteger(after ?? 0);
  return rows.filter((row) => {
    row.equal = [];
    const key = `${row.counter} ${row.before} ${row.after}`;
    if (!isWhole(row) && known.has(key)) known.get(key).equal.push(row);
    else return known.set(key, row);
    return false;
  });
}

export class Comparison {
  /** `loader` has the shown sources and their ranges; `onAdded(panel)` is called after a counter was added to a panel. */
  constructor({ loader, onAdded, onOpen }) {
    Object.assign(this, { loader, onAdded, onOpen, rows: [], total: 0, omitted: [] });
    /** The ids of the log before and of the log after. */
    this.pair = [];
    /** The ids of the panels that the list created. */
    this.panels = new Set();
    this.panel = byId("compare-panel");
    byId("compare-button").addEventListener("click", () => this.toggle());
    byId("compare-close").addEventListener("click", () => this.close());
    byId("compare-filter").addEventListener("input", () => this.draw());
    for (const name of ["before", "after"]) byId(`compare-${name}`).addEventListener("change", () => this.chosen(name));
    byId("compare-swap").addEventListener("click", () => this.show([...this.pair].reverse()));
    byId("compare-sort").addEventListener("change", () => this.update());
    this.panel.addEventListener("keydown", (event) => event.key === "Escape" && this.close());
    onChange((names) => {
      if (["sources", "range", "align", "shift"].some((name) => names.has(name))) this.sourcesChanged();
      if (names.has("panels")) this.mark();
    });
  }

  /** The logs that can be compared: those that are shown, and the same ones some time earlier. */
  entries() {
    return this.loader.entries().filter(({ kind, originalKind }) => (originalKind ?? kind) === "log");
  }

  toggle() {
    if (this.panel.hidden) this.open();
    else this.close();
  }

  open() {
    if (this.entries().length < 2) return showNotice("Show two logs, or one and earlier values of it (Time menu), to compare them.");
    this.onOpen();
    this.panel.hidden = false;
    byId("compare-button").setAttribute("aria-expanded", "true");
    this.sourcesChanged();
    byId("compare-filter").focus();
    return undefined;
  }

  close() {
    const hadFocus = this.panel.contains(document.activeElement);
    this.panel.hidden = true;
    byId("compare-button").setAttribute("aria-expanded", "false");
    this.loading?.abort();
    this.known = "";
    if (hadFocus) byId("compare-button").focus();
  }

  /** Updates the button and the lists of logs. */
  sourcesChanged() {
    const entries = this.entries();
    byId("compare-button").hidden = entries.length < 2;
    if (this.panel.hidden) return;
    if (entries.length < 2) return this.close();
    // Without earlier values, the order of the logs in the charts decides. A log some time earlier is before itself.
    const earlier = entries.find(({ of }) => of);
    if (!earlier) this.pair = entries.slice(0, 2).map(({ id }) => id);
    else if (!this.hadEarlier || !this.pair.every((chosen) => entries.some(({ id }) => id === chosen))) this.pair = [earlier.id, earlier.of];
    this.hadEarlier = Boolean(earlier);
    ["before", "after"].forEach((name, index) => {
      byId(`compare-${name}`).replaceChildren(...entries.map(({ id, name: text }) => element("option", { value: id }, text)));
      byId(`compare-${name}`).value = this.pair[index];
    });
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.update(), PAUSE_MS);
    return undefined;
  }

  /** Uses the log that a list names; if the other list names it too, that one gets the previous log of this list. */
  chosen(name) {
    const [own, other] = name === "before" ? [0, 1] : [1, 0];
    const pair = [...this.pair];
    pair[own] = byId(`compare-${name}`).value;
    if (pair[own] === pair[other]) pair[other] = this.pair[own];
    this.show(pair);
  }

  /** Compares these logs, also in the charts. */
  show(pair) {
    this.pair = pair;
    if (this.entries().some(({ of }) => of)) this.sourcesChanged();
    else change({ sources: [...pair, ...state.sources.filter((id) => !pair.includes(id))] });
  }

  request() {
    const [before, after] = this.pair.map((chosen) => this.entries().find(({ id }) => id === chosen));
    if (!before || !after) return null;
    const [earlier, later] = [before, after].map((source) => this.loader.boundsOf(source));
    return { before: idOf(before), after: idOf(after), before_begin: earlier.begin, before_end: earlier.end, after_begin: later.begin, after_end: later.end, sort: byId("compare-sort").value, top: ROWS };
  }

  /** Requests the list, unless it is already there. */
  async update() {
    const request = this.panel.hidden ? null : this.request();
    const key = JSON.stringify(request);
    if (!request || key === this.known) return;
    this.known = key;
    this.loading?.abort();
    const loading = (this.loading = new AbortController());
    setText(byId("compare-state"), "Comparing…");
    try {
      const { rows, total, omitted_sets: omitted } = await api.compare(request, loading.signal);
      if (loading.signal.aborted) return;
      Object.assign(this, { rows, total, omitted });
      this.draw();
    } catch (problem) {
      if (loading.signal.aborted) return;
      this.known = "";
      Object.assign(this, { rows: [], total: 0, omitted: [] });
      this.draw();
      setText(byId("compare-state"), problem.message);
    }
  }

  draw() {
    const words = byId("compare-filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = withoutEqual(this.rows.filter(({ path }) => words.every((word) => path.toLowerCase().includes(word))));
    byId("compare-body").replaceChildren(...found.slice(0, MAX_DRAWN).map((row) => this.row(row)));
    const shown = Math.min(found.length, MAX_DRAWN);
    const number = (value) => value.toLocaleString("en-US");
    const parts = [`${shown} of ${words.length ? `${number(found.length)} found in ` : ""}${number(words.length ? this.rows.length : this.total)} counters`];
    if (this.rows.length < this.total) parts.push(`the filter searches the first ${number(this.rows.length)}`);
    const means = this.rows.filter((one) => one.average_kind === "arithmetic").length;
    byId("compare-body").classList.toggle("mixed", means > 0 && means < this.rows.length);
    if (means) parts.push(`${means < this.rows.length ? "averages in italics" : "averages"} are means of the values in the log, which has no raw values`);
    if (this.omitted.length) parts.push(`not listed: ${this.omitted.map(({ set }) => set).join(", ")}, because other sets have the same counters`);
    setText(byId("compare-state"), parts.join("; "));
    this.mark();
  }

  row(row) {
    const value = (name) => element("td", { class: row.average_kind === "arithmetic" && row[name] !== null ? "number arithmetic" : "number", "data-value": row[name] ?? "" }, lineFigure(row[name], row));
    const name = element("button", { type: "button", class: "plain compare-name", title: `${row.path}\nA click adds it to a panel, or removes it`, "aria-pressed": "false", "data-path": this.pathOf(row), onclick: () => this.choose(row) }, nameOf(row));
    const hint = row.pairing === "sum" ? `${row.set}, sum of instances: ${row.instances_before} before, ${row.instances_after} after` : row.pairing === "replaced" ? `${row.set}, another process` : row.set;
    const also = row.equal.map(({ path }) => withoutMachine(path).replace(/^\\|\\[^\\]*$/g, "")).join(", ");
    return element("tr", {}, element("th", { scope: "row" }, name, element("span", { class: "hint" }, also ? `${hint}; also ${also}` : hint)), value("before"), value("after"), element("td", { class: "number", "data-value": row.factor ?? "" }, changeWords(row)));
  }

  /** The path of a panel's counter: it selects the counter in both logs; of a sum, the first instance. */
  pathOf(row) {
    const isOfSeveral = this.entries().some(({ machines }) => machines.length > 1);
    return isOfSeveral ? row.path : withoutMachine(row.path);
  }

  /** The paths of a panel's counters: of a sum, those of all instances of the name. */
  pathsOf(row) {
    const path = this.pathOf(row);
    return row.pairing === "sum" ? [path, path.replace(/\)(\\[^\\]*)$/, "#*)$1")] : [path];
  }

  /** The panel of the list that has a path. */
  holder(path) {
    const has = ({ counters }) => counters.some((counter) => counter.path.toLowerCase() === path.toLowerCase());
    return state.panels.find((panel) => this.panels.has(panel.id) && has(panel)) ?? null;
  }

  mark() {
    for (const button of byId("compare-body").querySelectorAll(".compare-name")) button.setAttribute("aria-pressed", String(this.holder(button.dataset.path) !== null));
  }

  /** Adds a counter to a panel, or removes it. */
  choose(row) {
    const path = this.pathOf(row);
    const holder = this.holder(path);
    if (holder) {
      const removed = this.pathsOf(row).map((one) => one.toLowerCase());
      const counters = holder.counters.filter((counter) => !removed.includes(counter.path.toLowerCase()));
      const panels = counters.length ? withPanel(state.panels, holder.id, { counters }) : state.panels.filter(({ id }) => id !== holder.id);
      change({ panels, viewName: null });
      announce(`Removed ${nameOf(row)}.`);
      return;
    }
    const fits = ({ id, counters }) => this.panels.has(id) && counters.length < MAX_IN_PANEL && counters.every((counter) => kindOf(counter.path) === kindOf(path));
    const known = state.panels.find(fits);
    if (!known && state.panels.length >= MAX_PANELS) {
      showNotice(`There are already ${MAX_PANELS} panels.`);
      return;
    }
    const added = known ?? panelOf({ title: `${row.set}: ${row.counter}`, counters: this.pathsOf(row).map((one) => ({ path: one })) });
    this.panels.add(added.id);
    // A new panel is first, where it is visible.
    const panels = known ? withPanel(state.panels, known.id, { counters: [...known.counters, ...this.pathsOf(row).map((one) => counterOf({ path: one }))] }) : [added, ...state.panels];
    change({ panels, viewName: null, open: null });
    announce(`Added ${nameOf(row)}.`);
    this.onAdded(added.id);
  }
}
