// Views of the server and view files (docs/views.md): shows them, and writes the present one.

import * as api from "./api.js";
import { save } from "./export.js";
import { showError, showNotice } from "./messages.js";
import { annotationsOf } from "./annotations.js";
import { headlineOf, MAX_PANELS, panelOf } from "./panels.js";
import { change, entry, panelKey, state } from "./state.js";
import { seconds, textOf, ticksOfSeconds } from "./time.js";

/** The parts of the state that a view sets. `isFirst` is true for a view of the server, false for a view file. */
function partsOf(view, isFirst) {
  const panels = view.panels.map((panel) => panelOf(panel));
  const parts = { panels, headline: headlineOf(view.headline), title: view.title ?? "", savedName: null, isChanged: false, open: null, removed: new Set(), legend: new Map(), selected: null };
  if (view.points) parts.points = view.points;
  // A view of the server keeps the grouping that users chose, unless it has its own.
  if (view.group_by || !isFirst) parts.group = view.group_by ?? "none";
  // A view of the server keeps the annotations of users, unless it has its own.
  const annotations = annotationsOf((view.annotations ?? []).map(({ begin, end, text }) => ({ begin: seconds(begin), end: seconds(end), text })));
  if (annotations.length || !isFirst) parts.annotations = annotations;
  // Only view files change the visible range.
  const range = view.begin || view.end ? { begin: seconds(view.begin), end: seconds(view.end) } : null;
  if (range && !isFirst) parts.range = range;
  return parts;
}

/** Whether a log is still being read. */
async function isReading(id) {
  try {
    return (await api.source(id)).state === "reading";
  } catch {
    return false;
  }
}

/** Whether a source is still open on the server. */
async function isOpen(id) {
  try {
    await api.source(id);
    return true;
  } catch (problem) {
    return problem.status !== 404;
  }
}

/** Fits views to the first of the shown sources. */
export class Views {
  /** `onOther()`: another view than the wanted one is shown; `onGone()`: the server has closed the source. */
  constructor({ sources, onOther, onGone }) {
    Object.assign(this, { sources, onOther, onGone });
    this.generation = 0;
    this.fitted = "";
    this.all = [];
  }

  async load() {
    this.all = (await api.views()).views;
  }

  /** Discards views that are being loaded or wait for a source, because the user has chosen other panels. */
  cancel() {
    this.generation += 1;
    this.wanted = null;
  }

  /** Shows a view by its name. `parts` of a link take precedence over those of the view. */
  async open(name, parts = {}) {
    const source = this.sources.shown()[0];
    const generation = (this.generation += 1);
    this.wanted = { name, parts };
    this.fitted = "";
    if (!source) return change({ viewName: name, isChanged: false, panels: [], ...parts });
    try {
      const view = await api.view(name, source.id);
      if (generation !== this.generation) return undefined;
      this.fitted = source.id;
      this.wanted = null;
      const range = state.range;
      change({ ...partsOf(view, true), viewName: view.name || name, range, ...parts });
      this.report(view);
    } catch (problem) {
      if (generation !== this.generation) return undefined;
      if (problem.status === 409 && (await isReading(source.id))) {
        // When the log has been read, the view is fitted again.
        if (generation === this.generation) this.sources.follow(source.id);
        return undefined;
      }
      if (generation !== this.generation) return undefined;
      if (problem.status === 404 && !(await isOpen(source.id))) return this.onGone();
      showError(problem.status === 404 ? `There is no view “${name}” on this server: the start view is shown.` : problem);
      this.onOther();
      if (name !== "start") return this.open("start", parts);
    }
    return undefined;
  }

  /** Adds the panels of a view to the present ones. */
  async add(name, source) {
    try {
      const view = await api.view(name, source.id);
      const sources = state.sources.includes(source.id) ? {} : { sources: [...state.sources, source.id] };
      change({ ...sources, panels: [...state.panels, ...view.panels.map((panel) => panelOf(panel))].slice(0, MAX_PANELS), viewName: null, open: null });
      showNotice(`Added the panels of “${view.title}”.`);
    } catch (problem) {
      showError(problem);
    }
  }

  report({ missing, name }) {
    if (missing?.length && name !== "overview") showNotice(`Not available here: ${missing.join(", ")}.`);
  }

  /** Fits the view again if other sources are shown. */
  refit() {
    const source = this.sources.shown()[0];
    if (this.wanted) return source ? this.open(this.wanted.name, this.wanted.parts) : undefined;
    if (!source || source.id === this.fitted) return undefined;
    if (state.viewName) return this.open(state.viewName);
    // The panels of a link were not fitted to a source, so they stay unchanged.
    return this.fitted ? this.refitCounters(source) : undefined;
  }

  /** Chooses among the alternative paths of panels that the user has changed. */
  async refitCounters(source) {
    const generation = (this.generation += 1);
    this.fitted = source.id;
    try {
      const { panels, headline } = await api.fitView(textOfView(this.sources.shown()), source.id);
      if (generation !== this.generation || panels.length !== state.panels.length) return;
      change({ headline: headlineOf(headline), panels: state.panels.map((panel, index) => ({ ...panel, counters: panelOf({ id: panel.id, counters: panels[index].counters }).counters })) });
    } catch {
      // Leaves the panels unchanged.
    }
  }

