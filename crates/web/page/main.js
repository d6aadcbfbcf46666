// Assembles the page: state, data, and the components that show them.

import * as api from "./api.js";
import { addPanel, addPaths, changePanel, keyTable, onlyThis, removeLines } from "./actions.js";
import { annotate, setUpAnnotations } from "./annotation-menu.js";
import { axesOf, drawnTest } from "./axes.js";
import { Chart } from "./chart.js";
import { setUpControls, showControls } from "./controls.js";
import { Comparison } from "./compare.js";
import { Address } from "./address.js";
import { byId, setText } from "./element.js";
import { count } from "./figures.js";
import { Fleet } from "./fleet.js";
import { Grid } from "./grid.js";
import { Headline } from "./headline.js";
import { drawHistogram } from "./histogram.js";
import { HeatMap } from "./heat-map.js";
import { Hover, summaryOf } from "./hover.js";
import { setUpKeys } from "./keys.js";
import { Legend, sorted } from "./legend.js";
import { isEmbedded, withEmbed } from "./embed.js";
import { fromFragment, toFragment } from "./link.js";
import { LiveFeed } from "./live.js";
import { Loader } from "./loader.js";
import { setUpMenus } from "./menus.js";
import { announce, showError, showNotice } from "./messages.js";
import { areSeveral } from "./names.js";
import { dataOf, whyNoLines } from "./panel-data.js";
import { isChart, isOverTime, titleOf as panelTitle } from "./panels.js";
import { titleOf } from "./picture.js";
import { Recorder } from "./record.js";
import { PercentileLoader } from "./percentiles.js";
import { drawReport } from "./report.js";
import { setUpViews } from "./saved.js";
import { Sources } from "./sources.js";
import { change, entry, onChange, setPresent, state } from "./state.js";
import { TableView } from "./table-view.js";
import { TableLoader } from "./tables.js";
import { setUpTheme } from "./theme.js";
import { moment, seconds } from "./time.js";
import { setUpTimeMenu } from "./time-menu.js";
import { Tree } from "./tree.js";
import { drawValueBar } from "./valuebar.js";
import { Views } from "./views.js";
import { setZoomHistory, watchPointer, zoomTo } from "./zoom.js";

const sources = new Sources();
const chart = new Chart(byId("chart"));
const heatMap = new HeatMap(byId("heatmap"), false, (unit) => changePanel(page, { unit }));
const hover = new Hover(byId("hover"), (line) => legend.markRow(line?.key ?? null));
const grid = new Grid({ onChart: watchChart, onRow: (path) => addPanel(page, [path]), onRedraw: () => draw() });
const columns = () => (panelAlone() ? Math.max(50, Math.min(2000, byId("chart-region").clientWidth - 80)) : grid.chartColumns());
const feed = new LiveFeed({ onData: showLiveData, onState: showLiveState, onProblem: problemOfData });
const loader = new Loader({ sources, feed, columns, onData: showNewData, onBusy: (isBusy) => (byId("chart-busy").hidden = !isBusy), onProblem: problemOfData });
const tables = new TableLoader({ sources, loader, onData: () => draw(), onProblem: problemOfData });
const percentiles = new PercentileLoader({ sources, loader, onData: () => { arrange(); draw(); }, onProblem: problemOfData });
const views = new Views({ sources, onOther: () => address.replaceNext(), onGone: () => refresh() });
const recorder = new Recorder({ feed, sources });
const tree = new Tree({ sources: () => sources.ready(), add: (paths) => addPaths(page, paths), views: () => views.all, addView: (name, source) => views.add(name, source) });
const fleet = new Fleet({ sources });
const headline = new Headline({ sources, loader });
const comparison = new Comparison({
  loader,
  onOpen: () => tree.close(),
  // Drawn in the next frame.
  onAdded: (id) => requestAnimationFrame(() => requestAnimationFrame(() => grid.show(id))),
});
tree.onOpen = () => comparison.close();
sources.onChange = () => {
  tree.sourcesChanged();
  comparison.sourcesChanged();
  fleet.sourcesChanged();
};
sources.onView = (text, name) => views.openText(text, name);
/** Shared by the components. */
const page = { sources, chart: () => (panelAlone()?.kind === "heatmap" ? heatMap : chart), hover, feed, loader, tree, views, grid, comparison, data: loader.data(), panelData: new Map(), choose, line: selectedLine, panel: panelAlone };
const legend = new Legend({ onRemove: (keys) => removeLines(page, keys), onOnly: (line) => onlyThis(page, line), onUnit: (unit) => changePanel(page, { unit }) });
page.legend = legend;
const table = new TableView(byId("report"), (path) => addPanel(page, [path]));

