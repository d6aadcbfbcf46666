// The actions of keys and buttons.

import { byId } from "./element.js";
import { figure } from "./figures.js";
import { nameOf } from "./names.js";
import { announce, showNotice } from "./messages.js";
import { STYLES } from "./palette.js";
import { isOverTime, KINDS, MAX_PANELS, panelOf, titleOf, withPanel } from "./panels.js";
import { selects, withoutMachine } from "./paths.js";
import { powerOf } from "./axes.js";
import { addedTo, change, changeEntries, entry, state } from "./state.js";
import { toggleTheme } from "./theme.js";
import { moved, withinWhole, zoomBack, zoomed, zoomForward } from "./zoom.js";

/** The kinds of panel among which the key g switches, in this order. */
const NEXT_KINDS = ["line", "bars", "report"];

/** Changes settings of the panel that is shown alone. */
export function changePanel(page, parts) {
  const panel = page.panel();
  if (panel) change({ panels: withPanel(state.panels, panel.id, parts), viewName: null });
}

/** The next kind of the panel: line, bars, numbers. */
export function nextKind(page) {
  if (!page.isReady()) return page.early.push(() => nextKind(page));
  const panel = page.panel();
  if (!panel) return showNotice("Show one panel alone first (Enter on it).");
  const kind = NEXT_KINDS[(NEXT_KINDS.indexOf(panel.kind) + 1) % NEXT_KINDS.length];
  changePanel(page, { kind });
  return announce(`Shown as: ${KINDS[kind]}`);
}

/** Adds paths as a panel and shows all panels. Returns false if there is no room, or a panel of these paths, which it shows. */
export function addPanel(page, paths) {
  if (state.panels.length >= MAX_PANELS) return false;
  const same = (panel) => panel.counters.map(({ path }) => path).join("\n").toLowerCase() === paths.join("\n").toLowerCase();
  const known = paths.length ? state.panels.find(same) : null;
  if (known) {
    if (state.open !== null) change({ open: null });
    page.grid.show(known.id);
    return false;
  }
  const added = panelOf({ counters: paths.map((path) => ({ path })) });
  change({ panels: [...state.panels, added], viewName: null, open: null });
  announce(`Added the panel ${titleOf(added)}.`);
  // Drawn in the next frame.
  requestAnimationFrame(() => requestAnimationFrame(() => page.grid.show(added.id)));
  return true;
}

/** Adds paths to the panel that is shown alone, or as a new panel. Returns whether anything was added. */
export function addPaths(page, paths) {
  if (!page.isReady()) {
    page.early.push(() => addPaths(page, paths));
    return true;
  }
  const panel = page.panel();
  if (!panel) return addPanel(page, paths);
  const { counters, removed, isMore } = addedTo(panel, paths);
  if (isMore) change({ panels: withPanel(state.panels, panel.id, { counters }), viewName: null, removed });
  return isMore;
}

/** The requested range, which may not be loaded yet if keys are pressed quickly. */
const view = (page) => (state.range ? page.loader.range() : { begin: page.data.begin, end: page.data.end });
const whole = (page) => page.loader.whole() ?? page.data;

/** Zooms by a factor around the middle. */
export function zoomBy(page, factor) {
  page.choose(withinWhole(zoomed(view(page), factor), whole(page)));
}

/** Moves the visible range by a part of its length. */
export function pan(page, share) {
  if (!state.range) return;
  const range = withinWhole(moved(view(page), share), whole(page));
  if (range) page.choose(range);
}

/** Freezes or resumes live data. */
export function freeze(page) {
  if (!page.sources.shown().some((source) => source.kind === "live")) return showNotice("Only live data can be frozen.");
  if (page.loader.isRunning()) {
    if (!page.feed.block) return undefined;
    page.loader.freeze();
    return announce("Frozen.");
  }
  change({ frozen: null, range: null });
  return announce("Live data resumed.");
}

