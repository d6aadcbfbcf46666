// A heat map: a row per counter, whose colour over time is the value. The scale of the colours has the unit of the rows.

import { drawAnnotations } from "./annotation-marks.js";
import { annotationsIn } from "./annotations.js";
import { formatOf, mainUnit, rangeOf } from "./axes.js";
import { nearestRow, withGaps } from "./blocks.js";
import { element } from "./element.js";
import { areSeveral, shortName, withSource } from "./names.js";
import { extent } from "./scene.js";
import { entry, state } from "./state.js";
import { colour, theme } from "./theme.js";
import { timeMarks } from "./ticks.js";
import { baseOf, isSameUnit, tickText } from "./units.js";

const FONT = '12px system-ui, "Segoe UI", Roboto, Cantarell, sans-serif';
/** Colours from low to high; the colours between them are interpolated. */
const LIGHT = ["#dbe9f6", "#9ecae1", "#4a98c9", "#1764ab", "#08306b"];
const DARK = ["#1d2c3f", "#27567d", "#2a8f9c", "#6ccf8a", "#f6ec5a"];
const STEPS = 64;
/** Values that are at most this many usual distances apart have no gap between them. */
const JOINED = 1.75;
const SCALE_HEIGHT = 24;
const MIN_ROW = 2;
const LABEL_ROW = 13;

const palettes = new Map();

export function paletteOf(name) {
  if (!palettes.has(name)) {
    const stops = (name === "dark" ? DARK : LIGHT).map((text) => [1, 3, 5].map((at) => Number.parseInt(text.slice(at, at + 2), 16)));
    const mixed = Array.from({ length: STEPS }, (_, step) => {
      const at = (step / (STEPS - 1)) * (stops.length - 1);
      const [one, other] = [stops[Math.floor(at)], stops[Math.min(stops.length - 1, Math.floor(at) + 1)]];
      return `#${one.map((part, index) => Math.round(part + (other[index] - part) * (at % 1)).toString(16).padStart(2, "0")).join("")}`;
    });
    palettes.set(name, mixed);
  }
  return palettes.get(name);
}

/** What a heat map shows: `{rows, axis, factor, others, begin, end, zone}`; `others` is the number of lines with another unit. */
export function heatSceneOf(data, panel) {
  const blocks = new Map(data.blocks.map((block) => [block.source.id, block]));
  const isShown = (line) => !entry(line.key).isHidden;
  const shown = data.lines.filter(isShown).map((line) => ({ line, block: blocks.get(line.source.id) }));
  // The order of rows is the legend's, but the unit is that of the first counter.
  const unit = mainUnit(panel, data.blocks.flatMap((block) => block.lines.filter(isShown)));
  const rows = shown.filter(({ line }) => isSameUnit(formatOf(line), unit));
  const { factor } = rows.length ? formatOf(rows[0].line) : unit;
  for (const row of rows) {
    const own = formatOf(row.line).factor;
    row.values = withGaps(row.block.times, row.line.average, row.block.interval).map((value) => (typeof value === "number" ? value * own : value));
  }
  const axis = { scale: panel.axis === "logarithmic" ? "logarithmic" : "linear", format: baseOf(unit), isMain: true, factor };
  const [low, high] = rangeOf({ ...panel, axis: axis.scale }, axis, extent(rows.map(({ values }) => values), []), 5);
  return { rows, axis: { ...axis, low, high }, others: shown.length - rows.length, begin: data.begin, end: data.end, zone: data.zone };
}

/** The position of a value between the ends of an axis, 0 to 1. */
function shareOf({ low, high, scale }, value) {
  const share = scale === "logarithmic" ? Math.log(Math.max(value, low) / low) / Math.log(high / low) : (value - low) / (high - low);
  return Math.max(0, Math.min(1, share));
}

export const heatColour = (axis, value, palette) => palette[Math.round(shareOf(axis, value) * (STEPS - 1))];

/** The median distance between the times of a block, in seconds. */
function usualDistance(times) {
  const distances = times.slice(1, 200).map((time, index) => time - times[index]).sort((one, other) => one - other);
  return distances[distances.length >> 1] ?? 1;
}

