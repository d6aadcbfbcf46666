// Assembles the page: state, data, and the components that show them.

import * as api from "./api.js";
import { Chart } from "./chart.js";
import { setUpControls, showControls } from "./controls.js";
import { byId, setText } from "./element.js";
import { drawHistogram } from "./histogram.js";
import { Hover, summaryOf } from "./hover.js";
import { setUpKeys } from "./keys.js";
import { keyTable, removeLines } from "./actions.js";
import { Legend, sorted } from "./legend.js";
import { LiveFeed } from "./live.js";
import { Loader } from "./loader.js";
import { setUpMenus } from "./menus.js";
import { announce, showError } from "./messages.js";
import { titleOf } from "./picture.js";
import { fragmentOf, Presets } from "./presets.js";
import { drawReport } from "./report.js";
import { setUpViews } from "./saved.js";
import { Sources } from "./sources.js";
import { addPaths, change, fromFragment, onChange, setPresent, state, toFragment } from "./state.js";
import { setUpTheme } from "./theme.js";
import { Tree } from "./tree.js";
import { drawValueBar } from "./valuebar.js";
import { watchPointer, zoomTo } from "./zoom.js";

const sources = new Sources();
const chart = new Chart(byId("chart"));
const hover = new Hover(chart, byId("hover"));
const feed = new LiveFeed({ onData: () => loader.isRunning() && !isDragging && showNewData(), onState: showLiveState, onProblem: problemOfData });
const loader = new Loader({ sources, feed, columns: () => chart.columns(), onData: showNewData, onBusy: (isBusy) => (byId("chart-busy").hidden = !isBusy), onProblem: problemOfData });
const tree = new Tree({ sources: () => sources.ready() });
sources.onChange = () => tree.sourcesChanged();
/** Shared by the components. */
const page = { sources, chart, hover, feed, loader, tree, data: loader.data(), choose, line: selectedLine };
const presets = new Presets();
const legend = new Legend({ onRemove: (keys) => removeLines(page, keys) });
page.legend = legend;

let isReady = false;
/** Whether the user is dragging over the chart; live data is not drawn meanwhile. */
let isDragging = false;
let drawing = 0;
let liveState = "connecting";
const SAMPLES_GONE = "The server no longer has the samples of this time range";
let following = "";

/** The selected counter, or the first one of the legend. */
function selectedLine() {
  return page.data.lines.find((line) => line.key === state.selected) ?? sorted(page.data.lines)[0] ?? null;
}

/** Shows new data. */
function showNewData() {
  let data = loader.data();
  if (!data.lines.length && showDefaults(data)) return;
  const excluded = presets.apply(data.lines);
  if (excluded.length) {
    change({ removed: new Set([...state.removed, ...excluded]) });
    data = loader.data();
  }
  page.data = data;
  setPresent(new Set(data.lines.map((line) => line.key)));
  byId("chart-empty").dataset.problem = "";
  draw();
}

const tried = new Set();

/** If the sources have none of the selected counters, shows their defaults. Returns whether it did. */
function showDefaults(data) {
  const shown = sources.shown();
  const names = shown.map((source) => source.id).join(" ");
  const usual = [...new Set(shown.flatMap((source) => source.default_paths ?? []))];
  const isUseless = state.paths.length ? data.missing.length >= state.paths.length : !state.isCleared;
  const isWhole = !state.range && !state.frozen;
  if (!isUseless || !isWhole || !usual.length || tried.has(names)) return false;
  tried.add(names);
  change({ paths: usual, removed: new Set() });
  return true;
}

function problemOfData(problem) {
  if (problem.status === 404 && !api.serverIsAway()) return refresh();
  // The line at the top shows that the server is unreachable.
  if (problem.status === 0) return;
  byId("chart-empty").dataset.problem = problem.message;
  showError(problem);
  draw();
}

/** Zooms into a range selected on the chart; freezes live data. */
function choose(range) {
  if (loader.isRunning()) {
    if (!range) return;
    loader.freeze(loader.fromStarts() ? feed.bounds().seconds.begin + range.end : undefined);
  }
  zoomTo(range);
}

function draw() {
  cancelAnimationFrame(drawing);
  drawing = requestAnimationFrame(drawNow);
}

function drawNow() {
  const { data } = page;
  const { view } = state;
  for (const name of ["chart", "histogram", "report"]) byId(name).hidden = name !== (view === "line" ? "chart" : view);
  const lines = sorted(data.lines);
  const several = data.blocks.length > 1;
  const select = (key) => change({ selected: key });
  if (view === "line") chart.draw(data);
  else {
    hover.hide();
    if (view === "histogram") drawHistogram(byId("histogram"), lines, select);
    else drawReport(byId("report"), lines, several, select);
  }
  legend.draw(data.lines, several);
  drawValueBar(selectedLine(), data.lines.length ? data.end - data.begin : null);
  setText(byId("range-text"), data.blocks.length ? titleOf(data) : "");
  const missing = data.missing.map(({ path, reason }) => `${path}: ${reason}`);
  setText(byId("missing-text"), [...(data.isGone && data.lines.length ? [`${SAMPLES_GONE}: showing loaded values without statistics`] : []), ...missing].join("; "));
  setText(byId("chart-summary"), summaryOf(data));
  // The range of the figures, for tests.
  byId("content").dataset.range = data.range ? `${data.range.begin.toFixed(3)}~${data.range.end.toFixed(3)}` : "";
  const empty = byId("chart-empty");
  const isReading = sources.all.some((source) => source.state === "reading" && state.sources.includes(source.id));
  const why = isReading ? "Reading the log…" : empty.dataset.problem || (data.isEmpty ? "There are no samples in this time range." : state.sources.length ? "The chart has no counters. Press a to add some." : "Open a log, or choose a source at the top.");
  empty.hidden = data.lines.length > 0;
  setText(empty, why);
  showControls(page, liveState);
}

