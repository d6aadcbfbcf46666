// What is shown: everything that a link or a saved view brings back, and how it is written into the address.

import { selects } from "./paths.js";

/** The state of the page. Change it through `change`, so that whoever shows a part of it is told. */
export const state = {
  /** "line", "histogram" or "report". */
  view: "line",
  /** Ids of the sources on the chart, in their order. */
  sources: [],
  /** Counter paths, with wildcards, that are looked for in each of these sources. */
  paths: [],
  /** Keys of counters that were taken out of what the paths select. */
  removed: new Set(),
  /** The stretch zoomed into, in seconds of the time axis; null for the whole. */
  range: null,
  /** The window at which live data was frozen; null while it runs. */
  frozen: null,
  /** "absolute", or "start": all sources begin at 0. */
  align: "absolute",
  /** "log", "local" or "utc". */
  zone: "log",
  /** "auto" or "100": the vertical axis. */
  axis: "auto",
  /** Which value bars and reports show: "default", "last", "average", "minimum" or "maximum". */
  figure: "default",
  /** Live: every n-th collection, and how many points are shown. */
  every: 1,
  points: 100,
  /** What was chosen in the legend, by key: `{number, scale, isHidden, isHighlighted, isColoured}`. */
  legend: new Map(),
  /** The key of the selected counter. */
  selected: null,
  /** The legend's order: a column and a direction; null for the order of adding. */
  sort: null,
};

const listeners = [];

/** Calls `callback(changed)` with the names of what changed. */
export function onChange(callback) {
  listeners.push(callback);
}

/** Sets parts of the state and tells the listeners. */
export function change(parts) {
  Object.assign(state, parts);
  const names = new Set(Object.keys(parts));
  for (const callback of listeners) callback(names);
}

/** The key of a counter of a source. */
export function keyOf(source, path) {
  return `${source} ${path.toLowerCase()}`;
}

/** The path in a key, in small letters. */
const pathOf = (key) => key.slice(key.indexOf(" ") + 1);

/** The keys of the counters on the chart. */
let present = new Set();

function freeNumber() {
  const taken = new Set([...present].map((key) => state.legend.get(key)?.number));
  let number = 0;
  while (taken.has(number)) number += 1;
  return number;
}

/** What was chosen in the legend for a key; a new counter gets the first colour that no other on the chart has. */
export function entry(key) {
  let found = state.legend.get(key);
  if (!found) {
    found = { number: freeNumber(), scale: "default", isHidden: false, isHighlighted: false, isColoured: false };
    state.legend.set(key, found);
    present.add(key);
  }
  return found;
}

/**
 * Takes up which counters are on the chart. Others for which nothing was chosen are forgotten; of two that come together with
 * one colour, the later one gets another, unless it was chosen.
 */
export function setPresent(keys) {
  for (const [key, { scale, isHidden, isHighlighted, isColoured }] of state.legend) {
    if (!keys.has(key) && scale === "default" && !isHidden && !isHighlighted && !isColoured) state.legend.delete(key);
  }
  present = new Set();
  for (const key of keys) {
    const known = state.legend.get(key);
    const isTaken = known && [...present].some((other) => state.legend.get(other).number === known.number);
    if (isTaken && !known.isColoured) known.number = freeNumber();
    if (known) present.add(key);
  }
}

/** Changes what was chosen for keys. */
export function changeEntries(keys, parts) {
  for (const key of keys) Object.assign(entry(key), parts);
  change({ legend: state.legend });
}

/**
 * Adds paths; those that are there already stay where they are. What was removed of what they select comes back. Answers whether
 * they bring anything.
 */
export function addPaths(paths) {
  const known = new Set(state.paths.map((path) => path.toLowerCase()));
  const added = paths.filter((path) => !known.has(path.toLowerCase()));
  const removed = new Set([...state.removed].filter((key) => !paths.some((path) => selects(path, pathOf(key)))));
  const isMore = added.length > 0 || removed.size < state.removed.size;
  change({ paths: [...state.paths, ...added], removed });
  return isMore;
}

