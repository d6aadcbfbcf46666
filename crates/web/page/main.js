// Assembles the page: state, data, and the components that show them.

import * as api from "./api.js";
import { addPanel, addPaths, changePanel, keyTable, onlyThis, removeLines } from "./actions.js";
import { Address } from "./address.js";
import { setUpAnnotations } from "./annotation-menu.js";
import { Chart } from "./chart.js";
import { Comparison } from "./compare.js";
import { setUpControls } from "./controls.js";
import { drawPage, Pace, selectedLine } from "./drawing.js";
import { byId } from "./element.js";
import { isEmbedded, withEmbed } from "./embed.js";
import { Fleet } from "./fleet.js";
import { Grid } from "./grid.js";
import { Headline } from "./headline.js";
import { HeatMap } from "./heat-map.js";
import { Hover } from "./hover.js";
import { setUpKeys } from "./keys.js";
import { Legend } from "./legend.js";
import { toFragment } from "./link.js";
import { LiveFeed } from "./live.js";
import { Loader } from "./loader.js";
import { setUpMenus } from "./menus.js";
import { announce, showError } from "./messages.js";
import { Fallback, firstSources, openLink } from "./opening.js";
import { combined, dataOf } from "./panel-data.js";
import { PercentileLoader } from "./percentiles.js";
import { watchChart } from "./pointer.js";
import { Recorder } from "./record.js";
import { setUpViews } from "./saved.js";
import { Sources } from "./sources.js";
import { change, onChange, setPresent, state } from "./state.js";
import { TableView } from "./table-view.js";
import { TableLoader } from "./tables.js";
import { setUpTheme } from "./theme.js";
import { setUpTimeMenu } from "./time-menu.js";
import { Tree } from "./tree.js";
import { Views } from "./views.js";
import { setZoomHistory, zoomTo } from "./zoom.js";

const sources = new Sources();
const chart = new Chart(byId("chart"));
const heatMap = new HeatMap(byId("heatmap"), false, (unit) => changePanel(page, { unit }));
const hover = new Hover(byId("hover"), (line) => legend.markRow(line?.key ?? null));
const grid = new Grid({ onChart: (added) => watchChart(page, added), onRow: (path) => addPanel(page, [path]), onRedraw: draw });
const columns = () => (panelAlone() ? Math.max(50, Math.min(2000, byId("chart-region").clientWidth - 80)) : grid.chartColumns());
const feed = new LiveFeed({ onData: () => pace.update(), onState: showLiveState, onProblem: problemOfData });
const loader = new Loader({ sources, feed, columns, onData: showNewData, onBusy: (isBusy) => (byId("chart-busy").hidden = !isBusy), onProblem: problemOfData });
const pace = new Pace({ isWanted: () => loader.isRunning() && !page.isDragging, draw: showNewData });
const tables = new TableLoader({ sources, loader, onData: draw, onProblem: problemOfData });
const percentiles = new PercentileLoader({ sources, loader, onData: () => { arrange(); draw(); }, onProblem: problemOfData });
const views = new Views({ sources, onOther: () => address.replaceNext(), onGone: () => fallback.refresh() });
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
const legend = new Legend({ onRemove: (keys) => removeLines(page, keys), onOnly: (line) => onlyThis(page, line), onUnit: (unit) => changePanel(page, { unit }) });
const table = new TableView(byId("report"), (path) => addPanel(page, [path]));
const fragment = () => withEmbed(toFragment((id) => sources.nameOf(id)));
const address = new Address({ fragment, show: (text) => openLink(page, text) });
const fallback = new Fallback({ sources, loader, views, address, reload });
tree.onOpen = () => comparison.close();
sources.onChange = () => {
  tree.sourcesChanged();
  comparison.sourcesChanged();
  fleet.sourcesChanged();
};
sources.onView = (text, name) => views.openText(text, name);

let isReady = false;
let drawing = 0;
let following = "";

