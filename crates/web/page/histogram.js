// The histogram view: a bar per counter, drawn with the counter's scale.

import { factorOf, styleOf } from "./chart.js";
import { drawing } from "./element.js";
import { figure } from "./figures.js";
import { nameOf } from "./hover.js";
import { entry, state } from "./state.js";
import { valueMarks, valueRange } from "./ticks.js";
import { shownValue } from "./values.js";

/** The bars and their axis: `{bars: [{line, value, height}], low, high}`. */
export function barsOf(lines, maxTicks) {
  const bars = lines
    .filter((line) => !entry(line.key).isHidden)
    .map((line) => {
      const value = shownValue(line);
      return { line, value, height: value === null ? null : value * factorOf(line) };
    });
  const heights = bars.map((bar) => bar.height).filter((height) => height !== null);
  const [low, high] = state.axis === "100" ? [0, 100] : valueRange(Math.min(...heights), Math.max(...heights), maxTicks);
  return { bars, low, high };
}

/** Draws the view. `onSelect(key)` is called when a bar is clicked. */
export function drawHistogram(place, lines, onSelect) {
  const width = Math.max(200, place.clientWidth);
  const height = Math.max(120, place.clientHeight);
  const max = Math.max(2, Math.floor(height / 45));
  const { bars, low, high } = barsOf(lines, max);
  const [left, right, top, bottom] = [64, 12, 22, 16];
  const down = (value) => top + (height - top - bottom) * (1 - (Math.max(low, Math.min(high, value)) - low) / (high - low));
  const across = (width - left - right) / Math.max(1, bars.length);
  const picture = drawing("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true", class: "histogram-picture" });
  for (const { at, label } of valueMarks(low, high, max)) {
    picture.append(
      drawing("line", { class: "grid-line", x1: left, x2: width - right, y1: down(at), y2: down(at) }),
      drawing("text", { class: "axis-text", x: left - 8, y: down(at) + 4, "text-anchor": "end" }, label),
    );
  }
  bars.forEach(({ line, value, height: size }, index) => {
    const style = styleOf(line);
    const thick = Math.min(64, across * 0.72);
    const x = left + across * (index + 0.5) - thick / 2;
    const group = drawing("g", { class: line.key === state.selected ? "bar selected" : "bar" });
    const title = drawing("title", {}, `${nameOf(line)}: ${figure(value, line.type)}`);
    // The whole height is clickable, even above a short bar.
    group.append(title, drawing("rect", { class: "bar-room", x: left + across * index, y: top, width: across, height: height - top - bottom }));
    if (size !== null) {
      const [from, to] = [down(Math.max(0, low)), down(size)];
      group.append(drawing("rect", { x, y: Math.min(from, to), width: thick, height: Math.max(1, Math.abs(from - to)), fill: style.colour }));
      if (style.dash.length) {
        group.append(drawing("rect", { class: "bar-dash", x, y: Math.min(from, to), width: thick, height: Math.max(1, Math.abs(from - to)), stroke: style.colour, "stroke-dasharray": style.dash.join(" ") }));
      }
    }
    const text = figure(value, line.type);
    if (across > text.length * 7) {
      const y = size === null ? down(Math.max(0, low)) - 5 : Math.max(14, down(size) - 5);
      group.append(drawing("text", { class: "axis-text strong", x: left + across * (index + 0.5), y, "text-anchor": "middle" }, text));
    }
    group.addEventListener("click", () => onSelect(line.key));
    picture.append(group);
  });
  picture.append(drawing("line", { class: "axis-line", x1: left, x2: width - right, y1: down(Math.max(0, low)), y2: down(Math.max(0, low)) }));
  place.replaceChildren(picture);
}
