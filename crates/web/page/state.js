// The state of the page: everything that a link or a saved view restores.

import { COLOURS } from "./palette.js";
import { counterOf, pathsOf } from "./panels.js";
import { selects, withoutMachine } from "./paths.js";

/** The state of the page. Change it only with `change`, which notifies the listeners. */
export const state = {
  /** The panels, in reading order; `panels.js` describes them. Replaced, never changed in place. */
  panels: [],
  /** The id of the panel that is shown alone; null for all panels. */
  open: null,
  /** The name of the server's view whose panels are shown, or null if the user has changed them. */
  viewName: null,
  /** The counters of the line above the panels: `{path, or, label}`. */
  headline: [],
  /** The title of the view. */
  title: "",
  /** The name under which the view was saved last, which the View menu shows and a view file gets. */
  savedName: null,
  /** Whether users have changed the view since it was opened or saved. */
  isChanged: false,
  /** Ids of the sources on the chart, in order. */
  sources: [],
  /** The counter paths of all charts, which can have wildcards. Derived from the panels. */
  paths: [],
  /** Keys of counters that the paths select but the user has removed. */
  removed: new Set(),
  /**
   * The zoomed range, in seconds of the time axis; null for the whole. A begin or end that is null is that of the data.
   */
  range: null,
  /** The window at which live data was frozen; null while it runs. */
  frozen: null,
  /** "absolute", or "start": all sources begin at 0. */
  align: "absolute",
  /** Whether the alignment was chosen by users or a link. */
  isAlignChosen: false,
  /** Every source is also shown as it was this many seconds earlier; 0: it is not. */
  shift: 0,
  /** "none", or "name": the instances `name`, `name#1`, ... are one, with the sum of their raw values. */
  group: "none",
  /** Notes of users: `{begin, end, text}` in seconds since 1970; `end` is null for a moment. */
  annotations: [],
  /** The note that the Notes menu would add, as a list; null if the menu is closed. */
  draft: null,
  /** "log", "local" or "utc". */
  zone: "log",
  /** "units" or "raw": whether figures have units and three digits, or all digits. */
  numbers: "units",
  /** The value of bars and reports: "default", or one of `FIGURES` in `figures.js`. */
  figure: "default",
  /** The statistics that are columns of the legend, in the order of `LEGEND_FIGURES`. */
  columns: ["average", "last", "minimum", "maximum"],
  /** For live values: every n-th collection is shown; the number of points. */
  every: 1,
  points: 100,
  /** The settings of the legend, by key: `{styleIndex, scale, isHidden, isHighlighted, isColoured}`. */
  legend: new Map(),
  /** The key of the selected counter. */
  selected: null,
  /** The legend shows only rows that contain these words, and at most `top` of them; null for all. */
  filter: "",
  top: null,
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
  if (parts.panels) {
    const paths = pathsOf(parts.panels);
    if (paths.join("\n") !== state.paths.join("\n")) parts = { ...parts, paths };
  }
  // Parts that belong to no view are changes of users, unless the caller says otherwise.
  if (parts.viewName === null) parts = { isChanged: true, ...parts };
  if (parts.legend && parts.legend !== state.legend) {
    // The colours of the previous counters are free again.
    present = new Set(parts.legend.keys());
    taken = new Map();
    for (const [key, { styleIndex }] of parts.legend) takenIn(panelOf(key)).add(styleIndex);
  }
  Object.assign(state, parts);
  const names = new Set(Object.keys(parts));
  for (const callback of listeners) callback(names);
}

/** The key of a counter of a source. */
export function keyOf(source, path) {
  return `${source} ${path.toLowerCase()}`;
}

/** The key of a counter of a source in a panel. */
export const panelKey = (panel, key) => `${panel.id}.${key}`;

/** The path of a key, in lower case. */
const pathOf = (key) => key.slice(key.indexOf(" ") + 1);
/** The part of a key that names the panel. */
const panelOf = (key) => key.slice(0, key.indexOf(".") + 1);