let isReady = false;
/** Whether the user is dragging over a chart; live data is not drawn meanwhile. */
let isDragging = false;
let drawing = 0;
let liveState = "connecting";
let problemText = "";
/** The distances of a chart from the edges of its region, in pixels. */
const CHART_MARGINS = 30;
const SAMPLES_GONE = "The server no longer has the samples of this time range";
const MAX_MISSING = 3;
let following = "";

/** The panel that is shown alone: the chosen one, or the only one. Null if the grid is shown. */
function panelAlone() {
  const { panels, open } = state;
  return panels.find((panel) => panel.id === open) ?? (panels.length > 1 ? null : (panels[0] ?? null));
}

/** The selected counter, or the first one of the legend. */
function selectedLine() {
  const { lines } = page.data;
  const first = () => sorted(lines).find(drawnTest(panelAlone(), page.data)) ?? lines[0];
  return lines.find((line) => line.key === state.selected) ?? first() ?? null;
}

/** Updates the data of each panel. The data of the page is that of the panel that is shown alone, otherwise that of all panels. */
function arrange() {
  const all = loader.data();
  percentiles.apply(all.blocks);
  page.panelData = new Map(state.panels.map((panel) => [panel.id, dataOf(panel, all)]));
  setPresent(new Set([...page.panelData.values()].flatMap(({ lines }) => lines.map((line) => line.key))));
  const alone = panelAlone();
  page.data = alone ? page.panelData.get(alone.id) : combined(all);
}

/** The data of all panels as one: each counter once. */
function combined(all) {
  const shown = new Map();
  for (const { lines } of page.panelData.values()) {
    for (const line of lines) if (!shown.has(line.base) || !entry(line.key).isHidden) shown.set(line.base, line);
  }
  const blocks = all.blocks.map((block) => ({ ...block, lines: block.lines.filter((line) => shown.has(line)).map((line) => shown.get(line)), removed: block.lines.filter((line) => !shown.has(line)) }));
  return { ...all, blocks, lines: blocks.flatMap((block) => block.lines), paths: state.paths };
}

/** Shows new data. */
function showNewData() {
  problemText = "";
  if (isUseless(loader.data()) && fallBack()) return;
  arrange();
  tables.update();
  percentiles.update();
  draw();
}

/**
 * After a drawing, new live values wait this many times as long as it took, at most `MAX_REST_MS`: very many lines take longer than a
 * frame.
 */
const REST = 3;
const MAX_REST_MS = 5000;
/** Two frames: the shortest time until a drawing is on the screen. */
const FRAMES_MS = 34;
const drawn = { at: 0, cost: 0, timer: null };

/** Shows new live values, with pauses if drawing them takes long, so that the crosshair moves meanwhile. */
function showLiveData() {
  if (drawn.timer !== null || !loader.isRunning() || isDragging) return;
  const rest = drawn.at + Math.min(MAX_REST_MS, REST * drawn.cost) - performance.now();
  if (rest > 0) {
    drawn.timer = setTimeout(() => {
      drawn.timer = null;
      showLiveData();
    }, rest);
    return;
  }
  const start = performance.now();
  showNewData();
  // The first frame draws, and the second one begins when it is on the screen.
  requestAnimationFrame(() => requestAnimationFrame(() => {
    drawn.at = performance.now();
    drawn.cost = Math.max(0, drawn.at - start - FRAMES_MS);
  }));
}

/** The sources for which the start view was opened because they have none of the counters. */
let fellBackFor = "";

/** Whether none of the counters that the user chose is in the sources. */
const isUseless = (data) => !data.lines.length && state.paths.length > 0 && data.missing.length >= state.paths.length && !state.range && !state.frozen && !state.viewName;

/** If the sources have none of the counters, opens the start view, at most once for each list of sources. Returns whether it does. */
function fallBack() {
  const names = sources.shown().map((source) => source.id).join(" ");
  if (!names || fellBackFor === names) return false;
  fellBackFor = names;
  address.replaceNext();
  views.open("start");
  return true;
}

