// The box with time and values of all counters at the pointer or key cursor, the largest value first; the nearest line is marked.

import { annotationsAt, textOf } from "./annotations.js";
import { nearestRow } from "./blocks.js";
import { element, swatch } from "./element.js";
import { announce, showNotice } from "./messages.js";
import { figure, lineFigure } from "./figures.js";
import { areOfSeveralMachines, areSeveral, nameOf, shortName, withMachine, withSource } from "./names.js";
import { styleOf } from "./scene.js";
import { entry } from "./state.js";
import { sinceStart } from "./ticks.js";
import { moment } from "./time.js";

const MAX_ROWS = 18;
/** A pinned box scrolls. */
const MAX_PINNED_ROWS = 1000;

/** The values at a moment: for each counter, the row of its value, and the distance of its line from the pointer in pixels. */
export function valuesAt(chart, at, top) {
  if (chart.valuesAt) return chart.valuesAt(at, top);
  const { plot, data, scene } = chart;
  const perPixel = (data.end - data.begin) / Math.max(1, plot.over.clientWidth);
  const found = [];
  for (const { line, block, axis, drawn } of scene.columns) {
    // Half the distance of values, plus some pixels.
    const row = nearestRow(block, line, at, Math.max(8 * perPixel, (block.interval ?? 0) / 2 + perPixel));
    if (row < 0) continue;
    const value = line.average[row] * scene.factorOf(line);
    const drawnAt = scene.isStacked ? (drawn[row] ?? value) : Math.max(axis.low, Math.min(axis.high, value));
    const y = top === null ? 0 : plot.valToPos(drawnAt, axis.key);
    found.push({ line, row, value, at: block.times[row], distance: top === null ? Infinity : Math.abs(y - top) });
  }
  return found;
}

/** The box that follows the pointer over a chart. */
export class Hover {
  /** `onNearest(line)` is called with the line nearest to the pointer, or null. */
  constructor(box, onNearest) {
    Object.assign(this, { box, onNearest });
    this.nearest = null;
    this.chart = null;
    /** What the box shows: the chart, the moment and the position. */
    this.shown = null;
    this.isPinned = false;
    this.hadFocus = null;
    // The page moves under the pointer.
    document.addEventListener("scroll", (event) => event.target !== box && this.hide(), true);
  }

  /** Hides the box, unless it is pinned. */
  hide() {
    this.nearest = null;
    if (this.isPinned) return;
    this.box.hidden = true;
    this.shown = null;
  }

  /** Keeps the box unchanged, with all rows, so that it can be scrolled, read and copied. Returns whether there is a box. */
  pin() {
    if (!this.shown || this.isPinned) return false;
    const { chart, at, left, top } = this.shown;
    this.isPinned = true;
    this.box.classList.add("pinned");
    this.box.removeAttribute("aria-hidden");
    for (const [name, value] of [["role", "dialog"], ["aria-label", "Values"], ["tabindex", "0"]]) this.box.setAttribute(name, value);
    this.draw(chart, at, left, top);
    this.hadFocus = document.activeElement;
    this.box.focus({ preventScroll: true });
    announce("The box is pinned. Escape releases it.");
    return true;
  }

  /** Releases a pinned box; returns whether it was pinned. */
  release() {
    if (!this.isPinned) return false;
    const hadFocus = this.box.contains(document.activeElement);
    this.isPinned = false;
    this.box.classList.remove("pinned");
    this.box.setAttribute("aria-hidden", "true");
    for (const name of ["role", "aria-label", "tabindex"]) this.box.removeAttribute(name);
    this.hide();
    if (hadFocus) this.hadFocus?.focus?.({ preventScroll: true });
    return true;
  }

  buttons() {
    return [
      element("button", { type: "button", onclick: () => this.copy() }, "Copy"),
      element("button", { type: "button", class: "plain", title: "Release (Escape)", "aria-label": "Release", onclick: () => this.release() }, "×"),
    ];
  }

  /** Copies the text of the box: a line per row, with tabs between the columns. */
  async copy() {
    const rows = [...this.box.querySelectorAll("tr")].map((row) => [...row.cells].slice(1).map(({ textContent }) => textContent).join("\t"));
    try {
      await navigator.clipboard.writeText([this.box.querySelector(".hover-time").textContent, ...rows].join("\n"));
      showNotice("The values are copied.");
    } catch {
      // Only allowed on secure pages.
      showNotice("The browser does not allow copying. Select the text of the box.");
    }
  }

