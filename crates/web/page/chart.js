// The chart of a panel: per counter a line of averages and a min-max band, or an area. uPlot draws lines and axes.

import { drawAnnotations } from "./annotation-marks.js";
import { annotationsIn } from "./annotations.js";
import { marksOf } from "./axes.js";
import { faded } from "./palette.js";
import { bandRuns, isolatedRows, valueRuns } from "./runs.js";
import { bandOpacity, sceneOf } from "./scene.js";
import { state } from "./state.js";
import { theme, colour } from "./theme.js";
import { timeMarks } from "./ticks.js";

/** The minified uPlot is not a module, so a script before this one defines it. */
const { uPlot } = globalThis;
const FONT = '12px system-ui, "Segoe UI", Roboto, Cantarell, sans-serif';

/** The chart in an element. */
export class Chart {
  /** A compact chart shows the date only if it is not the same everywhere. */
  constructor(place, isCompact = false) {
    this.place = place;
    this.isCompact = isCompact;
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
    return { width: Math.max(120, this.place.clientWidth), height: Math.max(80, this.place.clientHeight) };
  }

  resize() {
    if (!this.plot || !this.place.clientWidth) return;
    const { width, height } = this.size();
    if (width !== this.plot.width || height !== this.plot.height) this.plot.setSize({ width, height });
  }

  maxValueTicks() {
    return Math.max(2, Math.floor(this.size().height / (this.isCompact ? 36 : 45)));
  }

  maxTimeTicks() {
    return Math.max(2, Math.floor(this.size().width / (this.isCompact ? 80 : 105)));
  }

  /** Draws a panel's `data`: blocks, the range of time, the zone. */
  draw(data, panel) {
    this.data = data;
    this.panel = panel;
    this.scene = sceneOf(data, panel, this.maxValueTicks());
    const { axes, columns, times } = this.scene;
    const shape = JSON.stringify([theme(), data.zone === null, panel.kind, panel.bands, panel.limits, state.annotations, axes.map(({ scale, format }) => [scale, format]), columns.map(({ line, style, axis }) => [line.key, style, axis.key])]);
    const values = [times, ...columns.map((column) => column.drawn)];
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
    const { begin, end, axes } = this.scene;
    this.plot.setScale("x", { min: begin, max: end });
    for (const { key, low, high } of axes) this.plot.setScale(key, { min: low, max: high });
  }

  /** The axis of uPlot for an axis of the scene. */
  valueAxis(axis, style) {
    const marks = (min, max) => marksOf(axis, min, max, this.maxValueTicks());
    return {
      ...style,
      scale: axis.key,
      side: axis.side,
      grid: { ...style.grid, show: axis.key === "y" },
      // Charts above each other have the same width if their labels fit, so that a moment is at the same place in all.
      size: (_, labels) => 14 + Math.max(this.isCompact && axis.side === 3 ? 48 : 22, ...(labels ?? []).map((label) => 6.6 * String(label ?? "").length)),
      splits: (_, __, min, max) => marks(min, max).map((mark) => mark.at),
      // All ticks of a logarithmic axis are labelled.
      filter: (_, splits) => splits,
      values: (plot) => marks(plot.scales[axis.key].min, plot.scales[axis.key].max).map((mark) => mark.label),
    };
  }