/** Updates frozen data once. */
export function step(page) {
  if (!state.frozen || !page.feed.block) return showNotice("Not frozen: freeze live data first (f).");
  page.loader.freeze();
  return announce("Updated.");
}

/** Removes counters from the chart. */
export function removeLines(page, keys) {
  const lines = page.data.lines.filter((line) => keys.includes(line.key));
  if (!lines.length) return;
  const order = page.legend.order;
  const at = order.indexOf(state.selected);
  const rest = order.filter((key) => !keys.includes(key));
  const selected = keys.includes(state.selected) ? (rest[Math.min(at, rest.length - 1)] ?? null) : state.selected;
  const panel = page.panel();
  if (!panel) return;
  let { counters } = panel;
  const removed = new Set(state.removed);
  for (const line of lines) {
    const own = withoutMachine(line.path).toLowerCase();
    const exact = counters.filter(({ path }) => path.toLowerCase() === own || path.toLowerCase() === line.path.toLowerCase());
    const isOwn = exact.length > 0 && page.data.blocks.length === 1;
    if (isOwn) counters = counters.filter((counter) => !exact.includes(counter));
    // Another path of the panel can select the same line.
    if (!isOwn || counters.some(({ path }) => selects(path, line.path))) removed.add(line.key);
    state.legend.delete(line.key);
  }
  const isEmpty = !rest.length;
  const isSame = !isEmpty && counters === panel.counters;
  const panels = withPanel(state.panels, panel.id, { counters: isEmpty ? [] : counters });
  change({ isChanged: true, removed: isEmpty ? new Set() : removed, selected, ...(isSame ? {} : { panels, viewName: null }) });
  const hadFocus = document.activeElement === document.body || byId("legend-body").contains(document.activeElement);
  announce(`Removed ${lines.map(nameOf).join(", ")}.`);
  if (hadFocus && selected) requestAnimationFrame(() => requestAnimationFrame(() => page.legend.step(0, true)));
}

/** Whether all counters are scaled to fit. */
export function areFitting(page) {
  return page.data.lines.length > 0 && page.data.lines.every((line) => entry(line.key).scale === "fit");
}

/** Switches the panel to an axis without unit, because scale factors need one. */
function useScales(page) {
  if (page.panel() && page.panel().axis !== "scaled") changePanel(page, { axis: "scaled" });
}

/** Toggles all counters between scaling to fit and their default scales. */
export function toggleFit(page) {
  const scale = areFitting(page) ? "default" : "fit";
  useScales(page);
  changeEntries(page.data.lines.map((line) => line.key), { scale });
  announce(scale === "fit" ? "All counters are scaled to fit." : "All counters have their default scales.");
}

function withSelected(page, act) {
  const line = page.line();
  if (line) act(line);
}

/** Moves to the next or previous value on the chart and announces it. */
function read(page, by) {
  const { data, hover } = page;
  const chart = page.chart();
  if (!isOverTime(page.panel()?.kind) || !chart.scene) return;
  const line = page.line();
  const block = data.blocks.find((candidate) => candidate.lines.includes(line));
  if (!block) return;
  const has = (row) => line.average[row] !== null && line.average[row] !== undefined && block.times[row] >= data.begin && block.times[row] <= data.end;
  let row = page.readAt === undefined ? (by > 0 ? -1 : block.times.length) : block.times.findIndex((time) => time >= page.readAt - 1e-6);
  if (row < 0 && page.readAt !== undefined) row = block.times.length;
  do row += by;
  while (row >= 0 && row < block.times.length && !has(row));
  if (row < 0 || row >= block.times.length) return announce(by > 0 ? "No later value." : "No earlier value.");
  page.readAt = block.times[row];
  hover.release();
  const shown = hover.show(chart, page.readAt, chart.plot.valToPos(page.readAt, "x"), null);
  announce(`${shown?.time ?? ""}: ${nameOf(line)} ${figure(line.average[row], line.type)}, minimum ${figure(line.minimum[row], line.type)}, maximum ${figure(line.maximum[row], line.type)}`);
}

