// The bars: one per counter, with its name and value. Bars of one unit share an axis; with several units, each unit has its own.

import { axesOf } from "./axes.js";
import { drawing } from "./element.js";
import { lineFigure, shownValue } from "./figures.js";
import { instanceOf, nameOf, sharedCounter, shortName } from "./names.js";
import { isSameUnit } from "./units.js";
import { styleOf } from "./scene.js";
import { entry, state } from "./state.js";
import { valueMarks, valueRange } from "./ticks.js";

const ROW = 24;

/** The bars and their axes: `{bars: [{line, value, size, axis}], axes}`; an axis has `low` and `high`. */
export function barsOf(lines, panel, maxTicks) {
  const shown = lines.filter((line) => !entry(line.key).isHidden);
  const { isScaled, axes, axisOf, factorOf } = axesOf(panel, shown, lines);
  const own = isScaled ? axes : [];
  const axisFor = (line) => {
    if (isScaled) return own[0];
    const { format, isMain, factor } = axisOf(line);
    let axis = own.find((known) => isSameUnit(known.format, format));
    if (!axis) own.push((axis = { format, isMain, factor }));
    return axis;
  };
  const bars = shown.map((line) => {
    const value = shownValue(line);
    return { line, value, size: value === null ? null : value * factorOf(line), axis: axisFor(line) };
  });
  for (const axis of own) {
    const sizes = bars.filter((bar) => bar.axis === axis && bar.size !== null).map((bar) => bar.size);
    const [low, high] = valueRange(Math.min(...sizes), Math.max(...sizes), maxTicks, axis.format);
    const ends = axis.isMain ? [Math.min(low, (panel.min ?? Infinity) * axis.factor), panel.max === null ? high : panel.max * axis.factor] : [low, high];
    Object.assign(axis, { low: ends[0], high: ends[1] > ends[0] ? ends[1] : ends[0] + 1 });
  }
  return { bars, axes: own };
}

/** Draws the bars. `onSelect(key)` is called when a bar is clicked. */
export function drawHistogram(place, lines, panel, onSelect) {
  const width = Math.max(200, place.clientWidth - 4);
  const names = Math.min(280, width * 0.36);
  const [left, right, head] = [names + 8, 92, 20];
  const max = Math.max(2, Math.floor((width - left - right) / 90));
  const { bars, axes } = barsOf(lines, panel, max);
  const height = head + bars.length * ROW + 6;
  const across = (axis, value) => left + (width - left - right) * ((Math.max(axis.low, Math.min(axis.high, value)) - axis.low) / (axis.high - axis.low));
  const picture = drawing("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true", class: "histogram-picture" });
  const floor = head + bars.length * ROW + 4;
  // With several units, there are no ticks, because the values beside the bars show the unit.
  for (const axis of axes.length === 1 ? axes : []) {
    for (const { at, label } of valueMarks(axis.low, axis.high, max, axis.format)) {
      picture.append(
        drawing("line", { class: "grid-line", x1: across(axis, at), x2: across(axis, at), y1: head - 4, y2: floor }),
        drawing("text", { class: "axis-text", x: across(axis, at), y: 12, "text-anchor": "middle" }, label),
      );
    }
  }
  const fits = Math.floor(names / 6.8);
  const isShared = sharedCounter(bars.map(({ line }) => line)) !== null;
  bars.forEach(({ line, value, size, axis }, index) => {
    const style = styleOf(line);
    const y = head + index * ROW;
    const group = drawing("g", { class: line.key === state.selected ? "bar selected" : "bar" });
    const name = isShared ? instanceOf(line) : shortName(line);
    // The whole row is clickable.
    group.append(drawing("title", {}, `${nameOf(line)}: ${lineFigure(value, line)}`), drawing("rect", { class: "bar-room", x: 0, y, width, height: ROW }));
    group.append(drawing("text", { class: "axis-text strong", x: names, y: y + 16, "text-anchor": "end" }, name.length > fits ? `${name.slice(0, fits - 1)}…` : name));
    let end = left;
    if (size !== null) {
      const [from, to] = [across(axis, Math.max(0, axis.low)), across(axis, size)];
      end = Math.max(from, to);
      const box = { x: Math.min(from, to), y: y + 4, width: Math.max(1, Math.abs(to - from)), height: ROW - 8 };
      group.append(drawing("rect", { ...box, fill: style.colour }));
      if (style.dash.length) group.append(drawing("rect", { class: "bar-dash", ...box, stroke: style.colour, "stroke-dasharray": style.dash.join(" ") }));
    }
    group.append(drawing("text", { class: "axis-text strong", x: end + 6, y: y + 16 }, lineFigure(value, line)));
    group.addEventListener("click", () => onSelect(line.key));
    picture.append(group);
  });
  place.replaceChildren(picture);
}
