// A heat map: a row per counter, whose colour over time is the value.

import { drawFlags, flagsHeight, flagsOf } from "./annotation-marks.js";
import { annotationsIn } from "./annotations.js";
import { nearestRow } from "./blocks.js";
import { isEarlier, lengthText } from "./earlier.js";
import { element } from "./element.js";
import { count, span } from "./figures.js";
import { heatColour, heatHeight, heatLayout, heatSceneOf, eachCell, paletteOf, STEPS, usualDistance } from "./heat-scene.js";
import { columnTitle } from "./legend.js";
import { state } from "./state.js";
import { colour, theme } from "./theme.js";
import { TIME_AXIS, timeMarksWithin } from "./ticks.js";
import { axisTexts } from "./units.js";
import { LEFT_EDGE, RIGHT_EDGE } from "./chart.js";

const FAMILY = 'system-ui, "Segoe UI", Roboto, Cantarell, sans-serif';
const FONT = `12px ${FAMILY}`;
/** Names are this high at most, and omitted below this height. */
const NAME = { max: 12, min: 8 };
/** Maps that are higher than this, in pixels, have a second axis of time above, of this height. */
const [TALL, TOP_AXIS] = [500, 18];
/** The tallest heat map that is shown alone, in pixels. */
const MAX_HEIGHT = 6000;

export class HeatMap {
  /** `onUnit(unit)` shows the counters of another unit. */
  constructor(place, isCompact = false, onUnit = null) {
    Object.assign(this, { place, isCompact, onUnit, plot: null, scene: null });
    this.hooks = { cursor: () => {}, ready: () => {} };
    new ResizeObserver(() => this.scene && this.paint()).observe(place);
  }

  /** Creates the canvas, with the part of uPlot's interface that the page uses. */
  build() {
    this.canvas = element("canvas", { class: "heat-canvas" });
    this.line = element("div", { class: "heat-cursor", hidden: true });
    this.note = element("p", { class: "heat-note hint" });
    const over = element("div", { class: "u-over heat-over" }, this.line);
    this.place.replaceChildren(this.note, this.canvas, over);
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
    this.scene = heatSceneOf(data, panel, !this.isCompact && state.sort !== null);
    if (!this.plot || !this.canvas.isConnected) this.build();
    this.writeNote();
    this.paint();
  }

  /** The height at which all names are readable, in pixels. */
  wantedHeight() {
    if (!this.scene) return 0;
    return Math.min(MAX_HEIGHT, heatHeight(this.scene) + this.note.offsetHeight + (this.flags ?? 0) + TIME_AXIS + 4);
  }

  isTall() {
    return heatHeight(this.scene) > TALL;
  }

  /** Writes what cells and rows are, and offers the units of counters that are not in the map. */
  writeNote() {
    const { sections, others } = this.scene;
    const rows = sections.flatMap(({ groups }) => groups.flatMap((group) => group.rows));
    const times = rows[0]?.block.times ?? [];
    const isAveraged = times.length > 1 && rows.some(({ line }) => line.minimum.some((value, index) => value !== line.maximum[index]));
    const texts = [isAveraged ? `a cell: the average of ${span(usualDistance(times))}` : "a cell: one sample"];
    if (!this.isCompact) texts.push(state.sort ? `rows: by ${columnTitle(state.sort.column)}, as in the table` : "rows: by name");
    const earlier = rows.find(({ line }) => isEarlier(line));
    const sources = [...new Set(rows.filter(({ line }) => !isEarlier(line)).map(({ line }) => line.source.name))];
    if (sources.length > 1) texts.push(`of each pair of rows, from the top: ${sources.join(", ")}`);
    else if (earlier) texts.push(`upper row: now; lower row: ${lengthText(earlier.line.source.shift)} earlier`);
    const units = [...new Map(others.map((line) => [line.unit, line])).keys()];
    const key = JSON.stringify([texts, others.length, units]);
    if (this.noted === key && this.note.hasChildNodes()) return;
    this.noted = key;
    const buttons = this.onUnit ? units.slice(0, 4).map((unit) => element("button", { type: "button", class: "link", "data-unit": unit, onclick: () => this.onUnit(unit) }, unit || "plain numbers")) : [];
    this.note.replaceChildren(
      texts.join("; "),
      ...(others.length ? [element("span", { class: "heat-others" }, `${count(others.length, "counter")} of another unit ${others.length === 1 ? "is" : "are"} not shown${buttons.length ? "; show instead:" : ""}`, ...buttons.flatMap((button) => [" ", button]))] : []),
    );
  }

