// The chart as a picture: title, axes, bands, lines, and the legend with its figures. A pen draws it, so SVG and PNG are equal.

import { bandOpacity, bandRuns, sceneOf, styleOf } from "./chart.js";
import { duration, figure, NONE } from "./figures.js";
import { barsOf } from "./histogram.js";
import { nameOf } from "./hover.js";
import { factorText, powerOf } from "./scale.js";
import { entry, state } from "./state.js";
import { colour } from "./theme.js";
import { sinceStart, timeMarks, valueMarks } from "./ticks.js";
import { moment } from "./time.js";
import { figureTitle } from "./values.js";

const WIDTH = 1200;
const PLOT = { left: 70, top: 44, width: WIDTH - 70 - 20, height: 420 };
const ROW = 20;
const MAX_ROWS = 60;

/** The size of the picture with these counters in its legend. */
export function pictureSize(lines) {
  const rows = Math.min(lines.length, MAX_ROWS) + (lines.length > MAX_ROWS ? 1 : 0);
  return { width: WIDTH, height: PLOT.top + PLOT.height + 62 + ROW * (rows + 1) + 12 };
}

/** Draws the picture of the view. `lines` are those of the legend, in its order. */
export function drawPicture(pen, data, lines, size) {
  const ink = { colour: colour("ink"), soft: colour("ink-soft"), grid: colour("grid") };
  pen.box(0, 0, size.width, size.height, colour("surface"));
  const shown = lines.filter((line) => !entry(line.key).isHidden);
  pen.text(PLOT.left, 24, titleOf(data), { colour: ink.colour, size: 14, weight: 600 });
  if (state.view === "histogram") drawBars(pen, shown, ink);
  else drawLines(pen, data, ink);
  drawLegend(pen, shown, ink, PLOT.top + PLOT.height + 66);
}

/** The title: sources and time range. */
export function titleOf(data) {
  const sources = data.blocks.map((block) => block.source.name).join(" + ");
  const length = duration(data.end - data.begin);
  if (!data.zone) return `${sources}, ${sinceStart(data.begin, 0.1)} – ${sinceStart(data.end, 0.1)} from the start, ${length}`;
  const [begin, end] = [data.begin, data.end].map((at) => ({ time: moment(at, data.zone), name: data.zone.nameAt(at) }));
  const changed = begin.name === end.name ? "" : ` (${begin.name})`;
  return `${sources}, ${begin.time}${changed} – ${end.time} (${end.name}), ${length}`;
}

function drawScale(pen, low, high, ink) {
  const down = (value) => PLOT.top + PLOT.height * (1 - (value - low) / (high - low));
  for (const { at, label } of valueMarks(low, high, 9)) {
    pen.lines([[[PLOT.left, down(at)], [PLOT.left + PLOT.width, down(at)]]], { colour: ink.grid, width: 1 });
    pen.text(PLOT.left - 8, down(at) + 4, label, { colour: ink.soft, align: "end" });
  }
  return down;
}

function drawLines(pen, data, ink) {
  const { times, columns, low, high, begin, end, zone } = sceneOf(data, 9);
  const down = drawScale(pen, low, high, ink);
  const across = (at) => PLOT.left + (PLOT.width * (at - begin)) / (end - begin);
  for (const { at, label, second } of timeMarks(begin, end, 11, zone)) {
    pen.lines([[[across(at), PLOT.top], [across(at), PLOT.top + PLOT.height]]], { colour: ink.grid, width: 1 });
    pen.text(across(at), PLOT.top + PLOT.height + 18, label, { colour: ink.soft, align: "middle" });
    if (second) pen.text(across(at), PLOT.top + PLOT.height + 34, second, { colour: ink.soft, align: "middle" });
  }
  pen.within(PLOT.left, PLOT.top, PLOT.width, PLOT.height, () => {
    for (const column of columns) {
      for (const rows of bandRuns(column)) {
        const above = rows.map((row) => [across(times[row]), down(column.maximum[row])]);
        const below = rows.map((row) => [across(times[row]), down(column.minimum[row])]).reverse();
        pen.area([...above, ...below], column.style.colour, bandOpacity(columns.length));
      }
    }
    for (const { average, style } of columns) {
      const runs = [];
      let points = null;
      average.forEach((value, row) => {
        if (value === null) points = null;
        if (value === null || value === undefined) return;
        if (!points) runs.push((points = []));
        points.push([across(times[row]), down(value)]);
      });
      // A single value between gaps is a point.
      for (const run of runs) if (run.length === 1) run.push([run[0][0] + 0.01, run[0][1]]);
      pen.lines(runs, style);
    }
  });
  pen.lines([[[PLOT.left, PLOT.top], [PLOT.left, PLOT.top + PLOT.height], [PLOT.left + PLOT.width, PLOT.top + PLOT.height]]], { colour: ink.soft, width: 1 });
}

function drawBars(pen, shown, ink) {
  const { bars, low, high } = barsOf(shown, 9);
  const down = drawScale(pen, low, high, ink);
  const across = PLOT.width / Math.max(1, bars.length);
  pen.within(PLOT.left, PLOT.top, PLOT.width, PLOT.height, () => {
    bars.forEach(({ line, height }, index) => {
      if (height === null) return;
      const thick = Math.min(64, across * 0.72);
      const [from, to] = [down(Math.max(0, low)), down(height)];
      pen.box(PLOT.left + across * (index + 0.5) - thick / 2, Math.min(from, to), thick, Math.max(1, Math.abs(from - to)), styleOf(line).colour);
    });
  });
  pen.text(PLOT.left, PLOT.top + PLOT.height + 18, `Bars: ${figureTitle(shown)}`, { colour: ink.soft });
}

function drawLegend(pen, shown, ink, top) {
  const figures = [["Last", "last", 560], ["Average", "average", 680], ["Minimum", "minimum", 800], ["Maximum", "maximum", 920]];
  const head = { colour: ink.soft, weight: 600 };
  pen.text(PLOT.left, top, "Counter", head);
  for (const [title, , right] of figures) pen.text(right, top, title, { ...head, align: "end" });
  pen.text(1000, top, "Scale", { ...head, align: "end" });
  pen.text(1016, top, "Computer", head);
  shown.slice(0, MAX_ROWS).forEach((line, index) => {
    const y = top + ROW * (index + 1);
    pen.lines([[[28, y - 4], [58, y - 4]]], { ...styleOf(line), width: 3 });
    const name = `${line.set} · ${nameOf(line)}`;
    pen.text(PLOT.left, y, name.length > 62 ? `${name.slice(0, 61)}…` : name, { colour: ink.colour });
    for (const [, key, right] of figures) pen.text(right, y, figure(line.statistics?.[key], line.type), { colour: ink.colour, align: "end" });
    pen.text(1000, y, factorText(powerOf(entry(line.key).scale, line)), { colour: ink.colour, align: "end" });
    pen.text(1016, y, line.machine ? `\\\\${line.machine}`.slice(0, 24) : NONE, { colour: ink.colour });
  });
  if (shown.length > MAX_ROWS) pen.text(PLOT.left, top + ROW * (MAX_ROWS + 1), `and ${shown.length - MAX_ROWS} more`, { colour: ink.soft });
}