function showLiveState(now) {
  liveState = now;
  // EventSource gives no reason; a request finds out whether the server responds.
  if (now === "away") api.sources().catch(() => {});
  draw();
}

/** Follows the live source if it is on the chart. */
function follow() {
  const live = sources.shown().find((source) => source.kind === "live");
  const wanted = live && state.paths.length ? JSON.stringify([live.id, state.paths, state.every, state.points]) : "";
  if (wanted === following) return;
  following = wanted;
  if (wanted) feed.start(live, state.paths, state.every, state.points);
  else {
    feed.stop();
    feed.block = null;
  }
}

/** Loads the data for the state. */
function load() {
  if (!state.paths.length) {
    if (showDefaults({ missing: [] })) return;
    loader.blocks = new Map();
  }
  follow();
  loader.load();
  if (!state.paths.length || (loader.isRunning() && !feed.block)) {
    page.data = loader.data();
    draw();
  }
}

let writing = 0;
/** Writes the view to the URL: delayed, because browsers limit the rate; at once if `isNow`. */
function writeAddress(isNow = false) {
  clearTimeout(writing);
  const write = () => history.replaceState(null, "", `#${fragment()}`);
  if (isNow) write();
  else writing = setTimeout(write, 200);
}
page.writeAddress = writeAddress;

const fragment = () => toFragment((id) => sources.byId(id)?.name ?? "");

/** Shows a link or saved view; `counters` are those of the server's view. */
function show(text, counters = []) {
  presets.set(counters);
  const idOf = (id, name) => {
    const all = sources.all;
    const found = all.find((source) => source.id === id && (!name || source.name === name)) ?? all.find((source) => source.name === name);
    return found?.id ?? null;
  };
  const { parts, missing } = fromFragment(text, idOf);
  if (missing.length) showError(`No longer open on the server: ${missing.join(", ")}.`);
  if (!parts.sources.length) parts.sources = firstSources();
  // A range of live data means that it is frozen.
  const isLive = parts.sources.some((id) => sources.byId(id)?.kind === "live");
  const frozen = isLive && parts.range ? parts.range : null;
  change({ ...parts, frozen, isCleared: false });
}

/** The sources that are shown first: the logs of the command line, or else this machine. */
function firstSources() {
  const logs = sources.all.filter((source) => source.kind === "log" && source.state !== "failed" && !source.is_closable);
  const first = logs.length ? logs : sources.all.filter((source) => source.state !== "failed").slice(0, 1);
  return first.slice(0, 4).map((source) => source.id);
}

/** Reloads the sources after an outage, or when a source has disappeared. */
async function refresh() {
  try {
    await sources.load();
    const gone = state.sources.filter((id) => !sources.byId(id));
    if (gone.length) {
      showError("A log is no longer open on the server.");
      const rest = state.sources.filter((id) => sources.byId(id));
      change({ sources: rest.length ? rest : firstSources(), range: null, frozen: null });
    } else {
      following = "";
      load();
    }
  } catch {
    // Shown by the line at the top.
  }
}

const OF_DATA = ["sources", "paths", "range", "frozen", "align", "every", "points"];
/** Parts of the state that users can change before the sources are loaded. */
const OF_VIEW = ["view", "align", "zone", "axis", "figure", "every", "points", "sort"];
const chosenEarly = new Set();
onChange((names) => {
  if (!isReady) {
    for (const name of names) chosenEarly.add(name);
    return;
  }
  if (names.has("sources")) {
    sources.draw();
    tried.clear();
  }
  if (OF_DATA.some((name) => names.has(name))) load();
  if (["removed", "zone", "frozen"].some((name) => names.has(name))) page.data = loader.data();
  draw();
  writeAddress();
});

chart.hooks.ready = (plot) => {
  watchPointer(plot, {
    view: () => ({ begin: page.data.begin, end: page.data.end }),
    whole: () => loader.whole() ?? page.data,
    onChoose: choose,
    onHold: (now) => (isDragging = now),
    onClick: () => hover.nearest && change({ selected: hover.nearest.key }),
  });
};
const follows = chart.hooks.cursor;
chart.hooks.cursor = (plot) => {
  follows(plot);
  legend.markRow(hover.nearest?.key ?? null);
};
let width = 0;
new ResizeObserver(() => {
  const now = chart.columns();
  if (Math.abs(now - width) > width * 0.2) {
    if (width && isReady) loader.load();
    width = now;
  }
  if (isReady) draw();
}).observe(byId("chart-region"));

setUpMenus();
setUpTheme(() => {
  chart.discardDrawing();
  draw();
});
setUpControls(page);
setUpKeys(keyTable(page));
setUpViews({ fragment, open: show });
api.onReturn(refresh);
addEventListener("hashchange", () => show(location.hash.slice(1)));

async function begin() {
  for (;;) {
    try {
      await sources.load();
      break;
    } catch (problem) {
      if (problem.status) showError(problem);
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
  const { paths } = state;
  const early = Object.fromEntries(OF_VIEW.filter((name) => chosenEarly.has(name)).map((name) => [name, state[name]]));
  isReady = true;
  const { view } = sources;
  if (view && !location.hash.slice(1)) show(fragmentOf(view), view.counters);
  else show(location.hash.slice(1));
  // Apply changes that were made before the sources were loaded.
  if (chosenEarly.size) change(early);
  if (paths.length) addPaths(paths);
  announce("Ready.");
  sources.reportFirstView();
}

begin();
