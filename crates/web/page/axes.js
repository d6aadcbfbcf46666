// The axes of a panel: one per unit, at most two. With more units, there is one axis without unit, and each counter is multiplied by a
// factor as in Performance Monitor.

import { entry } from "./state.js";
import { powerMarks, powerRange, valueMarks, valueRange } from "./ticks.js";
import { baseOf, isSameUnit, namedUnit, PLAIN } from "./units.js";

const MAX_AXES = 2;
/** The ends of a scaled axis, as in Performance Monitor. */
const SCALED = [0, 100];

/** How the values of a line are formatted. */
export const formatOf = (line) => line.format ?? PLAIN;

/** The unit of a panel's ends and limits: the unit that the panel names if any line has it, otherwise the unit of the first line. */
export function mainUnit(panel, all) {
  const named = panel.unit ? namedUnit(panel.unit) : null;
  if (named && all.some((line) => isSameUnit(named, formatOf(line)))) return named;
  return all.length ? formatOf(all[0]) : PLAIN;
}

/** Whether the shown lines are of several sources or machines. They are not parts of one whole, so they are not stacked. */
export const isOfSeveral = ({ blocks, lines }) => blocks.length > 1 || new Set(lines.filter(({ key }) => !entry(key).isHidden).map(({ machine }) => machine)).size > 1;

/**
 * A function that tests whether a panel's chart shows a line if it is not hidden: a stack and a heat map have no totals of their other lines, and
 * a heat map has the lines of one unit.
 */
export function drawnTest(panel, data) {
  if (panel?.kind !== "heatmap") return (line) => !line.isTotal || panel?.kind !== "stacked" || isOfSeveral(data);
  const unit = mainUnit(panel, data.blocks.flatMap(({ lines }) => lines.filter(({ key }) => !entry(key).isHidden)));
  return (line) => !line.isTotal && isSameUnit(formatOf(line), unit);
}

/**
 * The axes for the shown lines of a panel: `{scale, key, format, side, isMain, factor}` each, and `axisOf(line)`, `factorOf(line)`.
 * `scale` is "linear", "logarithmic" or "scaled"; a scaled axis has no format. The panel's ends and limits, multiplied by `factor`,
 * apply to the main axis: the axis with the unit of the ends and limits. An axis with that unit exists only if a shown line has it.
 */
export function axesOf(panel, lines, all = lines) {
  const formats = [];
  for (const line of lines) if (!formats.some((known) => isSameUnit(known, formatOf(line)))) formats.push(baseOf(formatOf(line)));
  const isScaled = panel.axis === "scaled" || formats.length > MAX_AXES;
  if (isScaled || !formats.length) {
    const only = { scale: "scaled", key: "y", format: null, side: 3 };
    return { axes: [only], isScaled, axisOf: () => only, factorOf: (line) => 10 ** powerOf(entry(line.key).scale, line) };
  }
  const unit = mainUnit(panel, all);
  formats.sort((one, other) => Number(isSameUnit(other, unit)) - Number(isSameUnit(one, unit)));
  const factor = formatOf(all.find((line) => isSameUnit(formatOf(line), unit)) ?? all[0]).factor;
  const axes = formats.map((format, index) => ({ scale: panel.axis, key: index ? "y2" : "y", format, side: index ? 1 : 3, isMain: isSameUnit(format, unit), factor }));
  return { axes, isScaled, axisOf: (line) => axes.find((axis) => isSameUnit(axis.format, formatOf(line))), factorOf: (line) => formatOf(line).factor };
}

/** The ends of an axis for values from `low` to `high`; `positive` is the smallest value above 0. */
export function rangeOf(panel, axis, { low, high, positive }, maxTicks) {
  if (axis.scale === "scaled") return SCALED;
  const fixed = (end) => (end === null || end === undefined || !axis.isMain ? null : end * axis.factor);
  const [min, max] = [fixed(panel.min), fixed(panel.max)];
  if (axis.scale === "logarithmic") {
    const [bottom, top] = powerRange(positive, high);
    const ends = [min > 0 ? min : bottom, max > 0 ? max : top];
    return ends[1] > ends[0] ? ends : [bottom, top];
  }
  const [bottom, top] = valueRange(low, high, maxTicks, axis.format);
  const ends = [min ?? bottom, max ?? top];
  return ends[1] > ends[0] ? ends : [ends[0], ends[0] + 1];
}

/** The ticks of an axis. */
export const marksOf = (axis, low, high, max) => (axis.scale === "logarithmic" ? powerMarks(low, high, max, axis.format) : valueMarks(low, high, max, axis.format));

/** The selectable powers of ten. */
export const POWERS = Array.from({ length: 19 }, (_, index) => index - 9);

/** The text of a power of ten: `0.001`, `1.0`, `1000.0`. */
export function factorText(power) {
  return power < 0 ? (10 ** power).toFixed(-power) : `${10 ** power}.0`;
}

/** The largest selectable power of ten that keeps the maximum at or below 100. */
export function fittingPower(maximum) {
  const size = Math.abs(maximum ?? 0);
  if (!(size > 0)) return 0;
  for (let power = 9; power > -9; power -= 1) if (size * 10 ** power <= 100 * (1 + 1e-12)) return power;
  return -9;
}

/** The power of ten of a setting: "default", "fit", or a power. It changes where a line is drawn, never a displayed value. */
export function powerOf(choice, line) {
  if (choice === "fit") return fittingPower(Math.max(Math.abs(line.statistics?.maximum ?? 0), Math.abs(line.statistics?.minimum ?? 0)));
  if (choice === "default" || choice === undefined) return Math.max(-9, Math.min(9, line.default_scale ?? 0));
  return Number(choice);
}
