// The chart as a picture: title, axes, bands, lines, and the legend with its figures. A pen draws it, so SVG and PNG are equal.

import { flagsOf, penAnnotations } from "./annotation-marks.js";
import { annotationsIn } from "./annotations.js";
import { axesOf, factorText, marksOf, powerOf } from "./axes.js";
import { lengthText } from "./earlier.js";
import { duration, figureTitle, lineFigure, NONE } from "./figures.js";
import { eachCell, heatColour, heatLayout, heatSceneOf, paletteOf } from "./heat-scene.js";
import { barsOf } from "./histogram.js";
import { nameOf } from "./names.js";
import { isChart, titleOf as panelTitle } from "./panels.js";
import { bandRuns, valueRuns } from "./blocks.js";
import { bandOpacity, sceneOf, styleOf } from "./scene.js";
import { entry } from "./state.js";
import { colour, theme } from "./theme.js";
import { namesOf, limitColour } from "./limits.js";
import { sinceStart, timeMarksWithin } from "./ticks.js";
import { areWhole, rangeText, sampleMoment } from "./time.js";
import { axisTexts } from "./units.js";

const WIDTH = 1200;
/** Room on the right for the second axis, and for half of the last time label. */
const PLOT = { left: 84, top: 78, width: WIDTH - 84 - 84, height: 420 };
const ROW = 20;
const MAX_ROWS = 60;

/** The size of the picture with these counters in its legend. */
export function pictureSize(lines) {
  const rows = Math.min(lines.length, MAX_ROWS) + (lines.length > MAX_ROWS ? 1 : 0);
  return { width: WIDTH, height: PLOT.top + PLOT.height + 62 + ROW * (rows + 1) + 12 };
}

/** Draws the picture of a panel. `lines` are those of the legend, in its order. */
export function drawPicture(pen, data, panel, lines, size) {
  const ink = { colour: colour("ink"), soft: colour("ink-soft"), grid: colour("grid"), band: colour("warning") };
  pen.box(0, 0, size.width, size.height, colour("surface"));
  const shown = lines.filter((line) => !entry(line.key).isHidden);
  const title = `${panel.title ? `${panelTitle(panel)}: ` : ""}${titleOf(data)}`;
  pen.text(PLOT.left, 24, title, { colour: ink.colour, size: 14, weight: 600 });
  if (panel.kind === "bars") drawBars(pen, shown, panel, ink);
  else if (panel.kind === "heatmap") drawHeatMap(pen, data, panel, ink);
  else drawLines(pen, data, panel, ink);
  const isScaled = isChart(panel.kind) && axesOf(panel, shown, lines).isScaled;
  drawLegend(pen, shown, ink, PLOT.top + PLOT.height + 66, data.blocks.length > 1, isScaled);
}

/** The title: sources and time range. */
export function titleOf(data) {
  const earlier = data.blocks.find(({ source }) => source.of)?.source;
  const length = duration(data.end - data.begin) + (earlier ? `; dotted: ${lengthText(earlier.shift)} earlier` : "");
  if (!data.zone) return `${data.origins.map(({ source, begin, end, zone }) => `${source.name} (${rangeText(begin, end, zone)})`).join(" + ")}, ${sinceStart(data.begin, 0.1)} – ${sinceStart(data.end, 0.1)} from the start, ${length}`;
  const [begin, end] = [data.begin, data.end].map((at) => ({ time: sampleMoment(at, data.zone, areWhole(data.blocks)), name: data.zone.nameAt(at) }));
  const changed = begin.name === end.name ? "" : ` (${begin.name})`;
  const sources = data.blocks.filter(({ source }) => !source.of).map((block) => block.source.name).join(" + ");
  return `${sources}, ${begin.time}${changed} – ${end.time} (${end.name}), ${length}`;
}

/** Draws the ticks of an axis; returns a function from a value to its vertical position. */
function drawScale(pen, axis, ink) {
  const { low, high, scale, side } = axis;
  const share = scale === "logarithmic" ? (value) => Math.log(Math.max(value, low) / low) / Math.log(high / low) : (value) => (value - low) / (high - low);
  const down = (value) => PLOT.top + PLOT.height * (1 - share(value));
  for (const { at, label } of marksOf(axis, low, high, 9)) {
    if (side !== 1) pen.lines([[[PLOT.left, down(at)], [PLOT.left + PLOT.width, down(at)]]], { colour: ink.grid, width: 1 });
    if (side === 1) pen.text(PLOT.left + PLOT.width + 8, down(at) + 4, label, { colour: ink.soft });
    else pen.text(PLOT.left - 8, down(at) + 4, label, { colour: ink.soft, align: "end" });
  }
  return down;
}