/** Moves the crosshair to the largest visible value of the selected counter, and shows the box with the values of all counters. */
export function showMaximum(page) {
  const { data, hover } = page;
  const chart = page.chart();
  const line = page.line();
  const block = data.blocks.find(({ lines }) => lines.includes(line));
  if (!isOverTime(page.panel()?.kind) || !chart.scene || !block) {
    showNotice("Show one chart alone first (Enter on it).");
    return;
  }
  let best = -1;
  block.times.forEach((time, row) => {
    const value = line.maximum[row];
    if (time < data.begin || time > data.end || value === null || value === undefined) return;
    if (best < 0 || value > line.maximum[best]) best = row;
  });
  if (best < 0) return;
  page.readAt = block.times[best];
  const left = chart.plot.valToPos(page.readAt, "x");
  chart.plot.setCursor({ left, top: 0 });
  hover.release();
  // The box is shown after the frame in which the crosshair moves.
  requestAnimationFrame(() => {
    const shown = hover.show(chart, page.readAt, left, null);
    announce(`Maximum of ${nameOf(line)}: ${figure(line.maximum[best], line.type)}, ${shown?.time ?? ""}`);
  });
}

function rescale(page, by) {
  useScales(page);
  withSelected(page, (line) => changeEntries([line.key], { scale: String(Math.max(-9, Math.min(9, powerOf(entry(line.key).scale, line) + by))) }));
}

/** Shows only one counter of the panel, or all again. */
export function onlyThis(page, line) {
  const keys = page.data.lines.map(({ key }) => key);
  const isAlone = keys.length > 1 && keys.every((key) => entry(key).isHidden === (key !== line.key));
  changeEntries(keys, { isHidden: !isAlone });
  changeEntries([line.key], { isHidden: false });
  announce(isAlone ? "All counters are shown." : `Only ${nameOf(line)} is shown.`);
}

/** Shows all panels. */
export function showAll() {
  if (state.open !== null) change({ open: null });
}

function openMenu(id) {
  byId(id).open = true;
  byId(id).querySelector("summary").focus();
}

/** Opens the menu that a field is in. */
function showField(id) {
  byId(id).closest("details").open = true;
  byId(id).focus();
  byId(id).select();
}

