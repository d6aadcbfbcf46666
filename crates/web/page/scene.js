// What a chart shows: joined times, columns of values with styles, and the range of each axis. The chart on the page and its
// pictures draw it.

import { axesOf, drawnTest, isOfSeveral, rangeOf } from "./axes.js";
import { joined } from "./blocks.js";
import { dashOf, highlightColour, lineStyle } from "./palette.js";
import { presentKey } from "./earlier.js";
import { entry, state } from "./state.js";
import { theme } from "./theme.js";

/** Percentages that cannot exceed 100 have an axis up to 100 from this share on; smaller ones would be flat lines. */
const WHOLE_FROM = 0.25;
/** Dashes of lines that show earlier values. */
export const EARLIER = [3, 3];

/**
 * The style of a line. A highlighted line is thick and black or white. Earlier values have the colour of the present values. A counter
 * of another source has the colour of the same counter of the first source, with other dashes, unless the user chose another colour.
 */
export function styleOf(line) {
  const { isHighlighted, isColoured, isOfView } = entry(line.key);
  const present = presentKey(line);
  const isSame = line.sameAs && (!isColoured || isOfView) && state.legend.has(line.sameAs.key);
  const { styleIndex } = isSame ? entry(line.sameAs.key) : (state.legend.get(present) ?? entry(line.key));
  const style = lineStyle(styleIndex, theme());
  // Solid lines are those of the first source.
  if (line.nth) style.dash = dashOf(styleIndex, line.nth);
  if (present !== line.key) Object.assign(style, { dash: EARLIER, width: 1.25 });
  return isHighlighted ? { ...style, colour: highlightColour(theme()), width: style.width + 1.5, isHighlighted } : style;
}

/** The scene of a panel's chart. */
export function sceneOf(data, panel, maxTicks) {
  const isDrawn = drawnTest(panel, data);
  const isShown = (line) => !entry(line.key).isHidden && isDrawn(line);
  const { axes, isScaled, axisOf, factorOf } = axesOf(panel, data.lines.filter(isShown), data.lines);
  const { times, columns } = joined(data.blocks, isShown, factorOf);
  for (const column of columns) {
    column.style = styleOf(column.line);
    column.axis = axisOf(column.line);
    column.drawn = column.average;
    column.lower = null;
    // Drawing bands without height would take most of the time.
    column.hasBand = column.minimum.some((value, row) => value !== column.maximum[row]);
  }
  // Values of different units, logs or machines cannot be added, and the areas of several logs would cover each other.
  const isFilled = panel.kind === "stacked" ? !isOfSeveral(data) : panel.kind === "area" && data.blocks.length === 1;
  const isStacked = isFilled && panel.kind === "stacked" && axes.length === 1 && !isScaled;
  if (isStacked) stack(columns, times.length);
  // Highlighted lines are drawn on top.
  else columns.sort((one, other) => Boolean(one.style.isHighlighted) - Boolean(other.style.isHighlighted));
  let cut = 0;
  for (const axis of axes) {
    const own = columns.filter((column) => column.axis === axis);
    const values = isStacked ? own.map((column) => column.drawn) : own.flatMap((column) => [column.average, column.minimum, column.maximum]);
    const limits = axis.isMain ? panel.limits.map((limit) => limit * axis.factor) : [];
    const reached = extent(values, limits);
    // Late samples can be slightly above the largest possible value.
    if (!isStacked && own.length && own.every(({ line }) => line.bound)) {
      const bound = Math.max(...own.map(({ line }) => line.bound * axis.factor));
      reached.high = axis.format?.symbol === "%" && reached.high >= bound * WHOLE_FROM ? bound : Math.min(reached.high, bound);
    }
    const range = rangeOf(panel, axis, reached, maxTicks);
    cut += own.filter((column) => clamp(column, range, axis.scale)).length;
    const bands = axis.isMain ? panel.bands.map((ends) => ends.map((end) => end * axis.factor)) : [];
    Object.assign(axis, { low: range[0], high: range[1], limits, namedBands: bands, bands: bands.map((ends) => ends.map((end) => Math.max(range[0], Math.min(range[1], end)))) });
  }
  return { times, columns, axes, cut, isScaled, isStacked, isFilled, factorOf, begin: data.begin, end: data.end, zone: data.zone };
}

/** The part of an axis by which late samples can be beyond its end without a mark. */
const LATE = 0.05;

/** Draws values beyond the ends of an axis at the ends, as Performance Monitor does. Returns whether there are any to mention. */
function clamp(column, [low, high], scale) {
  const isBeyond = (value) => typeof value === "number" && (value < low || value > high) && (scale !== "logarithmic" || value > 0);
  const late = scale === "scaled" ? 0 : (high - low) * LATE;
  const isFar = (value) => isBeyond(value) && (value < low - late || value > high + late);
  let isCut = false;
  for (const name of ["drawn", "stroke", "lower", "minimum", "maximum"]) {
    if (!column[name]?.some(isBeyond)) continue;
    isCut ||= column[name].some(isFar);
    column[name] = column[name].map((value) => (isBeyond(value) ? Math.max(low, Math.min(high, value)) : value));
  }
  return isCut;
}

/** The smallest and largest values, and the smallest above 0. */
export function extent(all, limits) {
  let [low, high, positive] = [Infinity, -Infinity, Infinity];
  const take = (value) => {
    if (value === null || value === undefined) return;
    if (value < low) low = value;
    if (value > high) high = value;
    if (value > 0 && value < positive) positive = value;
  };
  for (const values of all) for (const value of values) take(value);
  // Limits are in the range if there are values to compare with them.
  if (high >= low) limits.forEach(take);
  return { low, high, positive };
}

/** Puts each column on top of the previous ones. A missing value counts as 0 for the columns above it. */
function stack(columns, rows) {
  let below = new Array(rows).fill(0);
  for (const column of columns) {
    const { average } = column;
    column.lower = below;
    const top = below.slice();
    column.drawn = average.map((value, row) => (typeof value === "number" ? (top[row] += value) : value));
    column.stroke = withoutZeros(average, column.drawn);
    below = top;
  }
}

/** The upper edge of a layer, without the parts in which the layer is 0: its line would look like a value of the layer below it. */
export function withoutZeros(average, drawn) {
  const isZero = (row) => average[row] === undefined || average[row] === null || average[row] === 0;
  return drawn.map((value, row) => (isZero(row) && isZero(row - 1) && isZero(row + 1) && value !== undefined ? null : value));
}

/** The opacity of bands. Many bands are fainter than a few; up to four are visible beside their lines. */
export function bandOpacity(lines) {
  return Math.max(0.06, 0.4 / Math.sqrt(Math.max(1, lines / 4)));
}