/** Shared by the components. */
const page = {
  sources, heatMap, hover, feed, loader, tables, table, tree, views, headline, grid, comparison, legend, address, choose,
  /** The panel that is shown alone, its chart, and the selected counter. */
  panel: panelAlone,
  chart: () => (panelAlone()?.kind === "heatmap" ? heatMap : chart),
  line: () => selectedLine(page),
  /** The data of the panel that is shown alone, otherwise that of all panels; the data of each panel by its id. */
  data: loader.data(),
  panelData: new Map(),
  /** Whether the user is dragging over a chart; live data is not drawn meanwhile. */
  isDragging: false,
  /** The state of the stream, and the message of the last request for values if it failed. */
  liveState: "connecting",
  problemText: "",
  isReady: () => isReady,
  /** Functions to call once the sources are loaded: what users did before. */
  early: [],
};

/** The panel that is shown alone: the chosen one, or the only one. Null if the grid is shown. */
function panelAlone() {
  const { panels, open } = state;
  return panels.find((panel) => panel.id === open) ?? (panels.length > 1 ? null : (panels[0] ?? null));
}

/** Updates the data of each panel and of the page. */
function arrange() {
  const all = loader.data();
  percentiles.apply(all.blocks);
  page.panelData = new Map(state.panels.map((panel) => [panel.id, dataOf(panel, all)]));
  setPresent(new Set([...page.panelData.values()].flatMap(({ lines }) => lines.map((line) => line.key))));
  const alone = panelAlone();
  page.data = alone ? page.panelData.get(alone.id) : combined(page.panelData, all);
}

/** Draws the page in the next frame. */
function draw() {
  cancelAnimationFrame(drawing);
  drawing = requestAnimationFrame(() => drawPage(page));
}

/** Shows new data. */
function showNewData() {
  page.problemText = "";
  if (fallback.openStartView()) return;
  arrange();
  tables.update();
  percentiles.update();
  draw();
}

function showLiveState(now) {
  page.liveState = now;
  // EventSource gives no reason; a request finds out whether the server responds.
  if (now === "away") api.sources().catch(() => {});
  draw();
}

function problemOfData(problem) {
  if (problem.status === 404 && !api.serverIsAway()) return fallback.refresh();
  // The line at the top shows that the server is unreachable.
  if (problem.status === 0) return;
  page.problemText = problem.message;
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

/** Loads all data again, and follows the live source again. */
function reload() {
  following = "";
  load();
}

/** State whose change requires other data, or another arrangement. */
const NEED_DATA = ["sources", "paths", "range", "frozen", "align", "every", "points", "shift", "group"];
const NEED_ARRANGEMENT = ["panels", "open", "removed", "zone", "frozen", "legend", "columns", "figure"];
/** Parts of the state that users can change before the sources are loaded. */
const EARLY_STATE = ["align", "zone", "numbers", "figure", "columns", "group", "shift", "every", "points", "sort"];
const chosenEarly = new Set();
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
    if (fallback.sourcesChanged()) return;
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

watchChart(page, chart);
watchChart(page, heatMap);

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
setUpViews({ fragment, open: (text) => openLink(page, text, true), views, onSaved: (name) => change({ savedName: name, isChanged: false }) });
setUpTimeMenu(page);
byId("view-new").addEventListener("click", () => change({ panels: [], headline: [], title: "", savedName: null, viewName: null, isChanged: false, open: null, removed: new Set(), legend: new Map(), selected: null }));
byId("panel-new").addEventListener("click", () => addPanel(page, []));
byId("open-again").addEventListener("click", () => sources.openAgain());
setUpAnnotations(page);
api.onReturn(() => fallback.refresh());
// Another page can have closed a log while this one was hidden.
document.addEventListener("visibilitychange", () => !document.hidden && sources.shown().some(({ is_closable: isClosable }) => isClosable) && sources.checkOpen(() => fallback.refresh()));

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
    change({ sources: firstSources(sources), panels: [], viewName: null, isChanged: false });
    fleet.open();
  } else await openLink(page, location.hash.slice(1));
  // Apply changes that were made before the sources were loaded.
  if (Object.keys(early).length) change(early);
  for (const act of page.early) act();
  // The step of the link is complete. A change within the delay of writes must not replace it.
  address.write(true);
  announce("Ready.");
  if (!isEmbedded) recorder.load();
  sources.reportFirstView();
}

begin();
