// The state as a link: everything that is needed to see the same page again.

import { annotationsOf } from "./annotations.js";
import { headlineOf, MAX_PANELS, panelOf, shortened } from "./panels.js";
import { state } from "./state.js";
import { FIGURES, LEGEND_FIGURES } from "./figures.js";

const USUAL_COLUMNS = "average,last,minimum,maximum";
/** Ten years. */
const MAX_SHIFT = 3653 * 86_400;
/** The kinds that links of earlier versions name, and the present names. */
const EARLIER_KINDS = { line: "line", histogram: "bars", report: "report" };

/** The state as a URL fragment. `nameOf` returns the name of a source. */
export function toFragment(nameOf) {
  const text = new URLSearchParams();
  const put = (key, value, usual) => value !== usual && value !== null && text.set(key, String(value));
  for (const id of state.sources) text.append("source", `${id}~${nameOf(id)}`);
  if (state.viewName) text.set("open", state.viewName);
  else for (const panel of state.panels) text.append("panel", JSON.stringify(shortened(panel)));
  if (!state.viewName) put("title", state.title, "");
  put("name", state.savedName, null);
  if (state.isChanged) text.set("changed", "1");
  if (!state.viewName && state.headline.length) put("headline", JSON.stringify(state.headline.map(({ path, or, label }) => ({ path, ...(or.length ? { or } : {}), ...(label === null ? {} : { label }) }))));
  put("alone", state.open, null);
  if (state.range) text.set("range", [state.range.begin, state.range.end].map((at) => at?.toFixed(3) ?? "").join("~"));
  put("align", state.align, state.isAlignChosen || state.sources.length > 1 ? null : "absolute");
  put("shift", state.shift, 0);
  put("group", state.group, "none");
  put("columns", state.columns.join(), USUAL_COLUMNS);
  for (const { begin, end, text: words } of state.annotations) text.append("note", `${begin.toFixed(3)}~${end?.toFixed(3) ?? ""}~${words}`);
  put("zone", state.zone, "log");
  put("numbers", state.numbers, "units");
  put("figure", state.figure, "default");
  put("every", state.every, 1);
  put("points", state.points, 100);
  put("filter", state.filter, "");
  put("top", state.top, null);
  if (state.sort) text.set("sort", `${state.sort.column}~${state.sort.isDescending ? "down" : "up"}`);
  put("selected", state.selected, null);
  for (const key of state.removed) text.append("without", key);
  for (const [key, { styleIndex, scale, isHidden, isHighlighted, isColoured, isOfView }] of state.legend) {
    const flags = (isHidden ? "h" : "") + (isHighlighted ? "b" : "") + (isColoured ? "c" : "");
    if (!isOfView && (scale !== "default" || flags)) text.append("line", `${styleIndex}~${scale}~${flags}~${key}`);
  }
  return text.toString();
}

/** The maximum length of a view's name, which can be the name of a file. */
const MAX_NAME = 255;

/** The parts of links, including those of earlier versions. */
const PARTS = "source open panel path view axis title name changed headline alone range align shift group columns note zone numbers figure every points filter top sort selected without line embed".split(" ");

/** The panels of a link, or null if it names none that can be read. Links of earlier versions have the paths of one chart. */
function panelsOf(text, ignore) {
  if (text.has("panel")) {
    const ids = new Set();
    const panels = text.getAll("panel").slice(0, MAX_PANELS).flatMap((written) => {
      try {
        const given = JSON.parse(written);
        if (typeof given !== "object" || given === null || Array.isArray(given)) throw new SyntaxError("not a panel");
        const panel = panelOf(given);
        // Two panels cannot have the same id.
        const own = ids.has(panel.id) ? panelOf({ ...given, id: null }) : panel;
        ids.add(own.id);
        return [own];
      } catch {
        ignore("panel", written);
        return [];
      }
    });
    if (panels.length) return panels;
  }
  const paths = text.getAll("path").filter(Boolean);
  if (!paths.length) return null;
  const kind = EARLIER_KINDS[text.get("view")] ?? "line";
  const fixed = text.get("axis") === "100" ? { axis: "scaled", max: 100 } : {};
  return [panelOf({ id: 1, kind, counters: paths.map((path) => ({ path })), ...fixed })];
}

/** The counters of the line above the panels. */
function headlineIn(text, ignore) {
  try {
    return headlineOf(JSON.parse(text.get("headline") ?? "[]"));
  } catch {
    ignore("headline", text.get("headline"));
    return [];
  }
}