  /** Shows the view of a file. */
  async openText(text, name) {
    try {
      const view = await api.fitView(text, this.sources.shown()[0]?.id ?? "live");
      this.cancel();
      this.fitted = this.sources.shown()[0]?.id ?? "";
      change({ ...partsOf(view, false), isChanged: false, viewName: null, title: view.title ?? name.replace(/\.toml$/i, "") });
      this.report(view);
      showNotice(`The view ${name} is open.`);
    } catch (problem) {
      showError(`${name}: ${problem.message}`);
    }
  }

  /** Saves the present panels as a view file. */
  download() {
    save(`${(state.savedName || state.title || "view").toLowerCase().replace(/[^a-z0-9]+/g, "-")}.toml`, new Blob([textOfView(this.sources.shown())], { type: "application/toml" }));
  }
}

const quoted = (text) => (/['\u0000-\u001f\u007f]/.test(text) ? JSON.stringify(text).replace(/\u007f/g, "\\u007F") : `'${text}'`);
const inline = (value) => (typeof value === "string" ? quoted(value) : typeof value === "object" ? `{ path = ${quoted(value.path)}, label = ${quoted(value.label)} }` : value);
const array = (values) => `[${values.map(inline).join(", ")}]`;

/** The text of a view file, version 2. Counters have the settings that users chose on the page. */
export function textOfView(sources) {
  const lines = ["version = 2"];
  const put = (key, value, usual = null) => {
    if (value !== usual && value !== null && value !== undefined && value !== "") lines.push(`${key} = ${typeof value === "string" ? quoted(value) : Array.isArray(value) ? array(value) : value}`);
  };
  put("title", state.savedName || state.title);
  put("points", state.points, 100);
  put("group_by", state.group, "none");
  if (state.range && state.align === "absolute") {
    lines.push("", "[range]");
    for (const end of ["begin", "end"]) if (state.range[end] !== null) put(end, textOf(ticksOfSeconds(state.range[end])));
  }
  for (const { begin, end, text } of state.annotations) {
    lines.push("", "[[annotation]]");
    put("begin", textOf(ticksOfSeconds(begin)));
    put("end", end === null ? null : textOf(ticksOfSeconds(end)));
    lines.push(`text = ${quoted(text)}`);
  }
  for (const { path, or, label } of state.headline) {
    lines.push("", "[[headline]]");
    put("path", path);
    if (or.length) put("or", or);
    if (label !== null) lines.push(`label = ${quoted(label)}`);
  }
  for (const panel of state.panels) {
    lines.push("", "[[panel]]");
    put("title", panel.title);
    put("kind", panel.kind, "line");
    put("unit", panel.unit);
    put("axis", panel.axis, "linear");
    if (panel.axis !== "scaled") {
      put("min", panel.min);
      put("max", panel.max);
    }
    if (panel.limits.length) put("limits", panel.limits);
    if (panel.bands.length) lines.push(`bands = [${panel.bands.map(array).join(", ")}]`);
    if (!panel.table && (panel.kind === "line" || panel.kind === "area")) put("top", panel.top);
    put("width", panel.width, 1);
    put("height", panel.height, 1);
    if (panel.table) {
      const { set, machine, columns, sort, is_descending: isDescending, top, filter } = panel.table;
      put("set", set);
      put("machine", machine);
      const nameOf = ({ counter, property }) => counter ?? property ?? "Name";
      put("columns", columns.map(nameOf));
      const sorted = columns.find(({ title }) => title === sort);
      put("sort", sorted ? nameOf(sorted) : null);
      put("reversed", sorted ? isDescending !== Boolean(sorted.counter) : null, false);
      put("top", top);
      put("filter", filter);
      put("tree", panel.table.tree, "none");
    }
    for (const counter of panel.counters) {
      lines.push("", "[[panel.counter]]");
      put("path", counter.path);
      if (counter.or.length) put("or", counter.or);
      put("label", counter.label);
      put("only_active", counter.only_active, false);
      const now = settingsNow(panel, counter, sources);
      put("colour", now.colour);
      put("scale", now.scale);
      put("shown", now.isShown, true);
      put("highlighted", now.isHighlighted, false);
      const removed = [...state.removed].filter((key) => key.startsWith(`${panel.id}.`)).map((key) => key.slice(key.indexOf(" ") + 1).replace(/^\\\\[^\\]+/, ""));
      // `except` has no patterns.
      const except = [...new Set([...counter.except, ...removed.filter((path) => !/[*?]/.test(path))])];
      if (except.length) put("except", except);
    }
  }
  return `${lines.join("\n")}\n`;
}

/** The settings of a counter: the current ones, which users can have changed; for a path with wildcards, those of the view. */
function settingsNow(panel, counter, sources) {
  const key = sources.length ? [...state.legend.keys()].find((known) => known.startsWith(panelKey(panel, `${sources[0].id} `)) && known.endsWith(counter.path.toLowerCase())) : null;
  const known = key ? entry(key) : null;
  if (!known || /[*?]/.test(counter.path)) return { colour: counter.colour, scale: counter.scale, isShown: counter.is_shown, isHighlighted: counter.is_highlighted };
  const scale = /^-?\d$/.test(known.scale) ? Number(known.scale) : counter.scale;
  return { colour: known.isColoured ? known.styleIndex + 1 : counter.colour, scale, isShown: !known.isHidden, isHighlighted: known.isHighlighted };
}
