// One panel of the grid: its header, its chart, bars, numbers or table, and a short legend.

import { Chart } from "./chart.js";
import { element, setText, setTitle, swatch } from "./element.js";
import { figure, lineFigure } from "./figures.js";
import { HeatMap } from "./heat-map.js";
import { drawHistogram } from "./histogram.js";
import { areSeveral, nameOf, shortName, withSource } from "./names.js";
import { isChart, isOverTime, titleOf } from "./panels.js";
import { styleOf } from "./scene.js";
import { changeEntries, entry, state } from "./state.js";
import { TableView } from "./table-view.js";
import { figureName, figureTitle, shownValue } from "./values.js";

/** The maximum number of rows of a panel's legend; a panel that is shown alone has another legend. */
const MAX_ROWS = 60;

/** A panel in the grid. `acts` are the actions of its header. */
export class PanelView {
  constructor(id, acts) {
    this.id = id;
    this.acts = acts;
    this.title = element("button", { type: "button", class: "plain panel-title", title: "Show this panel alone (Enter)", onclick: () => acts.open(id) });
    this.handle = element("span", { class: "panel-handle", "aria-hidden": "true", title: "Drag to move" }, "⠿");
    /** The statistic of the legend's values. */
    this.figure = element("span", { class: "panel-figure", title: "The legend's values, of the visible range (Display menu)" });
    /** The mark of values that are beyond the axis. */
    this.cut = element("span", { class: "panel-cut warning-text", title: "Some values are beyond the axis: they are drawn at its edge" });
    this.menu = this.menuOf();
    this.place = element("div", { class: "panel-place" });
    this.empty = element("p", { class: "panel-empty", hidden: true });
    this.legend = element("ul", { class: "panel-legend plain-list" });
    this.corner = element("span", { class: "panel-corner", "aria-hidden": "true", title: "Drag to resize" });
    this.element = element(
      "section",
      { class: "panel", tabindex: 0, "data-panel": id },
      element("header", { class: "panel-header" }, this.handle, element("h2", {}, this.title), element("span", { class: "grow" }), this.cut, this.figure, this.menu),
      element("div", { class: "panel-body" }, this.place, this.empty),
      this.legend,
      this.corner,
    );
    this.chart = null;
    /** The charts that were created: one for lines, one for heat maps. */
    this.charts = new Map();
    this.rows = new Map();
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
  draw(panel, data, table, why) {
    const lines = data.lines;
    const kind = panel.kind === "table" && !panel.table ? "report" : panel.kind;
    setText(this.title, titleOf(panel));
    this.element.setAttribute("aria-label", titleOf(panel));
    if (kind !== this.kind) this.changeKind(kind);
    const isEmpty = kind !== "table" && !lines.length;
    this.empty.hidden = !isEmpty;
    setText(this.empty, isEmpty ? why : "");
    this.place.classList.toggle("invisible", isEmpty);
    if (isOverTime(kind)) this.drawChart(panel, data);
    else if (kind === "table") this.table.draw(panel, table);
    else if (kind === "bars") drawHistogram(this.place, lines, panel, () => this.acts.open(this.id));
    else this.drawNumbers(lines);
    this.drawLegend(isChart(kind) ? lines : [], areSeveral(data.blocks));
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
      this.chart = isHeatMap ? new HeatMap(this.place, true) : new Chart(this.place, true);
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

  /** A click shows only this line, or all lines again; with Ctrl or Shift, it hides or shows this line. */
  clickLine(key, event) {
    const keys = this.keys;
    if (event.ctrlKey || event.metaKey || event.shiftKey) return changeEntries([key], { isHidden: !entry(key).isHidden });
    const isAlone = keys.every((other) => entry(other).isHidden === (other !== key)) && keys.length > 1;
    for (const other of keys) Object.assign(entry(other), { isOfView: false, isHidden: !isAlone && other !== key });
    return changeEntries([], {});
  }

  drawLegend(lines, several) {
    this.keys = lines.map(({ key }) => key);
    // Hidden lines are last, so that lines on the chart have rows even if there are more than `MAX_ROWS`.
    const isHidden = ({ key }) => entry(key).isHidden;
    const ordered = lines.length > MAX_ROWS && lines.some(isHidden) ? [...lines.filter((line) => !isHidden(line)), ...lines.filter(isHidden)] : lines;
    const shown = ordered.slice(0, MAX_ROWS);
    setText(this.figure, shown.length ? figureTitle(shown) : "");
    const keys = new Set(shown.map((line) => line.key));
    for (const [key, row] of this.rows) {
      if (keys.has(key)) continue;
      row.item.remove();
      this.rows.delete(key);
    }
    shown.forEach((line, index) => {
      let row = this.rows.get(line.key);
      if (!row) {
        row = { mark: element("span", { class: "legend-mark" }), name: element("span", { class: "legend-name" }), value: element("span", { class: "number legend-value" }) };
        row.button = element("button", { type: "button", class: "plain legend-line", onclick: (event) => this.clickLine(line.key, event) }, row.mark, row.name, row.value);
        row.item = element("li", {}, row.button);
        this.rows.set(line.key, row);
      }
      if (this.legend.children[index] !== row.item) this.legend.insertBefore(row.item, this.legend.children[index] ?? null);
      const style = styleOf(line);
      const text = JSON.stringify(style);
      if (row.style !== text) {
        row.style = text;
        row.mark.replaceChildren(swatch(style));
      }
      const value = shownValue(line);
      setText(row.name, withSource(shortName(line), line.source, several));
      setText(row.value, lineFigure(value, line));
      row.value.dataset.value = value ?? "";
      row.button.classList.toggle("hidden-line", entry(line.key).isHidden);
      row.button.setAttribute("aria-pressed", String(!entry(line.key).isHidden));
      setTitle(row.button, `${line.path}\n${figureName(line)}: ${figure(value, line.type)}${state.numbers === "raw" ? "" : `\n${nameOf(line)}. Click: only this one; with Ctrl: hide or show`}`);
    });
    setText(this.element.querySelector(".panel-more") ?? this.more(), lines.length > MAX_ROWS ? `and ${lines.length - MAX_ROWS} more` : "");
  }

  more() {
    const more = element("span", { class: "panel-more hint" });
    this.legend.after(more);
    return more;
  }
}
