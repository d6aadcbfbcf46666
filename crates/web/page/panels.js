// The model of panels: what each shows, as in view files (docs/views.md), and which lines belong to it.

import { hasWildcard, matcherOf, withoutMachine } from "./paths.js";

export const KINDS = { line: "Line", area: "Area", stacked: "Stacked area", bars: "Bars", report: "Numbers", table: "Table", heatmap: "Heat map" };
export const AXES = { linear: "linear", logarithmic: "logarithmic", scaled: "scaled (Performance Monitor)" };
/** Properties of processes that are not counters: the names in view files, and those in responses of the server. */
export const PROPERTIES = { User: "user", State: "state", Command: "command", "Control Group": "cgroup" };
export const TREES = { none: "List", parent: "Tree by parent", cgroup: "By control group" };
export const MAX_PANELS = 100;
/** The maximum number of counters of the line above the panels, as in view files. */
const MAX_HEADLINE = 10;
/** The largest width and height of a panel, in cells of the grid. */
export const MAX_SHARE = 4;

/** The largest id in a link. */
const MAX_ID = 1e8;

let lastId = 0;

/** Whether a kind is a line, area or stacked chart. */
export const isChart = (kind) => kind === "line" || kind === "area" || kind === "stacked";

/** Whether a kind has a time axis. These charts and the heat map have one. */
export const isOverTime = (kind) => isChart(kind) || kind === "heatmap";

const text = (value) => (typeof value === "string" && value ? value.slice(0, 4000) : null);
const number = (value) => (typeof value === "number" && Number.isFinite(value) ? value : null);
const share = (value) => (Number.isInteger(value) && value >= 1 && value <= MAX_SHARE ? value : 1);
const oneOf = (names, value, usual) => (typeof value === "string" && Object.hasOwn(names, value) ? value : usual);
const list = (value) => (Array.isArray(value) ? value.slice(0, 1000) : []);

/** Alternative paths: texts, or `{path, label}`. */
const alternatives = (given) => list(given).map((one) => (text(one?.path) && text(one.label) ? { path: text(one.path), label: text(one.label) } : text(one?.path ?? one))).filter(Boolean);

/** A counter of a panel; `given` is not trusted. */
export function counterOf(given) {
  const colour = number(given?.colour);
  const scale = number(given?.scale);
  return {
    path: text(given?.path),
    or: alternatives(given?.or),
    label: text(given?.label),
    only_active: given?.only_active === true,
    colour: Number.isInteger(colour) && colour >= 1 && colour <= 32 ? colour : null,
    scale: Number.isInteger(scale) && Math.abs(scale) <= 9 ? scale : null,
    is_shown: given?.is_shown !== false,
    is_highlighted: given?.is_highlighted === true,
    except: list(given?.except).map(text).filter(Boolean),
  };
}

/** The counters of the line above the panels; `given` is not trusted. An empty label joins the value before it. */
export const headlineOf = (given) =>
  list(given)
    .slice(0, MAX_HEADLINE)
    .map((one) => ({ path: text(one?.path), or: alternatives(one?.or), label: typeof one?.label === "string" ? one.label.slice(0, 200) : null }))
    .filter(({ path }) => path);

function tableOf(given) {
  const columns = list(given?.columns).map((column) => ({ title: text(column?.title) ?? text(column?.counter) ?? "Name", counter: text(column?.counter), help: text(column?.help), property: Object.hasOwn(PROPERTIES, column?.property ?? "") ? column.property : null, is_last: column?.is_last === true }));
  const set = text(given?.set);
  if (!set || !columns.length) return null;
  const top = number(given?.top);
  return { set, machine: text(given?.machine), columns, sort: text(given?.sort), is_descending: given?.is_descending !== false, top: top > 0 ? Math.round(top) : null, filter: text(given?.filter) ?? "", tree: oneOf(TREES, given?.tree, "none"), process: text(given?.process), parent: text(given?.parent) };
}

