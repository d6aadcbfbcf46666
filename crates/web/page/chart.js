// The chart of a panel: per counter a line of averages and a min-max band, or an area. uPlot draws lines and axes.

import { drawFlags, drawMarks, flagsHeight, flagsOf } from "./annotation-marks.js";
import { annotationsIn } from "./annotations.js";
import { marksOf } from "./axes.js";
import { faded } from "./palette.js";
import { bandRuns, isolatedRows, valueRuns } from "./blocks.js";
import { bandOpacity, sceneOf } from "./scene.js";
import { state } from "./state.js";
import { theme, colour } from "./theme.js";
import { drawBandNames, limitColour } from "./limits.js";
import { TIME_AXIS, timeMarksWithin } from "./ticks.js";

/** The minified uPlot is not a module, so a script before this one defines it. */
const { uPlot } = globalThis;
/** Columns that are narrower than this many pixels have bands with steps. */
const STEPPED_BELOW = 4;
const FONT = '12px system-ui, "Segoe UI", Roboto, Cantarell, sans-serif';

/** The margins of a plot beside others: the same for all, so that a moment is at the same place in the plots of a column. */
export const LEFT_EDGE = 76;
export const RIGHT_EDGE = 30;
/** Up to this number of lines, bands show the range of each column exactly. */
const MAX_STEPPED = 40;

/** The chart in an element. */
export class Chart {
  /** A compact chart is beside others. */
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
    return Math.max(50, Math.min(2000, Math.round(this.place.clientWidth - LEFT_EDGE - RIGHT_EDGE)));
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

  /** The width of the plot in pixels, before it is drawn. */
  plotWidth() {
    return this.plot ? this.plot.bbox.width / devicePixelRatio : this.size().width - LEFT_EDGE - RIGHT_EDGE;
  }

  /** The flags of annotations above a plot of this width, whose left edge is at `left`. */
  flags(left = 0, width = this.plotWidth()) {
    const { begin, end } = this.scene;
    return flagsOf(annotationsIn(this.data), (at) => left + ((at - begin) / (end - begin)) * width, left, width, this.isCompact);
  }

  /** Draws a panel's `data`: blocks, the range of time, the zone. */
  draw(data, panel) {
    this.data = data;
    this.panel = panel;
    this.scene = sceneOf(data, panel, this.maxValueTicks());
    const { axes, columns, times } = this.scene;
    const shape = JSON.stringify([theme(), data.zone === null, panel.kind, panel.bands, panel.limits, state.annotations, state.draft, axes.map(({ scale, format }) => [scale, format]), columns.map(({ line, style, axis }) => [line.key, style, axis.key])]);
    const values = [times, ...columns.map((column) => column.stroke ?? column.drawn)];
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
      size: (_, labels) => 14 + Math.max(this.isCompact && axis.side === 3 ? LEFT_EDGE - 14 : 22, ...(labels ?? []).map((label) => 6.6 * String(label ?? "").length)),
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
    const across = (min, max) => timeMarksWithin(min, max, this.plotWidth(), this.scene.zone);
    const { axes, columns } = this.scene;
    const range = (_, min, max) => [min, max];
    const scales = axes.map(({ key, scale }) => [key, { range, distr: scale === "logarithmic" ? 3 : 1 }]);
    const areFew = columns.length <= 40;
    this.plot = new uPlot(
      {
        ...this.size(),
        legend: { show: false },
        padding: [() => 12 + flagsHeight(this.flags()), axes.length > 1 ? 0 : RIGHT_EDGE, 0, 0],
        cursor: { drag: { x: false, y: false, setScale: false }, points: { size: 7, show: areFew }, y: false },
        scales: { x: { time: false, range }, ...Object.fromEntries(scales) },
        axes: [
          {
            ...style,
            size: TIME_AXIS,
            // The lowest label of the other axis is beside the first one of this axis.
            gap: 9,
            lineGap: 1.2,
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
      points: { size: 5, fill: style.colour, stroke: style.colour, filter: (_, __, show) => (show && !this.scene.isStacked ? null : isolatedRows(this.scene.columns[index].stroke ?? this.scene.columns[index].drawn)) },
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
    /** Fills each row from its minimum to its maximum, because slanted sides would hide the extremes of narrow rows. */
    const steps = (rows, { axis, minimum, maximum }, fill) => {
      ctx.fillStyle = fill;
      const at = rows.map(across);
      rows.forEach((row, index) => {
        const [from, to] = [index ? (at[index - 1] + at[index]) / 2 : at[index] - 0.5, index + 1 < at.length ? (at[index] + at[index + 1]) / 2 : at[index] + 0.5].map(Math.round);
        const [top, bottom] = [maximum[row], minimum[row]].map((value) => plot.valToPos(value, axis.key, true));
        if (to > from && bottom > top) ctx.fillRect(from, top, to - from, bottom - top);
      });
    };
    const opacity = bandOpacity(columns.length);
    const isStepped = columns.length <= MAX_STEPPED;
    for (const column of columns) {
      const { axis, drawn, lower, minimum, maximum, style } = column;
      if (isFilled) {
        const floor = axis.scale === "logarithmic" ? axis.low : 0;
        const fill = faded(style.colour, isStacked ? 0.55 : 0.16);
        for (const rows of valueRuns(drawn)) between(rows, (row) => drawn[row], (row) => (isStacked ? lower[row] : floor), axis.key, fill);
      }
      if (isStacked || !column.hasBand) continue;
      for (const rows of bandRuns(column)) {
        const fill = faded(style.colour, opacity);
        if (isStepped && across(rows.at(-1)) - across(rows[0]) < STEPPED_BELOW * rows.length * devicePixelRatio) steps(rows, column, fill);
        else between(rows, (row) => maximum[row], (row) => minimum[row], axis.key, fill);
      }
    }
    for (const [low, high] of axes[0]?.bands ?? []) {
      const [top, bottom] = [high, low].map((end) => plot.valToPos(end, "y", true));
      ctx.fillStyle = faded(colour("warning"), 0.16);
      ctx.fillRect(bbox.left, top, bbox.width, bottom - top);
    }
    ctx.lineWidth = Math.max(1, devicePixelRatio);
    ctx.setLineDash([6, 4]);
    for (const limit of axes[0]?.limits ?? []) {
      const at = plot.valToPos(limit, "y", true);
      ctx.strokeStyle = limitColour(axes[0].limits, limit);
      ctx.fillStyle = faded(limitColour(axes[0].limits, limit), 0.1);
      const next = Math.min(...axes[0].limits.filter((other) => other > limit));
      const above = Number.isFinite(next) ? Math.max(bbox.top, plot.valToPos(next, "y", true)) : bbox.top;
      ctx.fillRect(bbox.left, above, bbox.width, Math.max(0, at - above));
      ctx.beginPath();
      ctx.moveTo(bbox.left, at);
      ctx.lineTo(bbox.left + bbox.width, at);
      ctx.stroke();
    }
    drawMarks(ctx, this.flags(bbox.left / devicePixelRatio), bbox, devicePixelRatio);
    ctx.restore();
  }

  /** Draws the names of limits above the lines, and flags above the plot. */
  drawAbove(plot) {
    const { ctx, bbox } = plot;
    if (this.scene.axes[0]) drawBandNames(ctx, this.scene.axes[0], (value) => plot.valToPos(value, "y", true), bbox, devicePixelRatio);
    drawFlags(ctx, this.flags(bbox.left / devicePixelRatio), bbox.top, devicePixelRatio);
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