  /** Follows the pointer at most once per frame, because with very many lines an update takes longer than the next pointer event. */
  follow(chart) {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => chart.plot && this.followNow(chart));
  }

  followNow(chart) {
    const { left, top } = chart.plot.cursor;
    if (left === undefined || left < 0 || !chart.data) {
      if (this.chart === chart) this.hide();
    } else {
      this.show(chart, chart.plot.posToVal(left, "x"), left, top);
    }
    this.onNearest(this.nearest);
  }

  /** Shows the values at a moment; returns them, or null. A pinned box stays. */
  show(chart, at, left, top) {
    this.chart = chart;
    if (this.isPinned) {
      const found = valuesAt(chart, at, top);
      this.nearest = found.length ? found.reduce((best, one) => (one.distance < best.distance ? one : best), found[0]).line : null;
      return null;
    }
    return this.draw(chart, at, left, top);
  }

  draw(chart, at, left, top) {
    const { box } = this;
    const { data } = chart;
    const found = valuesAt(chart, at, top);
    if (!found.length) {
      this.hide();
      return null;
    }
    this.shown = { chart, at, left, top };
    const nearest = found.reduce((best, one) => (one.distance < best.distance ? one : best), found[0]);
    this.nearest = nearest.line;
    // The heading is the time, nearest to the pointer, at which any counter has a value.
    const shownAt = found.reduce((best, one) => (Math.abs(one.at - at) < Math.abs(best - at) ? one.at : best), nearest.at);
    const time = data.zone ? moment(shownAt, data.zone) : `${sinceStart(shownAt, 0.1)} from the start`;
    const hasBand = found.some(({ line, row }) => line.minimum[row] !== line.maximum[row]);
    // Values of different units have no order.
    if (chart.scene.axes?.length !== 2) found.sort((one, other) => other.value - one.value);
    const max = this.isPinned ? MAX_PINNED_ROWS : MAX_ROWS;
    const first = Math.max(0, Math.min(found.indexOf(nearest) - max / 2, found.length - max));
    const several = areSeveral(data.blocks);
    const areNamed = areOfSeveralMachines(data.lines);
    const nameIn = ({ line }) => withSource(withMachine(line, areNamed, shortName(line)), line.source, several);
    const rows = found.slice(first, first + max).map((one) => this.row(one, one === nearest, hasBand, nameIn(one), chart.styleAt?.(one)));
    const heads = ["", "", hasBand ? "Average" : "Value", ...(hasBand ? ["Minimum", "Maximum"] : [])];
    const notes = annotationsAt(data, at, (5 * (data.end - data.begin)) / Math.max(1, chart.plot.over.clientWidth));
    const rest = found.length - rows.length;
    box.replaceChildren(
      element("div", { class: "hover-head" }, element("span", { class: "hover-time" }, several ? time : `${time}  ·  ${data.blocks[0]?.source.name ?? ""}`), this.isPinned && this.buttons()),
      ...notes.slice(0, 4).map((note) => element("div", { class: "hover-note" }, textOf(note))),
      element("table", {}, element("thead", {}, element("tr", {}, heads.map((head) => element(head ? "th" : "td", {}, head)))), element("tbody", {}, rows)),
      ...(rest > 0 ? [element("div", { class: "hover-rest" }, `and ${rest} more${this.isPinned ? "" : ": b, or a long press, shows all"}`)] : []),
    );
    box.hidden = false;
    box.scrollTop = 0;
    this.place(chart, left);
    return { time, found, nearest };
  }

  row({ line, row }, isNearest, hasBand, name, style) {
    const values = [line.average[row], ...(hasBand ? [line.minimum[row], line.maximum[row]] : [])];
    return element(
      "tr",
      { class: isNearest ? "nearest" : null },
      element("td", {}, swatch(style ?? styleOf(line))),
      element("td", { class: "hover-name" }, name),
      values.map((value) => element("td", { class: "number" }, lineFigure(value, line))),
    );
  }

  /** Places the box beside the pointer, on the side with room; on narrow screens below the plot. */
  place(chart, left) {
    const { box } = this;
    const plot = chart.plot.over.getBoundingClientRect();
    const [width, height] = [box.offsetWidth, box.offsetHeight];
    const [roomX, roomY] = [document.documentElement.clientWidth, document.documentElement.clientHeight];
    if (roomX <= 760) {
      const below = plot.bottom + 44;
      const top = below + height <= roomY ? below : Math.max(4, plot.top - height - 6);
      Object.assign(box.style, { left: `${Math.max(4, (roomX - width) / 2)}px`, top: `${top}px` });
      return;
    }
    const pointer = plot.left + left;
    const x = pointer + 16 + width <= roomX ? pointer + 16 : pointer - width - 16;
    const y = Math.min(plot.top, roomY - height - 8);
    Object.assign(box.style, { left: `${Math.max(4, Math.min(x, roomX - width - 4))}px`, top: `${Math.max(4, y)}px` });
  }
}

/** A description of the chart for screen readers. */
export function summaryOf(data) {
  const shown = data.lines.filter((line) => !entry(line.key).isHidden);
  if (!shown.length) return "The chart has no counters.";
  const lines = shown.slice(0, 40).map((line) => {
    const of = line.statistics ?? {};
    const text = (value) => figure(value, line.type);
    return `${nameOf(line)}: average ${text(of.average)}, minimum ${text(of.minimum)}, maximum ${text(of.maximum)}.`;
  });
  if (shown.length > 40) lines.push(`And ${shown.length - 40} more in the legend.`);
  return lines.join(" ");
}