/** An annotation: `BEGIN~END~TEXT`, without END for a moment. */
function noteOf(text) {
  const [begin, end, ...words] = text.split("~");
  return { begin: begin ? Number(begin) : NaN, end: end ? Number(end) : null, text: words.join("~") };
}

/** The known names of a list of statistics. */
function columnsOf(text) {
  const chosen = text.split(",");
  return LEGEND_FIGURES.filter((name) => chosen.includes(name));
}

/** The range `BEGIN~END`, in which either can be missing; null if it is invalid. */
function rangeOf(text) {
  const [begin, end] = text.split("~").map((at) => (at === "" || !Number.isFinite(Number(at)) ? null : Number(at)));
  if (end === undefined || (begin === null && end === null)) return null;
  return begin !== null && end !== null && begin >= end ? null : { begin, end };
}

/**
 * Parses a fragment, which is not trusted. `idOf` finds a source by id and name, or null. `missing` are the names of sources that were not
 * found, `problems` the parts that are ignored.
 */
export function fromFragment(fragment, idOf) {
  const text = new URLSearchParams(fragment);
  const problems = [];
  const ignore = (key, value) => problems.push(`${key}=${value}`.slice(0, 60));
  const one = (key, allowed, usual) => {
    if (!text.has(key) || allowed.includes(text.get(key))) return text.get(key) ?? usual;
    ignore(key, text.get(key));
    return usual;
  };
  const number = (key, min, max, usual) => {
    const value = Number(text.get(key));
    if (text.has(key) && Number.isInteger(value) && value >= min && value <= max) return value;
    if (text.has(key)) ignore(key, text.get(key));
    return usual;
  };
  for (const [key, value] of text) if (!PARTS.includes(key)) ignore(key, value);
  const range = rangeOf(text.get("range") ?? "");
  if (text.get("range") && !range) ignore("range", text.get("range"));
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
  // Keys are `panel.source path`; the id of a source can have changed, and earlier links have no panel.
  const keyToday = (key) => {
    const [, panel, source, rest] = /^(?:(\d+)\.)?([^ ]*)(.*)$/s.exec(key);
    return `${panel ?? 1}.${renamed.get(source) ?? source}${rest}`;
  };
  const legend = new Map();
  for (const line of text.getAll("line")) {
    const [place, scale, flags, ...key] = line.split("~");
    const known = scale === "fit" || scale === "default" || (/^-?\d$/.test(scale) && Math.abs(Number(scale)) <= 9);
    if (!known || !/^\d{1,4}$/.test(place) || !key.length) continue;
    const [isHidden, isHighlighted, isColoured] = ["h", "b", "c"].map((flag) => flags.includes(flag));
    legend.set(keyToday(key.join("~")), { styleIndex: Number(place), scale, isHidden, isHighlighted, isColoured });
  }
  const open = text.get("open");
  const [column, direction] = (text.get("sort") ?? "").split("~");
  return {
    missing,
    problems,
    viewName: open && open.length <= MAX_NAME ? open : null,
    panels: panelsOf(text, ignore),
    parts: {
      title: (text.get("title") ?? "").slice(0, 200),
      savedName: text.get("name")?.slice(0, 80) || null,
      isChanged: text.has("changed"),
      headline: headlineIn(text, ignore),
      open: number("alone", 1, 1e9, null),
      sources: [...new Set(sources)],
      removed: new Set(text.getAll("without").map(keyToday)),
      range,
      align: one("align", ["absolute", "start"], "absolute"),
      isAlignChosen: text.has("align"),
      filter: (text.get("filter") ?? "").slice(0, 200),
      top: number("top", 1, 100_000, null),
      zone: one("zone", ["log", "local", "utc"], "log"),
      numbers: one("numbers", ["units", "raw"], "units"),
      figure: one("figure", ["default", ...Object.keys(FIGURES)], "default"),
      shift: number("shift", 1, MAX_SHIFT, 0),
      group: one("group", ["none", "name"], "none"),
      annotations: annotationsOf(text.getAll("note").map(noteOf)),
      columns: columnsOf(text.get("columns") ?? USUAL_COLUMNS),
      every: number("every", 1, 1000, 1),
      points: number("points", 2, 1000, 100),
      sort: column ? { column, isDescending: direction === "down" } : null,
      selected: text.has("selected") ? keyToday(text.get("selected")) : null,
      legend,
    },
  };
}