  paint() {
    const [width, full] = [this.place.clientWidth, this.place.clientHeight];
    if (!this.canvas || !width || !full) return;
    const above = this.note.offsetHeight;
    const height = full - above;
    const { begin, end, zone } = this.scene;
    const context = this.canvas.getContext("2d");
    Object.assign(this.canvas.style, { top: `${above}px`, height: `${height}px` });
    const [wide, high] = [Math.round(width * devicePixelRatio), Math.round(height * devicePixelRatio)];
    if (this.canvas.width !== wide || this.canvas.height !== high) Object.assign(this.canvas, { width: wide, height: high });
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.clearRect(0, 0, width, height);
    Object.assign(context, { font: FONT, textBaseline: "middle" });
    const notes = annotationsIn(this.data);
    const groups = this.scene.sections.flatMap((section) => section.groups);
    const left = this.leftEdge(context, groups, width);
    const plotWidth = Math.max(20, width - left - (this.isCompact ? RIGHT_EDGE : 14));
    const across = (at) => left + (plotWidth * (at - begin)) / (end - begin);
    // Flags are between the first heading and the rows.
    const flags = flagsOf(notes, across, left, plotWidth, this.isCompact);
    // The end of a tall map can be outside of the window, so that it has times above, too.
    const timesAbove = this.isTall() ? TOP_AXIS : 0;
    this.flags = flagsHeight(flags) + timesAbove;
    const inside = Math.max(20, height - TIME_AXIS - this.flags);
    const layout = heatLayout(this.scene, inside);
    const size = nameSize(layout);
    const box = { left, top: this.flags, width: plotWidth, height: inside };
    // The first heading is above the plot, so that a single section fills it.
    const first = layout.heads[0]?.height ?? 0;
    this.layout = { ...layout, first };
    Object.assign(this.plot.over.style, { left: `${box.left}px`, top: `${above + box.top + first}px`, width: `${box.width}px`, height: `${Math.max(1, box.height - first)}px` });
    this.drawRows(context, layout, box, across);
    layout.heads.forEach((head, index) => this.drawHead(context, head, { ...box, top: index ? box.top : 0 }, width));
    this.drawNames(context, layout, box, size);
    drawFlags(context, flags, box.top + first, 1);
    context.font = FONT;
    context.fillStyle = colour("ink-soft");
    context.textAlign = "center";
    for (const { at, label, second } of timeMarksWithin(begin, end, box.width, zone)) {
      const middle = (text) => Math.max(context.measureText(text).width / 2, Math.min(width - context.measureText(text).width / 2 - 2, across(at)));
      context.fillText(label, middle(label), box.top + box.height + 12);
      if (timesAbove) context.fillText(label, middle(label), first + TOP_AXIS / 2);
      if (second) context.fillText(second, middle(second), box.top + box.height + 27);
    }
    const [scale] = layout.heads;
    if (scale) this.place.dataset.scale = scaleText(scale.axis).join(" to ");
    this.place.dataset.names = String(layout.groups.length);
  }

  /** The width of the names. */
  leftEdge(context, groups, width) {
    context.font = FONT;
    const longest = Math.max(0, ...groups.slice(0, 1000).map(({ name }) => context.measureText(name).width));
    return Math.ceil(Math.max(this.isCompact ? LEFT_EDGE : 0, Math.min(longest + 12, width * 0.35)));
  }