/** A panel from a view that the server sent, a link, or an incomplete panel; `given` is not trusted. */
export function panelOf(given) {
  const id = Number.isInteger(given?.id) && given.id > 0 && given.id <= MAX_ID ? given.id : lastId + 1;
  lastId = Math.max(lastId, id);
  return {
    id,
    title: text(given?.title),
    kind: oneOf(KINDS, given?.kind, "line"),
    axis: oneOf(AXES, given?.axis, "linear"),
    unit: text(given?.unit),
    min: number(given?.min),
    max: number(given?.max),
    limits: list(given?.limits).map(number).filter((limit) => limit !== null),
    bands: list(given?.bands).filter((band) => Array.isArray(band) && number(band[0]) !== null && number(band[1]) !== null && band[0] < band[1]).map(([low, high]) => [low, high]),
    top: Number.isInteger(given?.top) && given.top > 0 ? given.top : null,
    width: share(given?.width),
    height: share(given?.height),
    counters: list(given?.counters).map(counterOf).filter(({ path }) => path),
    table: tableOf(given?.table),
  };
}

/** A panel without the settings that have their default, for links. */
export function shortened(panel) {
  const usual = panelOf({ id: panel.id });
  const counters = panel.counters.map((counter) => {
    const defaults = counterOf({ path: counter.path });
    return Object.fromEntries(Object.entries(counter).filter(([name, value]) => name === "path" || JSON.stringify(value) !== JSON.stringify(defaults[name])));
  });
  const parts = Object.entries(panel).filter(([name, value]) => name === "id" || (name !== "counters" && JSON.stringify(value) !== JSON.stringify(usual[name])));
  return { ...Object.fromEntries(parts), ...(counters.length ? { counters } : {}) };
}

/** The paths of the charts of all panels, each once. Tables are loaded separately. */
export function pathsOf(panels) {
  const known = new Map();
  for (const panel of panels) {
    if (panel.kind === "table" && panel.table) continue;
    for (const { path } of panel.counters) if (!known.has(path.toLowerCase())) known.set(path.toLowerCase(), path);
  }
  return [...known.values()];
}

/** The title of a panel: its own, or the counter set, with the counter if there is only one. */
export function titleOf(panel) {
  if (panel.title) return panel.title;
  if (panel.table) return panel.table.set;
  const [, set = "Panel", counter] = /^\\([^\\(]+)(?:\(.*\))?\\(.+)$/.exec(withoutMachine(panel.counters[0]?.path ?? "")) ?? [];
  return counter && counter !== "*" && panel.counters.length === 1 ? `${set}: ${counter}` : set;
}

/** For each list of counters, maps a path to the counter that selects it, so that the patterns are tried only once per path. */
const counterByPath = new WeakMap();

/** The counter of a panel that selects a path, `"except"` if it excludes the path, or null. */
export function counterFor(panel, path) {
  let known = counterByPath.get(panel.counters);
  if (!known) counterByPath.set(panel.counters, (known = new Map()));
  if (known.has(path)) return known.get(path);
  const isSame = (one) => one.toLowerCase() === path.toLowerCase() || one.toLowerCase() === withoutMachine(path).toLowerCase();
  const counter = panel.counters.find((one) => matcherOf(one.path)(path)) ?? null;
  const result = counter?.except.some(isSame) ? "except" : counter;
  if (known.size > 100_000) known.clear();
  known.set(path, result);
  return result;
}

/** A short name of a line in its panel: the label of its counter, preceded by the instance if the path has wildcards. */
export function labelOf(counter, line) {
  if (!counter?.label) return null;
  const instance = line.parent ? `${line.parent}/${line.instance}` : line.instance;
  return hasWildcard(counter.path) && instance ? `${instance} ${counter.label}` : counter.label;
}

/** A copy of the panels, in which one has other settings. */
export const withPanel = (panels, id, parts) => panels.map((panel) => (panel.id === id ? { ...panel, ...parts } : panel));

/** The panels with one moved to the index `to`. */
export function movedPanel(panels, id, to) {
  const at = panels.findIndex((panel) => panel.id === id);
  const place = Math.max(0, Math.min(panels.length - 1, to));
  if (at < 0 || at === place) return panels;
  const rest = panels.filter((panel) => panel.id !== id);
  rest.splice(place, 0, panels[at]);
  return rest;
}