  rebuild(values) {
    this.plot?.destroy();
    const ink = colour("ink-soft");
    const style = { stroke: ink, font: FONT, grid: { stroke: colour("grid"), width: 1 }, ticks: { show: false } };
    const across = (min, max) => {
      const marks = timeMarks(min, max, this.maxTimeTicks(), this.scene.zone);
      if (this.isCompact && marks.filter(({ second }) => second).length < 2) for (const mark of marks) mark.second = "";
      return marks;
    };
    const { axes, columns } = this.scene;
    const range = (_, min, max) => [min, max];
    const scales = axes.map(({ key, scale }) => [key, { range, distr: scale === "logarithmic" ? 3 : 1 }]);
    const areFew = columns.length <= 40;
    this.plot = new uPlot(
      {
        ...this.size(),
        legend: { show: false },
        padding: [12, axes.length > 1 ? 0 : 30, 0, 0],
        cursor: { drag: { x: false, y: false, setScale: false }, points: { size: 7, show: areFew }, y: false },
        scales: { x: { time: false, range }, ...Object.fromEntries(scales) },
        axes: [
          {
            ...style,
            size: (_, labels) => (this.isCompact && !(labels ?? []).some((label) => String(label).includes("\n")) ? 26 : 42),
            splits: (_, __, min, max) => across(min, max).map((mark) => mark.at),
            values: (plot) => across(plot.scales.x.min, plot.scales.x.max).map((mark) => (mark.second ? `${mark.label}\n${mark.second}` : mark.label)),
          },
          ...axes.map((axis) => this.valueAxis(axis, style)),
        ],
        series: [{}, ...columns.map((column, index) => this.series(column, index))],
        hooks: {
          drawAxes: [(plot) => this.drawBehind(plot)],
          draw: [(plot) => this.drawAbove(plot)],
          setCursor: [(plot) => this.hooks.cursor(plot)],
        },
      },
      values,
      this.place,
    );
    this.plot.batch(() => this.fit());
    this.hooks.ready(this.plot);
  }

  series({ style, axis }, index) {
    return {
      scale: axis.key,
      stroke: style.colour,
      width: this.scene.isStacked ? 1 : style.width,
      dash: style.dash,
      // A value without neighbours has no line, so it is drawn as a point.
      points: { size: 5, fill: style.colour, stroke: style.colour, filter: (_, __, show) => (show ? null : isolatedRows(this.scene.columns[index].drawn)) },
    };
  }

  /** Draws areas, bands and limits, below the lines. */
  drawBehind(plot) {
    const { ctx, bbox } = plot;
    const { columns, times, axes, isStacked, isFilled } = this.scene;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    const across = (row) => plot.valToPos(times[row], "x", true);
    const between = (rows, upper, lower, key, fill) => {
      ctx.fillStyle = fill;
      ctx.beginPath();
      for (const row of rows) ctx.lineTo(across(row), plot.valToPos(upper(row), key, true));
      for (const row of [...rows].reverse()) ctx.lineTo(across(row), plot.valToPos(lower(row), key, true));
      ctx.fill();
    };
    const opacity = bandOpacity(columns.length);
    for (const column of columns) {
      const { axis, drawn, lower, minimum, maximum, style } = column;
      if (isFilled) {
        const floor = axis.scale === "logarithmic" ? axis.low : 0;
        const fill = faded(style.colour, isStacked ? 0.55 : 0.16);
        for (const rows of valueRuns(drawn)) between(rows, (row) => drawn[row], (row) => (isStacked ? lower[row] : floor), axis.key, fill);
      }
      if (isStacked || !column.hasBand) continue;
      for (const rows of bandRuns(column)) between(rows, (row) => maximum[row], (row) => minimum[row], axis.key, faded(style.colour, opacity));
    }
    for (const [low, high] of axes[0]?.bands ?? []) {
      const [top, bottom] = [high, low].map((end) => plot.valToPos(end, "y", true));
      ctx.fillStyle = faded(colour("warning"), 0.16);
      ctx.fillRect(bbox.left, top, bbox.width, bottom - top);
    }
    ctx.strokeStyle = colour("danger");
    ctx.fillStyle = faded(colour("danger"), 0.07);
    ctx.lineWidth = Math.max(1, devicePixelRatio);
    ctx.setLineDash([6, 4]);
    for (const limit of axes[0]?.limits ?? []) {
      const at = plot.valToPos(limit, "y", true);
      ctx.fillRect(bbox.left, bbox.top, bbox.width, Math.max(0, at - bbox.top));
      ctx.beginPath();
      ctx.moveTo(bbox.left, at);
      ctx.lineTo(bbox.left + bbox.width, at);
      ctx.stroke();
    }
    ctx.restore();
  }

  /** Draws annotations above the lines. */
  drawAbove(plot) {
    drawAnnotations(plot.ctx, annotationsIn(this.data), (at) => plot.valToPos(at, "x", true), plot.bbox, devicePixelRatio);
  }

  /** Discards the drawing, so that the next one uses new colours. */
  discardDrawing() {
    this.shape = "";
  }

  /** Removes the drawing. */
  clear() {
    this.plot?.destroy();
    this.plot = null;
    this.shape = "";
    this.scene = null;
  }
}