/** The state as the text of a link's fragment. `nameOf` gives the name of a source. */
export function toFragment(nameOf) {
  const text = new URLSearchParams();
  const put = (key, value, usual) => value !== usual && value !== null && text.set(key, String(value));
  put("view", state.view, "line");
  for (const id of state.sources) text.append("source", `${id}~${nameOf(id)}`);
  for (const path of state.paths) text.append("path", path);
  if (state.range) text.set("range", `${state.range.begin.toFixed(3)}~${state.range.end.toFixed(3)}`);
  put("align", state.align, "absolute");
  put("zone", state.zone, "log");
  put("axis", state.axis, "auto");
  put("figure", state.figure, "default");
  put("every", state.every, 1);
  put("points", state.points, 100);
  if (state.sort) text.set("sort", `${state.sort.column}~${state.sort.isDescending ? "down" : "up"}`);
  put("selected", state.selected, null);
  for (const key of state.removed) text.append("without", key);
  for (const [key, { number, scale, isHidden, isHighlighted, isColoured }] of state.legend) {
    const flags = (isHidden ? "h" : "") + (isHighlighted ? "b" : "") + (isColoured ? "c" : "");
    if (scale !== "default" || flags) text.append("line", `${number}~${scale}~${flags}~${key}`);
  }
  return text.toString();
}

/** The parts of the state that a fragment tells. Nothing in it is trusted. `idOf` finds a source by id and name, or null. */
export function fromFragment(fragment, idOf) {
  const text = new URLSearchParams(fragment);
  const one = (key, allowed, usual) => (allowed.includes(text.get(key)) ? text.get(key) : usual);
  const number = (key, least, most, usual) => {
    const value = Number(text.get(key));
    return text.has(key) && Number.isInteger(value) && value >= least && value <= most ? value : usual;
  };
  const missing = [];
  const renamed = new Map();
  const sources = text.getAll("source").flatMap((told) => {
    const cut = told.indexOf("~");
    const [id, name] = cut < 0 ? [told, ""] : [told.slice(0, cut), told.slice(cut + 1)];
    const found = idOf(id, name);
    if (found === null) missing.push(name || id);
    else renamed.set(id, found);
    return found === null ? [] : [found];
  });
  // Keys start with the id of a source, which may be another one today.
  const keyToday = (key) => {
    const cut = key.indexOf(" ");
    return `${renamed.get(key.slice(0, cut)) ?? key.slice(0, cut)}${key.slice(cut)}`;
  };
  const legend = new Map();
  for (const told of text.getAll("line")) {
    const [place, scale, flags, ...key] = told.split("~");
    const known = scale === "fit" || scale === "default" || (/^-?\d$/.test(scale) && Math.abs(Number(scale)) <= 9);
    if (!known || !/^\d{1,4}$/.test(place) || !key.length) continue;
    const [isHidden, isHighlighted, isColoured] = ["h", "b", "c"].map((flag) => flags.includes(flag));
    legend.set(keyToday(key.join("~")), { number: Number(place), scale, isHidden, isHighlighted, isColoured });
  }
  const [begin, end] = (text.get("range") ?? "").split("~").map(Number);
  const [column, direction] = (text.get("sort") ?? "").split("~");
  return {
    missing,
    parts: {
      view: one("view", ["line", "histogram", "report"], "line"),
      sources: [...new Set(sources)],
      paths: text.getAll("path").filter(Boolean),
      removed: new Set(text.getAll("without").map(keyToday)),
      range: Number.isFinite(begin) && end > begin ? { begin, end } : null,
      align: one("align", ["absolute", "start"], "absolute"),
      zone: one("zone", ["log", "local", "utc"], "log"),
      axis: one("axis", ["auto", "100"], "auto"),
      figure: one("figure", ["default", "last", "average", "minimum", "maximum"], "default"),
      every: number("every", 1, 1000, 1),
      points: number("points", 2, 1000, 100),
      sort: column ? { column, isDescending: direction === "down" } : null,
      selected: text.has("selected") ? keyToday(text.get("selected")) : null,
      legend,
    },
  };
}
