// Times: RFC 3339 strings with seven decimals, units of 100 ns, seconds for charts; time zones.

/** Parses an RFC 3339 string in UTC; returns the exact units of 100 ns since 1970. */
export function ticksOf(text) {
  const parts = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,7})\d*)?Z$/.exec(text);
  if (!parts) return BigInt(Date.parse(text)) * 10000n;
  return BigInt(Date.parse(`${parts[1]}Z`)) * 10000n + BigInt((parts[2] ?? "").padEnd(7, "0"));
}

/** Formats units of 100 ns since 1970 as an RFC 3339 string. */
export function textOf(ticks) {
  let milliseconds = ticks / 10000n;
  if (ticks % 10000n < 0n) milliseconds -= 1n;
  const rest = String(ticks - milliseconds * 10000n).padStart(4, "0");
  return new Date(Number(milliseconds)).toISOString().replace("Z", `${rest}Z`);
}

/** Converts seconds to units of 100 ns, rounded to milliseconds. */
export function ticksOfSeconds(seconds) {
  return BigInt(Math.round(seconds * 1000)) * 10000n;
}

/** Converts units of 100 ns since 1970 to seconds. */
export function secondsOf(ticks) {
  return Number(ticks) / 1e7;
}

/** A range rounded outward to whole milliseconds, in units of 100 ns: `[begin, end]`. */
export function wholeMilliseconds(begin, end) {
  const below = (ticks) => ticks - (((ticks % 10000n) + 10000n) % 10000n);
  return [below(begin), -below(-end)];
}

/** Parses an RFC 3339 string; returns seconds since 1970. Null stays null. */
export function seconds(text) {
  return text === null || text === undefined ? null : secondsOf(ticksOf(text));
}

/**
 * The time zone of displayed times. `choice` is "log", "local" or "utc"; `source` is the log for "log". `offsetAt` is the UTC
 * offset at a moment in minutes, `nameAt` its name.
 */
export function zoneOf(choice, source) {
  if (choice === "utc") return { offsetAt: () => 0, nameAt: () => "UTC" };
  if (choice === "log" && source && Number.isFinite(source.bias_minutes)) {
    const clocks = [{ ...source, from: -Infinity }, ...(source.clock_changes ?? []).map((change) => ({ ...change, from: seconds(change.at) }))];
    const inForce = (at) => clocks.findLast(({ from }) => from <= at) ?? clocks[0];
    return { offsetAt: (at) => -inForce(at).bias_minutes, nameAt: (at) => inForce(at).zone || offsetName(-inForce(at).bias_minutes) };
  }
  const name = Intl.DateTimeFormat().resolvedOptions().timeZone || "local time";
  return { offsetAt: (at) => -new Date(at * 1000).getTimezoneOffset(), nameAt: () => name };
}

function offsetName(minutes) {
  const size = Math.abs(minutes);
  return `UTC${minutes < 0 ? "-" : "+"}${String(Math.floor(size / 60)).padStart(2, "0")}:${String(size % 60).padStart(2, "0")}`;
}

/** The name of a zone, or its UTC offset if the name is long. */
export function shortZone(zone, at) {
  const name = zone.nameAt(at);
  return name.length <= 16 ? name : offsetName(zone.offsetAt(at));
}

/** Date, time and milliseconds of a moment in a zone. */
export function clock(at, zone) {
  const moved = new Date(Math.round(at * 1000) + zone.offsetAt(at) * 60000);
  if (Number.isNaN(moved.getTime())) return { date: "", time: "", milliseconds: "" };
  const text = moved.toISOString();
  const [date, time] = text.split("T");
  return { date, time: time.slice(0, 8), milliseconds: time.slice(8, 12) };
}

/** The text of a moment: `2013-02-19 18:50:17.844`. */
export function moment(at, zone) {
  const { date, time, milliseconds } = clock(at, zone);
  return `${date} ${time}${milliseconds}`;
}

/** The text of a moment without milliseconds, if the samples have whole seconds. */
export function sampleMoment(at, zone, isWhole) {
  if (!isWhole) return moment(at, zone);
  // The end of a log is just after its last sample.
  const { date, time } = clock(Math.floor(at + 1e-6), zone);
  return `${date} ${time}`;
}

/** Whether all samples of blocks are at whole seconds. */
export const areWhole = (blocks) => blocks.length > 0 && blocks.every(({ interval }) => interval >= 1 && Number.isInteger(interval));

/** A short range: `2024-03-05 14:05 – 15:10`, with seconds if it is short, and the second date if it differs. */
export function rangeText(begin, end, zone) {
  const digits = end - begin < 10 ? 12 : end - begin < 7200 ? 8 : 5;
  const [from, to] = [begin, end].map((at) => clock(at, zone));
  const text = ({ time, milliseconds }) => (time + milliseconds).slice(0, digits);
  const isSameYear = from.date.slice(0, 4) === to.date.slice(0, 4);
  const second = from.date === to.date ? "" : `${isSameYear ? to.date.slice(5) : to.date} `;
  return `${from.date} ${text(from)} – ${second}${text(to)}`;
}