/** The keys of the page: the same as in the terminal monitor if both have them. */
export function keyTable(page) {
  const set = (name, words) => withSelected(page, (line) => {
    const now = !entry(line.key)[name];
    changeEntries([line.key], { [name]: now });
    announce(`${nameOf(line)}: ${now ? words[0] : words[1]}`);
  });
  return [
    { keys: ["a", "Insert", "/"], shown: ["a", "/"], words: "Add counters: open the tree, search in it", act: () => page.tree.open() },
    { keys: ["g"], shown: ["g", "1", "2", "3"], words: "Show the panel as the next kind; as lines, bars, numbers", act: () => nextKind(page) },
    ...NEXT_KINDS.map((kind, index) => ({ keys: [String(index + 1)], act: () => changePanel(page, { kind }) })),
    { keys: ["*"], shown: ["*", "=", "~"], words: "Scale all counters to fit; scale the selected one to fit; its default scale", act: () => toggleFit(page) },
    { keys: ["="], act: () => withSelected(page, (line) => { useScales(page); changeEntries([line.key], { scale: "fit" }); }) },
    { keys: ["~"], act: () => withSelected(page, (line) => changeEntries([line.key], { scale: "default" })) },
    { keys: ["<"], shown: ["<", ">"], words: "Scale the selected counter by 10 down, up", act: () => rescale(page, -1) },
    { keys: [">"], act: () => rescale(page, 1) },
    { keys: ["c"], words: "Next colour of the selected counter", act: () => withSelected(page, (line) => changeEntries([line.key], { styleIndex: (entry(line.key).styleIndex + 1) % STYLES, isColoured: true })) },
    { keys: ["h"], words: "Highlight the selected counter", act: () => set("isHighlighted", ["highlighted", "not highlighted"]) },
    { keys: ["x", " "], shown: ["x", "Space"], words: "Show or hide the selected counter", act: () => set("isHidden", ["hidden", "shown"]) },
    { keys: ["n"], words: "Show only the selected counter; all again", act: () => withSelected(page, (line) => onlyThis(page, line)) },
    { keys: ["s"], shown: ["s", "o"], words: "Sort the legend by the next column; reverse the order", act: () => page.legend.sortByNext() },
    { keys: ["o"], act: () => state.sort && change({ sort: { ...state.sort, isDescending: !state.sort.isDescending } }) },
    { keys: ["Delete", "Backspace", "d"], shown: ["Delete", "d"], words: "Remove the selected counter", act: () => withSelected(page, (line) => removeLines(page, [line.key])) },
    { keys: ["ArrowUp", "k"], shown: ["↑", "↓", "k", "j"], words: "Select the counter above or below", act: () => page.legend.step(-1, false) },
    { keys: ["ArrowDown", "j"], act: () => page.legend.step(1, false) },
    { keys: ["M"], words: "Show when the selected counter had its largest value", act: () => showMaximum(page) },
    { keys: ["f"], words: "Freeze or resume live data", act: () => freeze(page) },
    { keys: ["u"], words: "Update frozen data once", act: () => step(page) },
    { keys: ["i"], shown: ["i", "p"], words: "Live: every n-th collection; number of points", act: () => showField("every-field") },
    { keys: ["p"], act: () => showField("points-field") },
    { keys: ["+"], shown: ["+", "−"], words: "Zoom in, zoom out", act: () => zoomBy(page, 0.5) },
    { keys: ["-", "_"], act: () => zoomBy(page, 2) },
    { keys: ["ArrowLeft"], shown: ["←", "→"], words: "Move the zoomed range", act: () => pan(page, -0.25) },
    { keys: ["ArrowRight"], act: () => pan(page, 0.25) },
    { keys: ["0"], words: "Show the whole range", act: () => page.choose(null) },
    { keys: ["["], shown: ["[", "]"], words: "Previous range, next range", act: zoomBack },
    { keys: ["]"], act: zoomForward },
    { keys: [","], shown: [",", "."], words: "Announce the previous, next value of the selected counter", act: () => read(page, -1) },
    { keys: ["."], act: () => read(page, 1) },
    { keys: ["b"], words: "Pin the box with the values at the pointer, with all rows; release it", act: () => page.hover.release() || page.hover.pin() || showNotice("Point at a chart first, or move to a value with . or M.") },
    { keys: ["C"], words: "List what changed between two logs", act: () => page.comparison.toggle() },
    { keys: ["Escape"], words: "Release or hide the box; show all panels", act: () => page.hover.release() || (page.hover.box.hidden ? showAll() : page.hover.hide()) },
    { keys: ["v"], words: "List of views", act: () => openMenu("view-menu") },
    { keys: ["A"], words: "Add a note about a moment or a time range, which is drawn in all charts", act: () => openMenu("notes-menu") },
    { keys: ["r"], words: "Time range: type from and to", act: () => openMenu("time-menu") },
    { keys: [], shown: ["Enter"], words: "On a panel: show it alone", act: () => {} },
    { keys: [], shown: ["Shift", "←", "→", "↑", "↓"], words: "On a panel: move it", act: () => {} },
    { keys: [], shown: ["w", "W", "e", "E"], words: "On a panel: wider, narrower, taller, shorter", act: () => {} },
    { keys: ["t"], words: "Switch between dark and light", act: toggleTheme },
    { keys: ["?"], words: "List of keys", act: () => byId("help-dialog").showModal() },
  ];
}
