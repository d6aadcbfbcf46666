// A chart of one counter: a line for each of some machines, and a line for all machines together.

import * as api from "./api.js";
import { onMachine } from "./catalogue.js";
import { element, setText } from "./element.js";
import { axisFigure, lineFigure } from "./figures.js";
import { highlightColour, lineStyle } from "./palette.js";
import { withoutMachine } from "./paths.js";
import { colour, theme } from "./theme.js";

/** The minified uPlot is not a module, so a script before this one defines it. */
const { uPlot } = globalThis;
/** The time that the chart covers, in seconds. */
const SPAN = 300;
const COLUMNS = 300;
const HEIGHT = 180;

export class FleetChart {
  constructor(place) {
    this.place = place;
    this.plot = null;
  }

  /** Loads and draws the lines of a path: the sum of its instances on each of these machines, and on all machines together. Draws nothing
   * if the signal is aborted. */
  async update(source, path, machines, signal) {
    const now = await api.source(source.id, signal);
    if (!now.end) return;
    const end = Date.parse(now.end) / 1000;
    const begin = end - SPAN;
    const request = { begin: String(begin), end: null, columns: COLUMNS };
    const own = machines.map((machine) => onMachine(machine, withoutMachine(path)));
    const [single, merged] = await Promise.all([
      own.length ? api.seriesWithin(source.id, { ...request, paths: own, group_by: "machine" }, signal) : { times: [], series: [] },
      api.seriesWithin(source.id, { ...request, paths: [path], group_by: "machine", across: "machines" }, signal),
    ]);
    if (signal.aborted) return;
    this.draw([...single.series.map((line) => ({ line, times: single.times, name: line.machine })), ...merged.series.map((line) => ({ line, times: merged.times, name: "All machines", isAll: true }))]);
  }

  draw(lines) {
    const now = theme();
    const times = [...new Set(lines.flatMap((one) => one.times))].sort((one, other) => one - other);
    const columns = lines.map(({ line, times: own }) => {
      const known = new Map(own.map((time, index) => [time, line.average[index]]));
      return times.map((time) => (known.has(time) ? known.get(time) : undefined));
    });
    const styles = lines.map(({ isAll }, index) => (isAll ? { colour: highlightColour(now), dash: [], width: 3 } : lineStyle(index, now)));
    const shape = JSON.stringify([now, lines.map(({ name, line }) => [name, line.path])]);
    if (shape !== this.shape) this.build(shape, lines, styles);
    this.plot.setData([times, ...columns]);
    lines.forEach(({ line }, index) => setText(this.values[index], lineFigure(line.average.at(-1), line)));
  }

  build(shape, lines, styles) {
    this.shape = shape;
    this.plot?.destroy();
    const grid = { stroke: colour("grid"), width: 1 };
    const format = lines.at(-1)?.line;
    const axis = { stroke: colour("ink-soft"), grid, ticks: grid };
    const values = (_, ticks) => ticks.map((tick) => (format ? lineFigure(tick, format) : axisFigure(tick, ticks[1] - ticks[0])));
    const series = lines.map((_, index) => ({ stroke: styles[index].colour, width: styles[index].width, dash: styles[index].dash, points: { show: false } }));
    const chart = element("div", { class: "fleet-plot" });
    this.values = lines.map(() => element("span", { class: "legend-value" }));
    const legend = lines.map(({ name }, index) => {
      const swatch = element("span", { class: "fleet-swatch", "aria-hidden": "true" });
      swatch.style.background = styles[index].colour;
      return element("span", { class: "fleet-line" }, swatch, name, " ", this.values[index]);
    });
    this.place.replaceChildren(chart, element("p", { class: "fleet-legend" }, legend));
    this.plot = new uPlot(
      { width: Math.max(200, this.place.clientWidth), height: HEIGHT, legend: { show: false }, cursor: { drag: { x: false, y: false } }, axes: [axis, { ...axis, values, size: 80 }], series: [{}, ...series] },
      [[], ...lines.map(() => [])],
      chart,
    );
  }
}