/** The keys of the counters on the charts. */
let present = new Set();
/** The styles in use, by panel. */
let taken = new Map();

function takenIn(panel) {
  if (!taken.has(panel)) taken.set(panel, new Set());
  return taken.get(panel);
}

/** A colour for the instance of a counter, or for a counter without one. Names such as `sda` and `sdb`, `0` and `1` differ. */
function colourOf(path) {
  const instance = /^\\[^\\(]*\((.*)\)\\[^\\]*$/.exec(withoutMachine(path))?.[1] ?? "_total";
  const name = instance === "_total" ? withoutMachine(path) : instance;
  let sum = 0;
  for (const sign of name) sum = (sign.codePointAt(0) - sum) | 0;
  return ((sum % COLOURS) + COLOURS) % COLOURS;
}

/**
 * An unused style of a panel: if possible, with the colour of the counter's instance, which is the same in all panels and views;
 * otherwise with the next free colour.
 */
function freeStyleIndex(key) {
  const used = takenIn(panelOf(key));
  const first = colourOf(pathOf(key));
  // Usually, all indexes below the number of used ones are in use, so the search begins not far below it.
  for (let round = Math.max(0, Math.floor(used.size / COLOURS) - 8); ; round += 1) {
    for (let step = 0; step < COLOURS; step += 1) {
      const index = round * COLOURS + ((first + step) % COLOURS);
      if (!used.has(index)) return index;
    }
  }
}

/** The settings of a counter. A new counter gets an unused colour and default settings, except those in `first`. */
export function entry(key, first = null) {
  let found = state.legend.get(key);
  if (!found) {
    found = { styleIndex: freeStyleIndex(key), scale: "default", isHidden: false, isHighlighted: false, isColoured: false, ...first };
    state.legend.set(key, found);
    present.add(key);
    takenIn(panelOf(key)).add(found.styleIndex);
  }
  return found;
}

/**
 * Sets the counters on the charts. Settings of other counters that the user has not changed are dropped. If two counters of a panel have
 * the same colour, the later one gets another colour, unless a user or the view chose it.
 */
export function setPresent(keys) {
  for (const [key, { scale, isHidden, isHighlighted, isColoured, isOfView }] of state.legend) {
    const isChanged = !isOfView && (scale !== "default" || isHidden || isHighlighted || isColoured);
    if (!keys.has(key) && !isChanged) state.legend.delete(key);
  }
  present = new Set();
  taken = new Map();
  // The colours that users or the view chose are not free for others.
  const ordered = [...keys].filter((key) => state.legend.has(key)).sort((one, other) => Number(state.legend.get(other).isColoured) - Number(state.legend.get(one).isColoured));
  for (const key of ordered) {
    const known = state.legend.get(key);
    const used = takenIn(panelOf(key));
    if (!known.isColoured && used.has(known.styleIndex)) known.styleIndex = freeStyleIndex(key);
    used.add(known.styleIndex);
    present.add(key);
  }
}

/** Changes the settings of counters. */
export function changeEntries(keys, parts) {
  for (const key of keys) Object.assign(entry(key), { isOfView: false }, parts);
  change({ legend: state.legend });
}

/**
 * A panel with more paths: `{counters, removed, isMore}`. Known paths keep their position. Counters of the panel that the user has removed
 * return if the paths select them.
 */
export function addedTo(panel, paths) {
  const known = new Set(panel.counters.map(({ path }) => path.toLowerCase()));
  const added = paths.filter((path) => !known.has(path.toLowerCase()));
  const returns = (key) => panelOf(key) === `${panel.id}.` && paths.some((path) => selects(path, pathOf(key)));
  const removed = new Set([...state.removed].filter((key) => !returns(key)));
  const counters = [...panel.counters, ...added.map((path) => counterOf({ path }))];
  return { counters, removed, isMore: added.length > 0 || removed.size < state.removed.size };
}