/** Calls `each(begin, end, value)` for the cells of a row. A value belongs to the time since the previous value. */
export function eachCell({ block, values }, each) {
  const { times } = block;
  const usual = usualDistance(times);
  let before = -Infinity;
  for (let row = 0; row < times.length; row += 1) {
    const value = values[row];
    if (typeof value === "number") each(Math.max(before, times[row] - JOINED * usual), times[row], value);
    if (value !== undefined) before = times[row];
  }
}

/** The name of a row: only the instance if all rows are of one counter. */
export function rowName(line, rows) {
  const isOfOne = line.instance && !line.label && rows.every((row) => row.line.counter === line.counter);
  return isOfOne ? (line.parent ? `${line.parent}/${line.instance}` : line.instance) : shortName(line);
}

export class HeatMap {
  constructor(place, isCompact = false) {
    Object.assign(this, { place, isCompact, plot: null, scene: null });
    this.hooks = { cursor: () => {}, ready: () => {} };
    new ResizeObserver(() => this.scene && this.paint()).observe(place);
  }

  /** Creates the canvas, with the part of uPlot's interface that the page uses. */
  build() {
    this.canvas = element("canvas", { class: "heat-canvas" });
    this.line = element("div", { class: "heat-cursor", hidden: true });
    const over = element("div", { class: "u-over heat-over" }, this.line);
    this.place.replaceChildren(this.canvas, over);
    const plot = {
      over,
      cursor: { left: -10, top: -10 },
      posToVal: (left) => this.scene.begin + ((this.scene.end - this.scene.begin) * left) / Math.max(1, over.clientWidth),
      valToPos: (at) => ((at - this.scene.begin) / (this.scene.end - this.scene.begin)) * over.clientWidth,
      setCursor: ({ left, top }) => {
        plot.cursor = { left, top };
        this.line.hidden = left < 0;
        this.line.style.transform = `translateX(${left}px)`;
        this.hooks.cursor(plot);
      },
    };
    over.addEventListener("pointermove", (event) => {
      const { left, top } = over.getBoundingClientRect();
      plot.setCursor({ left: event.clientX - left, top: event.clientY - top });
    });
    over.addEventListener("pointerleave", () => plot.setCursor({ left: -10, top: -10 }));
    this.plot = plot;
    this.hooks.ready(plot);
  }

  draw(data, panel) {
    this.data = data;
    this.scene = heatSceneOf(data, panel);
    if (!this.plot || !this.canvas.isConnected) this.build();
    this.paint();
  }