function problemOfData(problem) {
  if (problem.status === 404 && !api.serverIsAway()) return refresh();
  // The line at the top shows that the server is unreachable.
  if (problem.status === 0) return;
  problemText = problem.message;
  showError(problem);
  draw();
}

/** Zooms into a range selected on a chart; freezes live data. */
function choose(range) {
  if (loader.isRunning()) {
    if (!range || !feed.block) return;
    loader.freeze(loader.isAlignedAtStarts() ? feed.bounds().seconds.begin + range.end : undefined);
  }
  zoomTo(range);
}

function draw() {
  cancelAnimationFrame(drawing);
  drawing = requestAnimationFrame(drawNow);
}

/** Why a panel shows nothing. */
function whyEmpty(data, panel) {
  if (sources.gone().length) return goneText();
  const isReading = sources.all.some((source) => source.state === "reading" && state.sources.includes(source.id));
  if (isReading) return "Reading the log…";
  if (problemText) return problemText;
  if (!state.sources.length) return "Open a log, or choose a source at the top.";
  if (panel && !panel.counters.length) return "The panel has no counters. Press A to add some.";
  if (!panel) return views.wanted ? "…" : "The chart has no counters. Press A to add some.";
  if (data.missing.length >= panel.counters.length && data.blocks.length) return missingText(data.missing);
  if (loader.isRunning() && !data.blocks.some(({ times }) => times.length > 1)) return "Collecting the first values…";
  if (data.isEmpty) return `There are no samples in this time range. ${wholeText(data)}`.trim();
  return whyNoLines(panel, data, loader.isRunning());
}

/** The message about logs that the server has closed. */
const closedText = (names) => `No longer open on the server: ${names.join(", ")}.`;

const goneText = () => `${closedText(sources.gone())} Open it again, or choose another source at the top.`;

/** The time range of the sources, as a sentence. */
function wholeText({ zone }) {
  const whole = loader.whole();
  return whole && zone ? `The data is from ${moment(whole.begin, zone)} to ${moment(whole.end, zone)}.` : "";
}

/** Several paths that are missing, as a text of bounded length. */
function missingText(missing) {
  const texts = missing.slice(0, MAX_MISSING).map(({ path, reason }) => `${path}: ${reason}`);
  return texts.join("; ") + (missing.length > MAX_MISSING ? `; and ${missing.length - MAX_MISSING} more` : "");
}

function drawNow() {
  const { data } = page;
  const alone = panelAlone();
  const isGone = sources.gone().length > 0;
  const isGrid = !alone && state.panels.length > 0 && !isGone;
  byId("open-again").hidden = !isGone;
  byId("panels").hidden = !isGrid;
  headline.show(isGrid);
  for (const id of ["chart-region", "value-bar", "legend"]) byId(id).hidden = isGrid;
  byId("content").classList.toggle("has-grid", isGrid);
  if (isGrid) grid.draw((panel) => page.panelData.get(panel.id) ?? data, (panel) => tables.rowsFor(panel), (panel) => whyEmpty(page.panelData.get(panel.id) ?? data, panel));
  else drawAlone(alone, data);
  // Before the first sample there is no time range.
  setText(byId("range-text"), data.blocks.some(({ begin, end }) => end > begin) ? titleOf(data) : "");
  const gone = data.isGone && data.lines.length ? `${SAMPLES_GONE}: showing loaded values without statistics` : "";
  const cut = !isGrid && alone && isChart(alone.kind) && chart.scene ? chart.scene.cut : 0;
  const reason = () => (chart.scene.isScaled ? `not between 0 and 100: “Scale to fit” (*) shows ${cut === 1 ? "it" : "them"}` : "beyond the axis, whose ends are in the Panel menu");
  setText(byId("cut-text"), cut ? `${count(cut, "counter")} drawn at the edge, because ${cut === 1 ? "its values are" : "their values are"} ${reason()}.` : "");
  const missing = isGrid && state.viewName ? "" : missingText(data.missing);
  setText(byId("missing-text"), [gone, missing].filter(Boolean).join("; "));
  setText(byId("chart-summary"), summaryOf(data));
  // The time range of the statistics, for tests.
  byId("content").dataset.range = data.range ? `${data.range.begin.toFixed(3)}~${data.range.end.toFixed(3)}` : "";
  showControls(page, liveState);
}