function drawLines(pen, data, panel, ink) {
  const { times, columns, axes, isStacked, isFilled, begin, end, zone } = sceneOf(data, panel, 9);
  for (const axis of axes) axis.down = drawScale(pen, axis, ink);
  const across = drawTimes(pen, { begin, end, zone }, ink);
  const points = (rows, values, { down }) => rows.map((row) => [across(times[row]), down(values[row])]);
  pen.within(PLOT.left, PLOT.top, PLOT.width, PLOT.height, () => {
    for (const { drawn, lower, minimum, maximum, average, style, axis } of columns) {
      const floor = times.map(() => (axis.scale === "logarithmic" ? axis.low : 0));
      if (isFilled) {
        for (const rows of valueRuns(drawn)) pen.area([...points(rows, drawn, axis), ...points(rows, lower ?? floor, axis).reverse()], style.colour, isStacked ? 0.55 : 0.16);
      }
      if (isStacked) continue;
      for (const rows of bandRuns({ minimum, maximum, average })) pen.area([...points(rows, maximum, axis), ...points(rows, minimum, axis).reverse()], style.colour, bandOpacity(columns.length));
    }
    for (const { drawn: all, stroke, style, axis } of columns) {
      const drawn = stroke ?? all;
      const runs = valueRuns(drawn).map((rows) => points(rows, drawn, axis));
      // A single value between gaps is a point.
      for (const run of runs) if (run.length === 1) run.push([run[0][0] + 0.01, run[0][1]]);
      pen.lines(runs, style);
    }
    for (const [low, high] of axes[0].bands) pen.area([[PLOT.left, axes[0].down(low)], [PLOT.left + PLOT.width, axes[0].down(low)], [PLOT.left + PLOT.width, axes[0].down(high)], [PLOT.left, axes[0].down(high)]], ink.band, 0.16);
    for (const limit of axes[0].limits) pen.lines([[[PLOT.left, axes[0].down(limit)], [PLOT.left + PLOT.width, axes[0].down(limit)]]], { colour: limitColour(axes[0].limits, limit), width: 1, dash: [6, 4] });
    for (const { text, at, colour: name, isLimit } of namesOf(axes[0])) pen.text(PLOT.left + PLOT.width - 4, axes[0].down(at) + (isLimit ? -4 : 14), text, { colour: name, size: 11, weight: 600, align: "end" });
  });
  pen.lines([[[PLOT.left, PLOT.top], [PLOT.left, PLOT.top + PLOT.height], [PLOT.left + PLOT.width, PLOT.top + PLOT.height]]], { colour: ink.soft, width: 1 });
  drawFlags(pen, data, across, true);
}

/** Draws the annotations above the plot, and if `isAcross` across it. */
const drawFlags = (pen, data, across, isAcross) => penAnnotations(pen, flagsOf(annotationsIn(data), across, PLOT.left, PLOT.width), PLOT, isAcross);

/** Draws the ticks of the time axis; returns a function from a moment to its horizontal position. */
function drawTimes(pen, { begin, end, zone }, ink) {
  const across = (at) => PLOT.left + (PLOT.width * (at - begin)) / (end - begin);
  for (const { at, label, second } of timeMarksWithin(begin, end, PLOT.width, zone)) {
    pen.lines([[[across(at), PLOT.top], [across(at), PLOT.top + PLOT.height]]], { colour: ink.grid, width: 1 });
    pen.text(across(at), PLOT.top + PLOT.height + 18, label, { colour: ink.soft, align: "middle" });
    if (second) pen.text(across(at), PLOT.top + PLOT.height + 34, second, { colour: ink.soft, align: "middle" });
  }
  return across;
}