  paint() {
    const [width, height] = [this.place.clientWidth, this.place.clientHeight];
    if (!this.canvas || !width || !height) return;
    const { rows, axis, others, begin, end, zone } = this.scene;
    const context = this.canvas.getContext("2d");
    const [wide, high] = [Math.round(width * devicePixelRatio), Math.round(height * devicePixelRatio)];
    if (this.canvas.width !== wide || this.canvas.height !== high) Object.assign(this.canvas, { width: wide, height: high });
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.clearRect(0, 0, width, height);
    Object.assign(context, { font: FONT, textBaseline: "middle" });
    const ink = colour("ink-soft");
    const several = areSeveral(this.data.blocks);
    const names = rows.map(({ line }) => withSource(rowName(line, rows), line.source, several));
    const longest = Math.max(0, ...names.slice(0, 500).map((name) => context.measureText(name).width));
    const left = Math.ceil(Math.min(longest + 12, width * (this.isCompact ? 0.3 : 0.25)));
    const marks = timeMarks(begin, end, Math.max(2, Math.floor((width - left) / 105)), zone);
    const bottom = marks.filter(({ second }) => second).length > 1 || !this.isCompact ? 40 : 24;
    const box = { left, top: SCALE_HEIGHT, width: Math.max(20, width - left - 14), height: Math.max(20, height - SCALE_HEIGHT - bottom) };
    const fits = Math.floor(box.height / MIN_ROW);
    const visible = rows.slice(0, fits);
    const step = box.height / Math.max(1, visible.length);
    this.layout = { ...box, step, visible };
    Object.assign(this.plot.over.style, { left: `${box.left}px`, top: `${box.top}px`, width: `${box.width}px`, height: `${box.height}px` });
    const across = (at) => box.left + (box.width * (at - begin)) / (end - begin);
    const palette = paletteOf(theme());
    context.save();
    context.beginPath();
    context.rect(box.left, box.top, box.width, box.height);
    context.clip();
    visible.forEach((row, index) => {
      const [top, next] = [Math.round(box.top + index * step), Math.round(box.top + (index + 1) * step)];
      const tall = Math.max(1, next - top - (step >= 6 ? 1 : 0));
      eachCell(row, (from, to, value) => {
        const x = Math.floor(across(from));
        context.fillStyle = heatColour(axis, value, palette);
        context.fillRect(x, top, Math.max(1, Math.floor(across(to)) - x), tall);
      });
      if (row.line.key === state.selected && !this.isCompact) {
        context.strokeStyle = colour("ink");
        context.strokeRect(box.left + 0.5, top - 0.5, box.width - 1, tall + 1);
      }
    });
    drawAnnotations(context, annotationsIn(this.data), across, box, 1);
    context.restore();
    this.label(context, names, { ...box, step }, ink);
    for (const { at, label, second } of marks) {
      context.textAlign = "center";
      const middle = (text) => Math.max(context.measureText(text).width / 2, Math.min(width - context.measureText(text).width / 2 - 2, across(at)));
      context.fillText(label, middle(label), box.top + box.height + 12);
      if (second && bottom === 40) context.fillText(second, middle(second), box.top + box.height + 27);
    }
    this.drawScale(context, axis, palette, width, [others ? `${others} of another unit not shown` : "", rows.length > fits ? `first ${fits} of ${rows.length} rows` : ""].filter(Boolean).join(", "));
  }

  /** Draws the names of the rows; only every n-th if the rows are too low for all. */
  label(context, names, { left, top, step }, ink) {
    const every = Math.ceil(LABEL_ROW / step);
    context.fillStyle = ink;
    context.textAlign = "right";
    for (let index = 0; index < this.layout.visible.length; index += every) {
      let name = names[index];
      while (name.length > 2 && context.measureText(name).width > left - 10) name = `${name.replace(/…$/, "").slice(0, -1)}…`;
      context.fillText(name, left - 6, top + (index + 0.5) * step);
    }
  }

  /** The colours with their lowest and highest value, above the rows. */
  drawScale(context, axis, palette, width, note) {
    const [low, high] = [axis.low, axis.high].map((value) => tickText(value, axis.format));
    const long = Math.min(160, width / 4);
    const right = width - 14 - context.measureText(high).width - 6;
    palette.forEach((fill, step) => {
      context.fillStyle = fill;
      context.fillRect(right - long + (long * step) / STEPS, 6, long / STEPS + 0.6, 10);
    });
    context.fillStyle = colour("ink-soft");
    context.textAlign = "left";
    context.fillText(high, right + 6, 11);
    context.textAlign = "right";
    context.fillText(low, right - long - 6, 11);
    if (note && right - long > 240) context.fillText(note, right - long - 24 - context.measureText(low).width, 11);
    this.place.dataset.scale = `${low} to ${high}`;
  }

  /** The values at a moment, as `valuesAt` of charts; the row under the pointer is nearest. */
  valuesAt(at, top) {
    const { visible, step } = this.layout;
    const perPixel = (this.scene.end - this.scene.begin) / Math.max(1, this.plot.over.clientWidth);
    const under = top === null ? visible.findIndex(({ line }) => line.key === state.selected) : Math.floor(top / step);
    return visible.flatMap(({ line, block, values }, index) => {
      const row = nearestRow(block, line, at, Math.max(8 * perPixel, (block.interval ?? 0) / 2 + perPixel));
      return row < 0 ? [] : [{ line, row, value: values[row], at: block.times[row], distance: Math.abs(index - under) }];
    });
  }

  /** The style of a value in the box at the pointer. */
  styleAt({ value }) {
    return { colour: heatColour(this.scene.axis, value, paletteOf(theme())), width: 8, dash: [] };
  }

  discardDrawing() {}

  clear() {
    this.place.replaceChildren();
    this.plot = this.scene = this.canvas = null;
  }
}