/** Draws the panel that is shown alone. */
function drawAlone(panel, data) {
  const lines = sorted(data.lines);
  const several = data.blocks.length > 1;
  const select = (key) => change({ selected: key });
  const kind = panel?.kind === "table" && !panel.table ? "report" : (panel?.kind ?? "line");
  const shown = isChart(kind) ? "chart" : kind === "bars" ? "histogram" : kind === "heatmap" ? "heatmap" : "report";
  for (const name of ["chart", "heatmap", "histogram", "report"]) byId(name).hidden = name !== shown;
  if (!isOverTime(kind)) hover.hide();
  if (kind === "table") table.draw(panel, tables.rowsFor(panel));
  else if (shown === "histogram") drawHistogram(byId("histogram"), lines, panel, select);
  else if (shown === "report") {
    table.shape = "";
    drawReport(byId("report"), lines, several, select);
  } else if (data.lines.length && panel) page.chart().draw({ ...data, lines }, panel);
  for (const name of ["chart", "heatmap"]) byId(name).classList.toggle("invisible", !data.lines.length);
  byId("value-bar").hidden = byId("legend").hidden = kind === "table" || sources.gone().length > 0;
  const isScaled = Boolean(panel) && kind !== "heatmap" && axesOf(panel, lines.filter(({ key }) => !entry(key).isHidden), lines).isScaled;
  legend.draw(data.lines, several, { isScaled, hasColours: kind !== "heatmap", isDrawn: drawnTest(panel, data) });
  // A heat map is as high as its names need; the page scrolls.
  const high = kind === "heatmap" && data.lines.length ? heatMap.wantedHeight() + CHART_MARGINS : 0;
  byId("chart-region").style.minHeight = high ? `${high}px` : "";
  drawValueBar(selectedLine(), data.lines.length ? data.end - data.begin : null, areSeveral(data.blocks));
  setText(byId("chart-title"), panel ? panelTitle(panel) : "");
  const empty = byId("chart-empty");
  empty.hidden = !sources.gone().length && (data.lines.length > 0 || kind === "table");
  setText(empty, empty.hidden ? "" : whyEmpty(data, panel));
}

function showLiveState(now) {
  liveState = now;
  // EventSource gives no reason; a request finds out whether the server responds.
  if (now === "away") api.sources().catch(() => {});
  draw();
}

/** Follows the live source if it is on a chart. */
function follow() {
  const live = sources.shown().find((source) => source.kind === "live");
  const wanted = live && state.paths.length ? JSON.stringify([live.id, state.paths, state.every, state.points, state.group]) : "";
  if (wanted === following) return;
  following = wanted;
  if (wanted) feed.start(live, state.paths, state.every, state.points, state.group === "name" ? "name" : null);
  else {
    feed.stop();
    feed.block = null;
  }
}

/** Loads the data for the state. */
function load() {
  if (!state.paths.length) loader.blocks = new Map();
  follow();
  loader.load();
  tables.update();
  percentiles.update();
  if (!state.paths.length || (loader.isRunning() && !feed.block)) {
    arrange();
    draw();
  }
}

const fragment = () => withEmbed(toFragment((id) => sources.nameOf(id)));
const address = new Address({ fragment, show });
page.writeAddress = (isNow) => address.write(isNow);

/** Opens the state that a link or, if `isSaved`, a saved view describes. */
function show(text, isSaved = false) {
  const idOf = (id, name) => {
    const all = sources.all;
    const found = all.find((source) => source.id === id && (!name || source.name === name)) ?? all.find((source) => source.name === name);
    // A link to the machine of another server shows this machine.
    return found?.id ?? (id === "live" && all.some((source) => source.id === id) ? id : null);
  };
  const { parts, panels, viewName, missing, problems } = fromFragment(text, idOf);
  if (problems.length) showError(`Parts of the link are ignored: ${problems.slice(0, 5).join("; ")}${problems.length > 5 ? `; and ${problems.length - 5} more` : ""}.`);
  if (missing.length && parts.sources.length) showError(closedText(missing));
  // Another source must not be shown in the place of a log, but saved views are also used for other logs.
  if (!parts.sources.length && isSaved && sources.shown().length) parts.sources = state.sources;
  if (!parts.sources.length) parts.sources = missing.length ? missing.map((name) => sources.addGone(name)) : firstSources();
  // A range of live data means that it is frozen.
  const isLive = parts.sources.some((id) => sources.byId(id)?.kind === "live");
  const frozen = isLive && parts.range ? closed(parts.range) : null;
  if (panels) {
    views.cancel();
    return change({ ...parts, panels, frozen, viewName: null });
  }
  // The panels come from the server; the rest of the link applies to them.
  const { legend: settings, removed, open, selected, savedName, isChanged } = parts;
  const after = { open, selected, removed, legend: settings, savedName, isChanged };
  if (text.includes("points=")) after.points = parts.points;
  change({ ...parts, panels: [], frozen, viewName: viewName ?? "start" });
  return views.open(viewName ?? "start", after);
}

