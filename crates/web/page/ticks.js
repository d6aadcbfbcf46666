// The ticks of axes, for the chart and its pictures.

import { axisFigure } from "./figures.js";
import { clock } from "./time.js";
import { axisTexts, smallestTop, stepOf, tickText } from "./units.js";

const STEPS_OF_TIME = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200,
  10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000, 7776000, 31536000,
];

/** The ticks of a value axis: `{at, label}` each. `format` is the rule of its unit; null for an axis without unit. */
export function valueMarks(low, high, max, format = null) {
  if (!(high > low)) return [];
  const step = stepOf(high - low, max, format);
  const first = Math.ceil(low / step - 1e-9);
  // Doubles that cannot distinguish the steps have no ticks.
  if (!Number.isSafeInteger(first + max)) return [];
  const marks = [];
  for (let index = first; index * step <= high + step * 1e-9 && index <= first + max; index += 1) {
    // The product can differ from the decimal number in its last bit.
    const at = Number((index * step).toPrecision(15));
    marks.push({ at, label: format ? "" : axisFigure(at, step) });
  }
  if (format) axisTexts(marks.map(({ at }) => at), format).forEach((label, index) => (marks[index].label = label));
  return marks;
}

/** The range of a value axis: round bounds, zero included. Without negative values, it extends at least to the smallest top of the unit. */
export function valueRange(low, high, max, format = null) {
  if (!(high >= low)) return format?.kind === "plain" || !format ? [0, 100] : [0, 1];
  const bottom = Math.min(0, low);
  const least = format && bottom === 0 ? Math.max(smallestTop(format), high > 0 ? 0 : 1) : 0;
  const top = Math.max(least, high);
  if (top === bottom) return [0, 1];
  const step = stepOf(Math.max(least, (Math.max(0, high) - bottom) * 1.04), max, format);
  const ends = [Math.floor(bottom / step + 1e-9) * step, Math.ceil(top / step - 1e-9) * step];
  // Most percentages end at 100.
  if (format?.symbol === "%" && top <= 100 && ends[1] > 100) ends[1] = 100;
  return ends;
}

/** The range of a logarithmic axis: powers of ten around the positive values, at most nine. */
export function powerRange(low, high) {
  if (!(high > 0)) return [0.1, 100];
  const top = Math.ceil(Math.log10(high) - 1e-12);
  const bottom = Math.max(top - 9, Math.min(top - 1, Math.floor(Math.log10(low > 0 ? low : high) + 1e-12)));
  return [10 ** bottom, 10 ** top];
}

/** The ticks of a logarithmic axis: powers of ten, at most `max`. */
export function powerMarks(low, high, max, format = null) {
  const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  const by = Math.max(1, Math.ceil((last - first) / Math.max(1, max)));
  const marks = [];
  for (let power = first; power <= last; power += by) marks.push({ at: 10 ** power, label: tickText(10 ** power, format ?? undefined) });
  return marks;
}

/** The time at which a zone's clock shows `local`; `ahead` is the zone's UTC offset around that time. All are in seconds. */
function momentOf(local, ahead, zone) {
  const at = local - ahead;
  const now = zone.offsetAt(at) * 60;
  const changed = local - now;
  return now !== ahead && zone.offsetAt(changed) * 60 === now ? changed : at;
}

/** The ticks of a time axis. `zone` is null if the axis counts seconds from the start. */
export function timeMarks(begin, end, max, zone) {
  if (!(end > begin)) return [];
  const min = (end - begin) / Math.max(1, max);
  const longest = STEPS_OF_TIME.at(-1);
  const step = STEPS_OF_TIME.find((size) => size >= min) ?? longest * Math.ceil(min / longest);
  let ahead = zone ? zone.offsetAt(begin) * 60 : 0;
  const first = Math.ceil((begin + ahead) / step - 1e-9);
  const marks = [];
  let day = null;
  for (let index = first; index <= first + max; index += 1) {
    const at = zone ? momentOf(index * step, ahead, zone) : index * step;
    if (at > end) break;
    // Skipped hours have no ticks.
    if (marks.length && at <= marks.at(-1).at) continue;
    if (zone) ahead = zone.offsetAt(at) * 60;
    if (!zone) {
      marks.push({ at, label: sinceStart(at, step), second: "" });
      continue;
    }
    const { date, time, milliseconds } = clock(at, zone);
    const text = step < 1 ? time + milliseconds : step < 60 ? time : time.slice(0, 5);
    // The first date has its year; days have it in place of the date.
    const shown = step >= 86400 ? date.slice(0, 4) : day === null || day.slice(0, 4) !== date.slice(0, 4) ? date : date.slice(5);
    marks.push({ at, label: step >= 86400 ? date.slice(5) : text, second: (step >= 86400 ? shown : date) === day ? "" : shown });
    day = step >= 86400 ? shown : date;
  }
  return marks;
}

/** The height of a time axis with dates, in pixels. */
export const TIME_AXIS = 38;
/** The distance of ticks in pixels, if their labels are as long as `14:05`, and if they are longer. */
const SPACING = { short: 50, long: 78 };

/** The ticks of a time axis with a width in pixels: as many as have room for their labels. */
export function timeMarksWithin(begin, end, width, zone) {
  const dense = timeMarks(begin, end, Math.max(2, Math.floor(width / SPACING.short)), zone);
  if (dense.every(({ label }) => label.length <= 5)) return dense;
  return timeMarks(begin, end, Math.max(2, Math.floor(width / SPACING.long)), zone);
}

/** Seconds from the start as `m:ss` or `h:mm:ss`, with milliseconds if ticks are less than a second apart. */
export function sinceStart(at, step = 1) {
  const sign = at < 0 ? "-" : "";
  const size = Math.abs(at);
  const two = (number) => String(number).padStart(2, "0");
  const fraction = step < 1 ? (size % 1).toFixed(3).slice(1) : "";
  const whole = step < 1 ? Math.floor(size) : Math.round(size);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return `${sign}${hours ? `${hours}:${two(minutes)}` : minutes}:${two(rest)}${fraction}`;
}
