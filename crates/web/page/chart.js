// The line chart: per counter a line of averages and a min-max band. uPlot draws lines and axes.

import uPlot from "./vendor/uPlot.esm.js";
import { joined } from "./blocks.js";
import { faded, highlightColour, lineStyle } from "./palette.js";
import { entry, state } from "./state.js";
import { powerOf } from "./scale.js";
import { theme, colour } from "./theme.js";
import { timeMarks, valueMarks, valueRange } from "./ticks.js";

const FONT = '12px system-ui, "Segoe UI", Roboto, Cantarell, sans-serif';

/** The style of a line; a highlighted one is thick and black or white. */
export function styleOf(line) {
  const { styleIndex, isHighlighted } = entry(line.key);
  const style = lineStyle(styleIndex, theme());
  return isHighlighted ? { ...style, colour: highlightColour(theme()), width: style.width + 1.5, isHighlighted } : style;
}

/** The scale factor of a line. */
export function factorOf(line) {
  return 10 ** powerOf(entry(line.key).scale, line);
}

/** The data of the chart and its pictures: joined times, columns with styles, and both ranges. */
export function sceneOf(data, maxTicks) {
  const { times, columns } = joined(data.blocks, (line) => !entry(line.key).isHidden, factorOf);
  let [low, high] = [Infinity, -Infinity];
  const take = (values) => {
    for (const value of values) {
      if (value === null || value === undefined) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  };
  for (const column of columns) {
    column.style = styleOf(column.line);
    take(column.average);
    take(column.minimum);
    take(column.maximum);
  }
  // Highlighted lines are drawn on top.
  columns.sort((one, other) => Boolean(one.style.isHighlighted) - Boolean(other.style.isHighlighted));
  const range = state.axis === "100" ? [0, 100] : valueRange(low, high, maxTicks);
  return { times, columns, low: range[0], high: range[1], begin: data.begin, end: data.end, zone: data.zone };
}

/** The opacity of bands: the more there are, the fainter. */
export function bandOpacity(lines) {
  return Math.max(0.05, 0.24 / Math.sqrt(Math.max(1, lines / 2)));
}

/** Runs of rows that have both a minimum and a maximum; undefined rows are skipped. */
export function bandRuns({ minimum, maximum, average }) {
  const runs = [];
  let rows = [];
  const close = () => {
    if (rows.length) runs.push(rows);
    rows = [];
  };
  for (let row = 0; row < minimum.length; row += 1) {
    if (typeof minimum[row] === "number" && typeof maximum[row] === "number") rows.push(row);
    else if (average[row] === null) close();
  }
  close();
  return runs;
}

/** The chart element. */
export class Chart {
  constructor(place) {
    this.place = place;
    this.plot = null;
    this.shape = "";
    this.scene = null;
    this.hooks = { cursor: () => {}, ready: () => {} };
    new ResizeObserver(() => this.resize()).observe(place);
  }

  /** The width of the plot in columns, which is the number of requested columns. */
  columns() {
    return Math.max(50, Math.min(2000, Math.round(this.place.clientWidth - 70)));
  }

  size() {
    return { width: Math.max(200, this.place.clientWidth), height: Math.max(120, this.place.clientHeight) };
  }

  resize() {
    if (!this.plot || !this.place.clientWidth) return;
    const { width, height } = this.size();
    if (width !== this.plot.width || height !== this.plot.height) this.plot.setSize({ width, height });
  }

  maxValueTicks() {
    return Math.max(2, Math.floor(this.size().height / 45));
  }

  maxTimeTicks() {
    return Math.max(2, Math.floor(this.size().width / 105));
  }

  /** Draws `data`: blocks, the range of time, the zone. */
  draw(data) {
    this.data = data;
    this.scene = sceneOf(data, this.maxValueTicks());
    const { columns, times } = this.scene;
    const shape = JSON.stringify([theme(), data.zone === null, columns.map(({ line, style }) => [line.key, style])]);
    const values = [times, ...columns.map((column) => column.average)];
    if (shape !== this.shape || !this.plot) {
      this.shape = shape;
      this.rebuild(values);
    } else {
      this.plot.batch(() => {
        this.plot.setData(values, false);
        this.fit();
      });
    }
  }

  fit() {
    const { begin, end, low, high } = this.scene;
    this.plot.setScale("x", { min: begin, max: end });
    this.plot.setScale("y", { min: low, max: high });
  }

  rebuild(values) {
    this.plot?.destroy();
    const ink = colour("ink-soft");
    const axis = { stroke: ink, font: FONT, grid: { stroke: colour("grid"), width: 1 }, ticks: { show: false } };
    const across = (min, max) => timeMarks(min, max, this.maxTimeTicks(), this.scene.zone);
    const down = (min, max) => valueMarks(min, max, this.maxValueTicks());
    this.plot = new uPlot(
      {
        ...this.size(),
        legend: { show: false },
        padding: [12, 30, 0, 0],
        cursor: {
          drag: { x: false, y: false, setScale: false },
          points: { size: 7, show: values.length <= 40 },
          y: false,
        },
        scales: { x: { time: false, range: (_, min, max) => [min, max] }, y: { range: (_, min, max) => [min, max] } },
        axes: [
          {
            ...axis,
            size: 42,
            splits: (_, __, min, max) => across(min, max).map((mark) => mark.at),
            values: (plot) => across(plot.scales.x.min, plot.scales.x.max).map((mark) => (mark.second ? `${mark.label}\n${mark.second}` : mark.label)),
          },
          {
            ...axis,
            size: (plot, labels) => 14 + Math.max(22, ...(labels ?? []).map((label) => 7 * String(label ?? "").length)),
            splits: (_, __, min, max) => down(min, max).map((mark) => mark.at),
            values: (plot) => down(plot.scales.y.min, plot.scales.y.max).map((mark) => mark.label),
          },
        ],
        series: [
          {},
          ...this.scene.columns.map(({ style }) => ({
            stroke: style.colour,
            width: style.width,
            dash: style.dash,
            points: { size: 5, fill: style.colour, stroke: style.colour },
          })),
        ],
        hooks: {
          drawAxes: [(plot) => this.drawBands(plot)],
          setCursor: [(plot) => this.hooks.cursor(plot)],
        },
      },
      values,
      this.place,
    );
    this.plot.batch(() => this.fit());
    this.hooks.ready(this.plot);
  }

  /** Draws the bands. */
  drawBands(plot) {
    const { ctx, bbox } = plot;
    const { columns, times } = this.scene;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    const opacity = bandOpacity(columns.length);
    for (const column of columns) {
      ctx.fillStyle = faded(column.style.colour, opacity);
      for (const rows of bandRuns(column)) {
        ctx.beginPath();
        for (const row of rows) ctx.lineTo(plot.valToPos(times[row], "x", true), plot.valToPos(column.maximum[row], "y", true));
        for (const row of rows.reverse()) ctx.lineTo(plot.valToPos(times[row], "x", true), plot.valToPos(column.minimum[row], "y", true));
        ctx.fill();
      }
    }
    ctx.restore();
  }

  /** Discards the drawing, so that the next one uses new colours. */
  discardDrawing() {
    this.shape = "";
  }
}