/** Replaces a missing begin or end of a range of live values. */
function closed({ begin, end }) {
  const to = end ?? Math.max(Date.now() / 1000, begin + 1);
  return { begin: begin ?? to - 60, end: to };
}

/**
 * The sources that are shown first: two logs of the command line, which are compared; of more logs the first one, because their lines would be hard
 * to distinguish; without logs this machine.
 */
function firstSources() {
  const logs = sources.all.filter((source) => source.kind === "log" && source.state !== "failed" && !source.is_closable);
  const first = logs.length ? logs : sources.all.filter((source) => source.state !== "failed").slice(0, 1);
  if (first.length > 2) showNotice(`${first.length} logs are open: the menu at the top shows the others.`);
  return first.slice(0, first.length > 2 ? 1 : 2).map((source) => source.id);
}

/** Reloads the sources after an outage, or when a source has disappeared. */
async function refresh() {
  try {
    await sources.load();
    const gone = state.sources.filter((id) => !sources.byId(id) && !sources.isGone(id));
    if (gone.length) {
      const names = gone.map((id) => sources.nameOf(id));
      showError(closedText(names));
      const rest = state.sources.filter((id) => sources.byId(id));
      address.replaceNext();
      change(rest.length ? { sources: rest, range: null, frozen: null } : { sources: names.map((name) => sources.addGone(name)) });
    } else {
      following = "";
      load();
    }
  } catch {
    // Shown by the line at the top.
  }
}

/** State whose change requires other data, or another arrangement. */
const NEED_DATA = ["sources", "paths", "range", "frozen", "align", "every", "points", "shift", "group"];
const NEED_ARRANGEMENT = ["panels", "open", "removed", "zone", "frozen", "legend", "columns", "figure"];
/** Parts of the state that users can change before the sources are loaded. */
const EARLY_STATE = ["align", "zone", "numbers", "figure", "columns", "group", "shift", "every", "points", "sort"];
const chosenEarly = new Set();
/** Functions to call once the sources are loaded: what users did before. */
page.early = [];
page.isReady = () => isReady;
onChange((names) => {
  if (!isReady) {
    for (const name of names) chosenEarly.add(name);
    return;
  }
  // If users have changed the panels, a view that arrives late must not replace them.
  if (names.has("panels") && state.viewName === null) views.cancel();
  // When the panels change, they replace the table of machines.
  if (names.has("panels") && fleet.isOpen) fleet.close();
  if (names.has("sources")) {
    sources.draw();
    fellBackFor = "";
    if (alignDisjointLogs()) return;
    views.refit();
  }
  if (NEED_DATA.some((name) => names.has(name))) load();
  if (NEED_ARRANGEMENT.some((name) => names.has(name))) arrange();
  if (["columns", "figure"].some((name) => names.has(name))) percentiles.update();
  if (["open", "panels", "figure"].some((name) => names.has(name))) {
    tables.update();
    hover.hide();
  }
  draw();
  address.write();
});

