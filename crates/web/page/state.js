// The state of the page: everything that a link or a saved view restores, and its form in the URL.

import { selects } from "./paths.js";

/** The state of the page. Change it only with `change`, which notifies the listeners. */
export const state = {
  /** "line", "histogram" or "report". */
  view: "line",
  /** Ids of the sources on the chart, in order. */
  sources: [],
  /** The requested counter paths, which can have wildcards. */
  paths: [],
  /** Keys of counters that the paths select but users have removed. */
  removed: new Set(),
  /** The zoomed range, in seconds of the time axis; null for the whole. */
  range: null,
  /** The window at which live data was frozen; null while it runs. */
  frozen: null,
  /** "absolute", or "start": all sources begin at 0. */
  align: "absolute",
  /** "log", "local" or "utc". */
  zone: "log",
  /** "auto" or "100": the vertical axis. */
  axis: "auto",
  /** The value of bars and reports: "default", "last", "average", "minimum" or "maximum". */
  figure: "default",
  /** Live: every n-th collection, and the number of points. */
  every: 1,
  points: 100,
  /** The settings of the legend, by key: `{styleIndex, scale, isHidden, isHighlighted, isColoured}`. */
  legend: new Map(),
  /** The key of the selected counter. */
  selected: null,
  /** The sort order of the legend: column and direction; null for the order of adding. */
  sort: null,
};

const listeners = [];

/** Calls `callback(names)` with the names of the changed parts. */
export function onChange(callback) {
  listeners.push(callback);
}

/** Changes parts of the state and notifies the listeners. */
export function change(parts) {
  Object.assign(state, parts);
  const names = new Set(Object.keys(parts));
  for (const callback of listeners) callback(names);
}

/** The key of a counter of a source. */
export function keyOf(source, path) {
  return `${source} ${path.toLowerCase()}`;
}

/** The path of a key, in lower case. */
const pathOf = (key) => key.slice(key.indexOf(" ") + 1);

/** The keys of the counters on the chart. */
let present = new Set();

function freeStyleIndex() {
  const taken = new Set([...present].map((key) => state.legend.get(key)?.styleIndex));
  let index = 0;
  while (taken.has(index)) index += 1;
  return index;
}

/** The settings of a counter; a new counter gets the first unused colour. */
export function entry(key) {
  let found = state.legend.get(key);
  if (!found) {
    found = { styleIndex: freeStyleIndex(), scale: "default", isHidden: false, isHighlighted: false, isColoured: false };
    state.legend.set(key, found);
    present.add(key);
  }
  return found;
}

/**
 * Sets the counters on the chart. Default settings of other counters are dropped; if two new counters have the same colour,
 * the later one gets another, unless a user chose it.
 */
export function setPresent(keys) {
  for (const [key, { scale, isHidden, isHighlighted, isColoured }] of state.legend) {
    if (!keys.has(key) && scale === "default" && !isHidden && !isHighlighted && !isColoured) state.legend.delete(key);
  }
  present = new Set();
  for (const key of keys) {
    const known = state.legend.get(key);
    const isTaken = known && [...present].some((other) => state.legend.get(other).styleIndex === known.styleIndex);
    if (isTaken && !known.isColoured) known.styleIndex = freeStyleIndex();
    if (known) present.add(key);
  }
}

/** Changes the settings of counters. */
export function changeEntries(keys, parts) {
  for (const key of keys) Object.assign(entry(key), parts);
  change({ legend: state.legend });
}

/**
 * Adds paths; known ones keep their position. Removed counters that they select return. Returns whether anything was added.
 */
export function addPaths(paths) {
  const known = new Set(state.paths.map((path) => path.toLowerCase()));
  const added = paths.filter((path) => !known.has(path.toLowerCase()));
  const removed = new Set([...state.removed].filter((key) => !paths.some((path) => selects(path, pathOf(key)))));
  const isMore = added.length > 0 || removed.size < state.removed.size;
  change({ paths: [...state.paths, ...added], removed });
  return isMore;
}

/** The state as a URL fragment. `nameOf` returns the name of a source. */
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
  for (const [key, { styleIndex, scale, isHidden, isHighlighted, isColoured }] of state.legend) {
    const flags = (isHidden ? "h" : "") + (isHighlighted ? "b" : "") + (isColoured ? "c" : "");
    if (scale !== "default" || flags) text.append("line", `${styleIndex}~${scale}~${flags}~${key}`);
  }
  return text.toString();
}

/** Parses a fragment, which is not trusted. `idOf` finds a source by id and name, or null. */
export function fromFragment(fragment, idOf) {
  const text = new URLSearchParams(fragment);
  const one = (key, allowed, usual) => (allowed.includes(text.get(key)) ? text.get(key) : usual);
  const number = (key, min, max, usual) => {
    const value = Number(text.get(key));
    return text.has(key) && Number.isInteger(value) && value >= min && value <= max ? value : usual;
  };
  const missing = [];
  const renamed = new Map();
  const sources = text.getAll("source").flatMap((source) => {
    const cut = source.indexOf("~");
    const [id, name] = cut < 0 ? [source, ""] : [source.slice(0, cut), source.slice(cut + 1)];
    const found = idOf(id, name);
    if (found === null) missing.push(name || id);
    else renamed.set(id, found);
    return found === null ? [] : [found];
  });
  // Keys start with the id of a source, which can have changed.
  const keyToday = (key) => {
    const cut = key.indexOf(" ");
    return `${renamed.get(key.slice(0, cut)) ?? key.slice(0, cut)}${key.slice(cut)}`;
  };
  const legend = new Map();
  for (const line of text.getAll("line")) {
    const [place, scale, flags, ...key] = line.split("~");
    const known = scale === "fit" || scale === "default" || (/^-?\d$/.test(scale) && Math.abs(Number(scale)) <= 9);
    if (!known || !/^\d{1,4}$/.test(place) || !key.length) continue;
    const [isHidden, isHighlighted, isColoured] = ["h", "b", "c"].map((flag) => flags.includes(flag));
    legend.set(keyToday(key.join("~")), { styleIndex: Number(place), scale, isHidden, isHighlighted, isColoured });
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
