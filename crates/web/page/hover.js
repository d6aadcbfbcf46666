// The box with time and values of all counters at the pointer or key cursor; the nearest one is marked.

import { nearestRow } from "./blocks.js";
import { factorOf, styleOf } from "./chart.js";
import { element, swatch } from "./element.js";
import { figure } from "./figures.js";
import { entry } from "./state.js";
import { sinceStart } from "./ticks.js";
import { moment } from "./time.js";

const MAX_ROWS = 18;

/** The values at a moment: per counter its row and the distance of its line from the pointer, in pixels. */
export function valuesAt(chart, at, top) {
  const { plot, data, scene } = chart;
  const perPixel = (data.end - data.begin) / Math.max(1, plot.over.clientWidth);
  const found = [];
  for (const { line } of scene.columns) {
    const block = data.blocks.find((candidate) => candidate.lines.includes(line));
    // Half the distance of values, plus some pixels.
    const row = nearestRow(block, line, at, Math.max(8 * perPixel, (block.interval ?? 0) / 2 + perPixel));
    if (row < 0) continue;
    const y = plot.valToPos(line.average[row] * factorOf(line), "y");
    found.push({ line, row, at: block.times[row], distance: top === null ? Infinity : Math.abs(y - top) });
  }
  return found;
}

/** The box that follows the pointer. */
export class Hover {
  constructor(chart, box) {
    Object.assign(this, { chart, box });
    this.nearest = null;
    chart.hooks.cursor = (plot) => this.follow(plot);
  }

  hide() {
    this.box.hidden = true;
    this.nearest = null;
  }

  follow(plot) {
    const { left, top } = plot.cursor;
    if (left === undefined || left < 0 || !this.chart.data) return this.hide();
    this.show(plot.posToVal(left, "x"), left, top);
  }

  /** Shows the values at a moment; returns them, or null. */
  show(at, left, top) {
    const { chart, box } = this;
    const { data, plot } = chart;
    const found = valuesAt(chart, at, top);
    if (!found.length) {
      this.hide();
      return null;
    }
    const nearest = found.reduce((best, one) => (one.distance < best.distance ? one : best), found[0]);
    this.nearest = nearest.line;
    // The heading is the nearest time of any counter.
    const shownAt = found.reduce((best, one) => (Math.abs(one.at - at) < Math.abs(best - at) ? one.at : best), nearest.at);
    const time = data.zone ? moment(shownAt, data.zone) : `${sinceStart(shownAt, 0.1)} from the start`;
    const hasBand = found.some(({ line, row }) => line.minimum[row] !== line.maximum[row]);
    const first = Math.max(0, Math.min(found.indexOf(nearest) - MAX_ROWS / 2, found.length - MAX_ROWS));
    const rows = found.slice(first, first + MAX_ROWS).map((one) => this.row(one, one === nearest, hasBand));
    const heads = ["", "", hasBand ? "Average" : "Value", ...(hasBand ? ["Minimum", "Maximum"] : [])];
    const rest = found.length - rows.length;
    box.replaceChildren(
      element("div", { class: "hover-time" }, time),
      element("table", {}, element("thead", {}, element("tr", {}, heads.map((head) => element("th", {}, head)))), element("tbody", {}, rows)),
      ...(rest > 0 ? [element("div", { class: "hover-rest" }, `and ${rest} more`)] : []),
    );
    box.hidden = false;
    this.place(left + plot.over.offsetLeft);
    return { time, found, nearest };
  }

  row({ line, row }, isNearest, hasBand) {
    const values = [line.average[row], ...(hasBand ? [line.minimum[row], line.maximum[row]] : [])];
    return element(
      "tr",
      { class: isNearest ? "nearest" : null },
      element("td", {}, swatch(styleOf(line))),
      element("td", { class: "hover-name" }, nameOf(line)),
      values.map((value) => element("td", { class: "number" }, figure(value, line.type))),
    );
  }

  /** Places the box beside the pointer, on the side with room. */
  place(left) {
    const { box, chart } = this;
    const room = chart.place.clientWidth;
    const width = box.offsetWidth;
    const right = left + 16 + width <= room;
    box.style.left = `${Math.max(0, right ? left + 16 : left - width - 16)}px`;
    if (!right && left - width - 16 < 0) box.style.left = `${Math.max(0, (room - width) / 2)}px`;
    box.style.top = "8px";
  }
}

/** A short name: counter and instance. */
export function nameOf(line) {
  const instance = line.parent ? `${line.parent}/${line.instance}` : line.instance;
  return instance === null || instance === undefined ? line.counter : `${line.counter} (${instance})`;
}

/** A description of the chart for screen readers. */
export function summaryOf(data) {
  const shown = data.blocks.flatMap((block) => block.lines).filter((line) => !entry(line.key).isHidden);
  if (!shown.length) return "The chart has no counters.";
  const lines = shown.slice(0, 40).map(({ statistics, ...line }) => {
    const of = statistics ?? {};
    return `${nameOf(line)}: average ${figure(of.average)}, minimum ${figure(of.minimum)}, maximum ${figure(of.maximum)}.`;
  });
  if (shown.length > 40) lines.push(`And ${shown.length - 40} more in the legend.`);
  return lines.join(" ");
}