  drawRows(context, layout, box, across) {
    const palette = paletteOf(theme());
    context.save();
    context.beginPath();
    context.rect(box.left, box.top, box.width, box.height);
    context.clip();
    for (const { row, axis, top, height } of layout.rows) {
      const [from, to] = [Math.round(box.top + top), Math.round(box.top + top + height)];
      eachCell(row, (begin, end, value) => {
        const x = Math.floor(across(begin));
        context.fillStyle = heatColour(axis, value, palette);
        context.fillRect(x, from, Math.max(1, Math.floor(across(end)) - x), Math.max(1, to - from));
      });
      if (row.line.key === state.selected && !this.isCompact) {
        context.strokeStyle = colour("ink");
        context.strokeRect(box.left + 0.5, from - 0.5, box.width - 1, Math.max(1, to - from) + 1);
      }
    }
    context.restore();
  }

  /** Draws the names of groups; only every n-th if they are too low for all. */
  drawNames(context, { groups }, { left, top }, size) {
    const lowest = Math.min(...groups.map(({ height }) => height));
    const every = Math.max(1, Math.ceil(NAME.min / Math.max(1, lowest)));
    Object.assign(context, { font: `${size}px ${FAMILY}`, fillStyle: colour("ink-soft"), textAlign: "right" });
    groups.forEach(({ name, top: from, height }, index) => {
      if (index % every === 0) context.fillText(fitting(context, name, left - 10), left - 6, top + from + height / 2 + 0.5);
    });
  }

  /** Draws the heading of a section: its title, and the colours with their lowest and highest value. */
  drawHead(context, { title, axis, top }, box, width) {
    const palette = paletteOf(theme());
    const [low, high] = scaleText(axis);
    const middle = box.top + top + 9;
    Object.assign(context, { font: FONT, fillStyle: colour("ink-soft"), textAlign: "left" });
    const long = Math.min(140, width / 5);
    const right = box.left + box.width - context.measureText(high).width - 6;
    const start = right - long - 6 - context.measureText(low).width;
    context.fillText(high, right + 6, middle);
    context.textAlign = "right";
    context.fillText(low, right - long - 6, middle);
    palette.forEach((fill, step) => {
      context.fillStyle = fill;
      context.fillRect(right - long + (long * step) / STEPS, middle - 5, long / STEPS + 0.6, 10);
    });
    Object.assign(context, { font: `600 ${FONT}`, fillStyle: colour("ink"), textAlign: "left" });
    const from = this.isCompact ? 8 : Math.min(box.left, 12);
    context.fillText(fitting(context, title, start - from - 12), from, middle);
  }

  /** The values at a moment, as `valuesAt` of charts; the row under the pointer is nearest. */
  valuesAt(at, top) {
    const { rows, first } = this.layout;
    const perPixel = (this.scene.end - this.scene.begin) / Math.max(1, this.plot.over.clientWidth);
    const middle = (row) => row.top + row.height / 2 - first;
    const selected = rows.find(({ row }) => row.line.key === state.selected);
    const wanted = top === null ? (selected ? middle(selected) : -Infinity) : top;
    return rows.flatMap((placed) => {
      const { line, block, values } = placed.row;
      const found = nearestRow(block, line, at, Math.max(8 * perPixel, (block.interval ?? 0) / 2 + perPixel));
      return found < 0 ? [] : [{ line, row: found, value: values[found], at: block.times[found], axis: placed.axis, distance: Math.abs(middle(placed) - wanted) }];
    });
  }

  /** The style of a value in the box at the pointer. */
  styleAt({ value, axis }) {
    return { colour: heatColour(axis, value, paletteOf(theme())), width: 8, dash: [] };
  }

  discardDrawing() {}

  clear() {
    this.place.replaceChildren();
    this.plot = this.scene = this.canvas = null;
  }
}

/** The size of the type of names: as small as the rows need. */
const nameSize = ({ groups }) => Math.max(NAME.min, Math.min(NAME.max, Math.floor(Math.min(...groups.map(({ height }) => height))) - 1));

const scaleText = ({ low, high, format }) => axisTexts([low, high], format);

/** A text that is cut to a width. */
function fitting(context, text, width) {
  let cut = text;
  while (cut.length > 2 && context.measureText(cut).width > width) cut = `${cut.replace(/…$/, "").slice(0, -1)}…`;
  return cut;
}
