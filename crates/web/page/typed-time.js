// Times that users type: clock times, dates, ISO 8601, and times relative to the end such as `-1h`.

/** Ten years. */
const MAX_LENGTH = 3653 * 86_400;
const UNITS = { s: 1, sec: 1, m: 60, min: 60, h: 3600, d: 86_400, w: 604_800 };

const WORDS = { second: 1, minute: 60, min: 60, hour: 3600, day: 86_400, week: 604_800 };
/** Units of lengths, the largest first. */
export const LENGTHS = [["weeks", 604_800], ["d", 86_400], ["h", 3600], ["min", 60], ["s", 1]];
const LENGTH = /^[-−+]?\s*(\d+(?:\.\d+)?)\s*([a-z]+)$/i;

/** The seconds of a length such as `1d` or `90 min`; null if it is invalid. */
export function parseLength(text) {
  const found = LENGTH.exec(text.trim());
  const unit = found && (UNITS[found[2].toLowerCase()] ?? WORDS[found[2].toLowerCase().replace(/s$/, "")]);
  const length = unit ? Number(found[1]) * unit : 0;
  return length > 0 && length <= MAX_LENGTH ? length : null;
}

const CLOCK = /^(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d{1,7})?))?(?:\s*([ap])m)?$/i;
/** A date as in Performance Monitor and the command: month first. */
const MONTH_FIRST = /^(\d{1,2})\/(\d{1,2})\/(\d{4}|\d\d)(?:\s+(\S.*))?$/;
const DATE = /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ]+(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d{1,7})?))?)?$/;
const RELATIVE = /^(?:now\s*)?([-+−])\s*(\d+(?:\.\d+)?)\s*([a-z]+)$/i;

/** The moment at which the clock of a zone shows a local time, in seconds since 1970. */
function momentOf(local, zone) {
  const first = local - zone.offsetAt(local) * 60;
  return local - zone.offsetAt(first) * 60;
}

/** The hours, minutes and seconds of a clock time, with or without AM or PM; null if it does not exist. */
function clockOf(text) {
  const found = CLOCK.exec(text);
  if (!found) return null;
  const [hours, minutes, seconds] = [Number(found[1]), Number(found[2]), Number(found[3] ?? 0)];
  const half = found[4]?.toLowerCase();
  if (minutes > 59 || seconds >= 60 || (half && (hours < 1 || hours > 12))) return null;
  return { hours: half ? (hours % 12) + (half === "p" ? 12 : 0) : hours, minutes, seconds, isShort: found[3] === undefined, isHalf: Boolean(half) };
}

/** A date that is written as in Performance Monitor, in the form of ISO 8601; other texts are unchanged. */
function isoOf(text) {
  const found = MONTH_FIRST.exec(text);
  if (!found) return text;
  const clock = found[4] === undefined ? { hours: 0, minutes: 0, seconds: 0 } : clockOf(found[4]);
  if (!clock) return "";
  const year = Number(found[3]) + (found[3].length > 2 ? 0 : Number(found[3]) < 50 ? 2000 : 1900);
  return `${year}-${found[1]}-${found[2]} ${clock.hours}:${String(clock.minutes).padStart(2, "0")}:${clock.seconds < 10 ? "0" : ""}${clock.seconds}`;
}

/**
 * The moment that a text names, in seconds on the time axis. `whole` is the range of the data: clock times are on its last day,
 * or on the last day on which they are within the range; `-1h` counts from its end, `+30s` from `from`. `zone` is null if the axis
 * counts seconds from the start. Returns null if the text is not a time.
 */
export function parseTime(text, whole, zone, from = whole.begin) {
  const typed = isoOf(text.trim());
  if (/^(now|end)$/i.test(typed)) return whole.end;
  if (/^(start|begin)$/i.test(typed)) return whole.begin;
  const relative = RELATIVE.exec(typed);
  if (relative) {
    const unit = UNITS[relative[3].toLowerCase()];
    if (!unit || (relative[1] === "+" && /^now/i.test(typed))) return null;
    return relative[1] === "+" ? from + Number(relative[2]) * unit : whole.end - Number(relative[2]) * unit;
  }
  const clock = clockOf(typed);
  if (clock) {
    const { hours, minutes, seconds } = clock;
    // From the start: hours, minutes and seconds, or minutes and seconds.
    if (!zone && clock.isHalf) return null;
    if (!zone) return clock.isShort ? hours * 60 + minutes : hours * 3600 + minutes * 60 + seconds;
    if (hours > 24) return null;
    const ofDay = hours * 3600 + minutes * 60 + seconds;
    const local = whole.end + zone.offsetAt(whole.end) * 60;
    const today = Math.floor(local / 86_400) * 86_400;
    const at = momentOf(today + ofDay, zone);
    const before = momentOf(today - 86_400 + ofDay, zone);
    return at > whole.end && before >= whole.begin ? before : at;
  }
  if (!zone) return /^\d+(\.\d+)?$/.test(typed) ? Number(typed) : null;
  const date = DATE.exec(typed);
  if (date) {
    const [, year, month, day, hours = 0, minutes = 0, seconds = 0] = date.map((part) => (part === undefined ? undefined : Number(part)));
    const local = Date.UTC(year, month - 1, day, hours, minutes) / 1000 + seconds;
    const back = new Date(Date.UTC(year, month - 1, day));
    if (back.getUTCMonth() !== month - 1 || hours > 24 || minutes > 59 || seconds >= 60) return null;
    return momentOf(local, zone);
  }
  if (!/^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:?\d\d)$/i.test(typed)) return null;
  const at = Date.parse(typed);
  return Number.isNaN(at) ? null : at / 1000;
}

/** A time slightly before the first or after the last sample of a log is one of the log; in seconds. */
const NEAR = 1;

/**
 * `parseTime` on the axis of `data`. If the axis counts from the starts of logs, dates, and clock times that are not within it, are of the first log
 * that has samples then.
 */
export function parseOnAxis(text, whole, { zone, origins }, from) {
  const at = parseTime(text, whole, zone, from);
  if (zone || !origins || (at >= whole.begin && at <= whole.end && at !== null)) return at;
  const typed = origins.map((origin) => ({ ...origin, at: parseTime(text, origin, origin.zone) })).filter((one) => one.at !== null);
  const found = typed.find((one) => one.at > one.begin - NEAR && one.at < one.end + NEAR) ?? (at === null && typed[0]);
  return found ? found.at - found.shift : at;
}
