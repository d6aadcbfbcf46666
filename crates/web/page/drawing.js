// Draws the page: the grid of panels, or the panel that is shown alone, and the texts around them; how often it draws live values.

import { axesOf, drawnTest } from "./axes.js";
import { showControls } from "./controls.js";
import { byId, setText } from "./element.js";
import { missingText, whyEmpty } from "./empty.js";
import { count } from "./figures.js";
import { drawHistogram } from "./histogram.js";
import { summaryOf } from "./hover.js";
import { sorted } from "./legend.js";
import { areSeveral } from "./names.js";
import { isChart, isOverTime, titleOf as panelTitle } from "./panels.js";
import { titleOf } from "./picture.js";
import { drawReport, drawValueBar } from "./report.js";
import { change, entry, state } from "./state.js";

/** The distances of a chart from the edges of its region, in pixels. */
const CHART_MARGINS = 30;
const SAMPLES_GONE = "The server no longer has the samples of this time range";
/** After a drawing, new values wait this many times as long as it took, at most `MAX_REST_MS`. */
const REST = 3;
const MAX_REST_MS = 5000;
/** Two frames: the shortest time until a drawing is on the screen. */
const FRAMES_MS = 34;

/** The selected counter, or the first one of the legend. */
export function selectedLine(page) {
  const { lines } = page.data;
  const first = () => sorted(lines).find(drawnTest(page.panel(), page.data)) ?? lines[0];
  return lines.find((line) => line.key === state.selected) ?? first() ?? null;
}

/** Draws the page for its state and data. */
export function drawPage(page) {
  const { data, sources, grid, tables } = page;
  const alone = page.panel();
  const isGone = sources.gone().length > 0;
  const isGrid = !alone && state.panels.length > 0 && !isGone;
  byId("open-again").hidden = !isGone;
  byId("panels").hidden = !isGrid;
  page.headline.show(isGrid);
  for (const id of ["chart-region", "value-bar", "legend"]) byId(id).hidden = isGrid;
  byId("content").classList.toggle("has-grid", isGrid);
  if (isGrid) grid.draw((panel) => page.panelData.get(panel.id) ?? data, (panel) => tables.rowsFor(panel), (panel) => whyEmpty(page, page.panelData.get(panel.id) ?? data, panel));
  else drawAlone(page, alone);
  // Before the first sample there is no time range.
  setText(byId("range-text"), data.blocks.some(({ begin, end }) => end > begin) ? titleOf(data) : "");
  const gone = data.isGone && data.lines.length ? `${SAMPLES_GONE}: showing loaded values without statistics` : "";
  const scene = !isGrid && alone && isChart(alone.kind) ? page.chart().scene : null;
  const cut = scene?.cut ?? 0;
  const reason = () => (scene.isScaled ? `not between 0 and 100: “Scale to fit” (*) shows ${cut === 1 ? "it" : "them"}` : "beyond the axis, whose ends are in the Panel menu");
  setText(byId("cut-text"), cut ? `${count(cut, "counter")} drawn at the edge, because ${cut === 1 ? "its values are" : "their values are"} ${reason()}.` : "");
  const missing = isGrid && state.viewName ? "" : missingText(data.missing);
  setText(byId("missing-text"), [gone, missing].filter(Boolean).join("; "));
  setText(byId("chart-summary"), summaryOf(data));
  // The time range of the statistics, for tests.
  byId("content").dataset.range = data.range ? `${data.range.begin.toFixed(3)}~${data.range.end.toFixed(3)}` : "";
  showControls(page, page.liveState);
}

/** Draws the panel that is shown alone. */
function drawAlone(page, panel) {
  const { data, sources, hover, legend } = page;
  const lines = sorted(data.lines);
  const several = data.blocks.length > 1;
  const select = (key) => change({ selected: key });
  const kind = panel?.kind === "table" && !panel.table ? "report" : (panel?.kind ?? "line");
  const shown = isChart(kind) ? "chart" : kind === "bars" ? "histogram" : kind === "heatmap" ? "heatmap" : "report";
  for (const name of ["chart", "heatmap", "histogram", "report"]) byId(name).hidden = name !== shown;
  if (!isOverTime(kind)) hover.hide();
  if (kind === "table") page.table.draw(panel, page.tables.rowsFor(panel));
  else if (shown === "histogram") drawHistogram(byId("histogram"), lines, panel, select);
  else if (shown === "report") {
    page.table.shape = "";
    drawReport(byId("report"), lines, several, select);
  } else if (data.lines.length && panel) page.chart().draw({ ...data, lines }, panel);
  for (const name of ["chart", "heatmap"]) byId(name).classList.toggle("invisible", !data.lines.length);
  byId("value-bar").hidden = byId("legend").hidden = kind === "table" || sources.gone().length > 0;
  const isScaled = Boolean(panel) && kind !== "heatmap" && axesOf(panel, lines.filter(({ key }) => !entry(key).isHidden), lines).isScaled;
  legend.draw(data.lines, several, { isScaled, hasColours: kind !== "heatmap", isDrawn: drawnTest(panel, data) });
  // A heat map is as high as its names need; the page scrolls.
  const high = kind === "heatmap" && data.lines.length ? page.heatMap.wantedHeight() + CHART_MARGINS : 0;
  byId("chart-region").style.minHeight = high ? `${high}px` : "";
  drawValueBar(selectedLine(page), data.lines.length ? data.end - data.begin : null, areSeveral(data.blocks));
  setText(byId("chart-title"), panel ? panelTitle(panel) : "");
  const empty = byId("chart-empty");
  empty.hidden = !sources.gone().length && (data.lines.length > 0 || kind === "table");
  setText(empty, empty.hidden ? "" : whyEmpty(page, data, panel));
}

/** Draws new live values, with pauses if that takes long, so that the crosshair moves meanwhile: very many lines take longer than a frame. */
export class Pace {
  /** `isWanted()`: whether live values are drawn now. */
  constructor({ isWanted, draw }) {
    Object.assign(this, { isWanted, draw, drawnAt: 0, cost: 0, timer: null });
  }

  /** Draws new values now, or after the pause. */
  update() {
    if (this.timer !== null || !this.isWanted()) return;
    const rest = this.drawnAt + Math.min(MAX_REST_MS, REST * this.cost) - performance.now();
    if (rest > 0) {
      this.timer = setTimeout(() => {
        this.timer = null;
        this.update();
      }, rest);
      return;
    }
    const start = performance.now();
    this.draw();
    // The first frame draws, and the second one begins when it is on the screen.
    requestAnimationFrame(() => requestAnimationFrame(() => {
      this.drawnAt = performance.now();
      this.cost = Math.max(0, this.drawnAt - start - FRAMES_MS);
    }));
  }
}