/** Connects a chart with the pointer: selections, clicks, and one crosshair for all charts. */
function watchChart(watched) {
  watched.hooks.ready = (plot) => {
    watchPointer(plot, {
      view: () => ({ begin: page.data.begin, end: page.data.end }),
      whole: () => loader.whole() ?? page.data,
      onChoose: choose,
      onMark: (range) => annotate(page, range),
      onDragging: (now) => (isDragging = now),
      onHold: (left, top) => {
        hover.release();
        plot.setCursor({ left, top });
        if (hover.show(watched, plot.posToVal(left, "x"), left, top)) hover.pin();
      },
      onClick: (left) => {
        page.marked = { begin: plot.posToVal(left, "x"), end: null, source: hover.nearest?.source };
        if (hover.nearest) change({ selected: hover.nearest.key });
      },
    });
  };
  watched.hooks.cursor = (plot) => {
    // A new drawing repeats the crosshair that followed that of another chart.
    if (plot.over.matches(":hover")) watched.isFollower = false;
    if (isFollowing || watched.isFollower) return;
    hover.follow(watched);
    // The other charts show the same moment.
    const { left } = plot.cursor;
    const at = left >= 0 ? plot.posToVal(left, "x") : null;
    isFollowing = true;
    for (const other of grid.charts()) {
      if (other === watched) continue;
      other.isFollower = true;
      other.plot.setCursor({ left: at === null ? -10 : other.plot.valToPos(at, "x"), top: at === null ? -10 : 0 });
    }
    isFollowing = false;
  };
}
/** Whether crosshairs are being moved to follow that of another chart. */
let isFollowing = false;
watchChart(chart);
watchChart(heatMap);

/** The ids of the sources that were last aligned automatically, so that this happens once. */
let aligned = "";

/** Aligns logs that do not overlap in time at their starts, but only once for the same sources. Returns whether it has aligned them. */
function alignDisjointLogs() {
  const shown = sources.shown();
  const names = shown.map(({ id }) => id).join(" ");
  if (shown.length < 2 || shown.length < state.sources.length || aligned === names) return false;
  aligned = names;
  const spans = shown.filter(({ kind, begin }) => kind === "log" && begin).map(({ begin, end }) => [seconds(begin), seconds(end)]);
  const overlap = spans.some(([begin, end], index) => spans.some(([from, to], other) => other !== index && from < end && begin < to));
  if (state.align !== "absolute" || state.isAlignChosen || spans.length < shown.length || overlap || state.range) return false;
  announce("The logs do not overlap in time: they are aligned at their starts.");
  address.replaceNext();
  change({ align: "start", sources: state.sources });
  return true;
}

let width = 0;
new ResizeObserver(() => {
  const now = columns();
  if (Math.abs(now - width) > width * 0.2) {
    if (width && isReady) loader.load();
    width = now;
  }
  if (isReady) draw();
}).observe(byId("content"));

setUpMenus();
setUpTheme(() => {
  chart.discardDrawing();
  grid.discardDrawings();
  draw();
});
setUpControls(page);
setUpKeys(keyTable(page));
setUpViews({ fragment, open: (text) => show(text, true), views, onSaved: (name) => change({ savedName: name, isChanged: false }) });
setUpTimeMenu(page);
byId("view-new").addEventListener("click", () => change({ panels: [], headline: [], title: "", savedName: null, viewName: null, isChanged: false, open: null, removed: new Set(), legend: new Map(), selected: null }));
byId("panel-new").addEventListener("click", () => addPanel(page, []));
byId("open-again").addEventListener("click", () => sources.openAgain());
setUpAnnotations(page);
api.onReturn(refresh);
// Another page can have closed a log while this one was hidden.
document.addEventListener("visibilitychange", () => !document.hidden && sources.shown().some(({ is_closable: isClosable }) => isClosable) && sources.checkOpen(refresh));

async function begin() {
  for (;;) {
    try {
      await Promise.all([sources.load(), views.load()]);
      break;
    } catch (problem) {
      if (problem.status) showError(problem);
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
  setZoomHistory(history.state);
  const early = Object.fromEntries(EARLY_STATE.filter((name) => chosenEarly.has(name)).map((name) => [name, state[name]]));
  isReady = true;
  if (fleet.isFirst(location.hash.slice(1))) {
    change({ sources: firstSources(), panels: [], viewName: null, isChanged: false });
    fleet.open();
  } else await show(location.hash.slice(1));
  // Apply changes that were made before the sources were loaded.
  if (Object.keys(early).length) change(early);
  for (const act of page.early) act();
  // What users do from now on is a new step, even if it comes before the delayed write.
  address.write(true);
  announce("Ready.");
  if (!isEmbedded) recorder.load();
  sources.reportFirstView();
}

begin();
