// One panel of the grid: its header, its chart, bars, numbers or table, and a short legend.

import { Chart } from "./chart.js";
import { element, setText } from "./element.js";
import { lineFigure, shownValue, span } from "./figures.js";
import { HeatMap } from "./heat-map.js";
import { usualDistance } from "./heat-scene.js";
import { drawHistogram } from "./histogram.js";
import { shortName } from "./names.js";
import { PanelLegend } from "./panel-legend.js";
import { isChart, isOverTime, titleOf } from "./panels.js";
import { withoutMachine } from "./paths.js";
import { entry, state } from "./state.js";
import { TableView } from "./table-view.js";

/** A panel in the grid. `acts` are the actions of its header. */
export class PanelView {
  constructor(id, acts) {
    this.id = id;
    this.acts = acts;
    this.title = element("button", { type: "button", class: "plain panel-title", title: "Show this panel alone (Enter)", onclick: () => acts.open(id) });
    this.handle = element("span", { class: "panel-handle", "aria-hidden": "true", title: "Drag to move" }, "⠿");
    /** The statistic of the legend's values. */
    this.figure = element("span", { class: "panel-figure", title: "The values of the legend, of the visible range (Display menu), and what lines and bands are" });
    /** The mark of values that are beyond the axis. */
    this.cut = element("span", { class: "panel-cut warning-text", title: "Some values are beyond the axis: they are drawn at its edge" });
    this.menu = this.menuOf();
    this.place = element("div", { class: "panel-place" });
    this.empty = element("p", { class: "panel-empty", hidden: true });
    this.legend = new PanelLegend(() => acts.redraw());
    this.corner = element("span", { class: "panel-corner", "aria-hidden": "true", title: "Drag to resize" });
    this.element = element(
      "section",
      { class: "panel", tabindex: 0, "data-panel": id },
      element("header", { class: "panel-header" }, this.handle, element("h2", {}, this.title), element("span", { class: "grow" }), this.cut, this.figure, this.menu),
      element("div", { class: "panel-body" }, this.place, this.empty),
      this.legend.element,
      this.corner,
    );
    this.chart = null;
    /** The charts that were created: one for lines, one for heat maps. */
    this.charts = new Map();
  }

  menuOf() {
    const { acts, id } = this;
    const item = (text, act) => element("button", { type: "button", "data-closes": true, onclick: () => act(id) }, text);
    return element(
      "details",
      { class: "menu panel-menu" },
      element("summary", { "aria-label": "Panel menu", title: "Panel menu" }, "⋯"),
      element(
        "div",
        { class: "menu-body narrow" },
        item("Show alone, edit", acts.open),
        item("Move left", (panel) => acts.move(panel, -1)),
        item("Move right", (panel) => acts.move(panel, 1)),
        item("Wider", (panel) => acts.resize(panel, 1, 0)),
        item("Narrower", (panel) => acts.resize(panel, -1, 0)),
        item("Taller", (panel) => acts.resize(panel, 0, 1)),
        item("Shorter", (panel) => acts.resize(panel, 0, -1)),
        item("Remove", acts.remove),
      ),
    );
  }

  /** Draws the panel's data; `why` is the message if it is empty. `table` are the rows of a table. */
  draw(panel, all, table, why) {
    const data = this.legend.isOpen ? all : topOf(panel, all);
    const lines = data.lines;
    const kind = panel.kind === "table" && !panel.table ? "report" : panel.kind;
    setText(this.title, titleOf(panel));
    // Screen readers distinguish panels of the same title by numbers.
    const same = state.panels.filter((other) => titleOf(other) === titleOf(panel));
    this.element.setAttribute("aria-label", same.length > 1 ? `${titleOf(panel)} (${same.indexOf(panel) + 1})` : titleOf(panel));
    if (kind !== this.kind) this.changeKind(kind);
    const isEmpty = kind !== "table" && !lines.length;
    this.empty.hidden = !isEmpty;
    setText(this.empty, isEmpty ? why : "");
    this.place.classList.toggle("invisible", isEmpty);
    if (isOverTime(kind)) this.drawChart(panel, data);
    else if (kind === "table") this.table.draw(panel, table);
    else if (kind === "bars") drawHistogram(this.place, lines, panel, () => this.acts.open(this.id));
    else this.drawNumbers(lines);
    const figure = this.legend.draw(panel, isChart(kind) ? lines : [], data.blocks, isChart(kind) ? all.lines.length - lines.length : 0);
    setText(this.figure, figure ? [`legend: ${figure}`, ...chartFacts(this.chart?.scene, data)].join("; ") : "");
    const summary = data.lines.slice(0, 12).map((line) => `${shortName(line)} ${lineFigure(shownValue(line), line)}`);
    this.place.setAttribute("aria-label", isEmpty ? why : summary.join(", "));
  }

  changeKind(kind) {
    this.chart?.clear();
    this.chart = this.charts.get(kind === "heatmap") ?? null;
    this.place.replaceChildren();
    this.kind = kind;
    this.place.dataset.kind = kind;
    if (isOverTime(kind) || kind === "bars") this.place.setAttribute("role", "img");
    else this.place.removeAttribute("role");
    this.table = kind === "table" ? new TableView(this.place, this.acts.chart) : null;
  }

  drawChart(panel, data) {
    if (!this.chart) {
      const isHeatMap = panel.kind === "heatmap";
      this.chart = isHeatMap ? new HeatMap(this.place, true, (unit) => this.acts.unit(this.id, unit)) : new Chart(this.place, true);
      this.charts.set(isHeatMap, this.chart);
      this.acts.chartMade(this.chart);
    }
    if (data.lines.length) this.chart.draw(data, panel);
    setText(this.cut, data.lines.length && this.chart.scene?.cut ? "▲ beyond the axis" : "");
  }

  /** Draws single values, in large type if there are few. */
  drawNumbers(lines) {
    const shown = lines.filter((line) => !entry(line.key).isHidden).slice(0, 200);
    this.place.classList.toggle("few", shown.length <= 4);
    this.place.replaceChildren(
      ...shown.map((line) =>
        element("div", { class: "single", title: line.path }, element("span", { class: "single-value", "data-value": shownValue(line) ?? "" }, lineFigure(shownValue(line), line)), element("span", { class: "single-name" }, shortName(line))),
      ),
    );
  }
}

/** The data with the instances that the panel draws at first: those with the largest maximum. Instances of several sources are one. */
function topOf(panel, data) {
  if (!panel.top || (panel.kind !== "line" && panel.kind !== "area")) return data;
  const instanceOf = ({ path }) => withoutMachine(path).replace(/\\[^\\]*$/, "").toLowerCase();
  const largest = new Map();
  for (const line of data.lines) largest.set(instanceOf(line), Math.max(largest.get(instanceOf(line)) ?? -Infinity, line.statistics?.maximum ?? -Infinity));
  if (largest.size <= panel.top) return data;
  const chosen = new Set([...largest].sort(([, one], [, other]) => other - one || 0).slice(0, panel.top).map(([instance]) => instance));
  const isChosen = (line) => chosen.has(instanceOf(line));
  return { ...data, lines: data.lines.filter(isChosen), blocks: data.blocks.map((block) => ({ ...block, lines: block.lines.filter(isChosen) })) };
}

/** What the points of a chart are, in short sentences. */
function chartFacts(scene, data) {
  if (!scene?.columns) return [];
  if (scene.isStacked) return ["stacked"];
  if (!scene.columns.some(({ hasBand }) => hasBand)) return [];
  return [`line: average of ${span(usualDistance(data.blocks[0].times))}, band: minimum to maximum`];
}