function drawHeatMap(pen, data, panel, ink) {
  const scene = heatSceneOf(data, panel);
  const layout = heatLayout(scene, PLOT.height);
  const across = drawTimes(pen, scene, ink);
  const palette = paletteOf(theme());
  pen.within(PLOT.left, PLOT.top, PLOT.width, PLOT.height, () => {
    for (const { row, axis, top, height } of layout.rows) eachCell(row, (from, to, value) => pen.box(across(from), PLOT.top + top, across(to) - across(from) + 0.3, Math.max(0.5, height - (height > 6 ? 1 : 0)), heatColour(axis, value, palette)));
  });
  drawFlags(pen, data, across, false);
  const every = Math.max(1, Math.ceil(10 / Math.min(...layout.groups.map(({ height }) => height))));
  layout.groups.forEach(({ name, top, height }, index) => {
    if (index % every === 0) pen.text(PLOT.left - 6, PLOT.top + top + height / 2 + 4, name.length > 12 ? `${name.slice(0, 11)}…` : name, { colour: ink.soft, align: "end", size: Math.max(8, Math.min(12, height - 1)) });
  });
  for (const { title, axis, top } of layout.heads) {
    const [low, high] = axisTexts([axis.low, axis.high], axis.format);
    const [right, middle] = [PLOT.left + PLOT.width - 72, PLOT.top + top + 13];
    pen.text(PLOT.left, middle, title, { colour: ink.colour, weight: 600 });
    pen.text(right - 166, middle, low, { colour: ink.soft, align: "end" });
    palette.forEach((fill, at) => pen.box(right - 160 + (at * 160) / palette.length, middle - 9, 160 / palette.length + 0.5, 10, fill));
    pen.text(right + 6, middle, high, { colour: ink.soft });
  }
}

function drawBars(pen, shown, panel, ink) {
  const { bars, axes } = barsOf(shown, panel, 9);
  if (axes.length === 1) drawScale(pen, { ...axes[0], scale: "linear" }, ink);
  const across = PLOT.width / Math.max(1, bars.length);
  pen.within(PLOT.left, PLOT.top, PLOT.width, PLOT.height, () => {
    bars.forEach(({ line, size, axis }, index) => {
      if (size === null) return;
      const thick = Math.min(64, across * 0.72);
      const down = (value) => PLOT.top + PLOT.height * (1 - (value - axis.low) / (axis.high - axis.low));
      const [from, to] = [down(Math.max(0, axis.low)), down(size)];
      pen.box(PLOT.left + across * (index + 0.5) - thick / 2, Math.min(from, to), thick, Math.max(1, Math.abs(from - to)), styleOf(line).colour);
    });
  });
  pen.text(PLOT.left, PLOT.top + PLOT.height + 18, `Bars: ${figureTitle(shown)}`, { colour: ink.soft });
}

function drawLegend(pen, shown, ink, top, several, isScaled) {
  const figures = [["Last", "last", 560], ["Average", "average", 680], ["Minimum", "minimum", 800], ["Maximum", "maximum", 920]];
  const head = { colour: ink.soft, weight: 600 };
  pen.text(PLOT.left, top, "Counter", head);
  for (const [title, , right] of figures) pen.text(right, top, title, { ...head, align: "end" });
  // Only a scaled axis multiplies values.
  if (isScaled) pen.text(1000, top, "Scale", { ...head, align: "end" });
  pen.text(1016, top, "Machine", head);
  shown.slice(0, MAX_ROWS).forEach((line, index) => {
    const y = top + ROW * (index + 1);
    pen.lines([[[28, y - 4], [58, y - 4]]], { ...styleOf(line), width: 3 });
    const name = `${several ? `${line.source.name} · ` : ""}${line.label ? `${line.label}: ` : `${line.set} · `}${nameOf(line)}`;
    pen.text(PLOT.left, y, name.length > 62 ? `${name.slice(0, 61)}…` : name, { colour: ink.colour });
    for (const [, key, right] of figures) pen.text(right, y, lineFigure(line.statistics?.[key], line), { colour: ink.colour, align: "end" });
    if (isScaled) pen.text(1000, y, factorText(powerOf(entry(line.key).scale, line)), { colour: ink.colour, align: "end" });
    pen.text(1016, y, line.machine ? `\\\\${line.machine}`.slice(0, 24) : NONE, { colour: ink.colour });
  });
  if (shown.length > MAX_ROWS) pen.text(PLOT.left, top + ROW * (MAX_ROWS + 1), `and ${shown.length - MAX_ROWS} more`, { colour: ink.soft });
}
