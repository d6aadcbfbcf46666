// Values with units: three significant digits, a prefix and the unit. The server sends the rule of each counter (`format`), so
// the page and the terminal monitor show the same text; tests compare both.

/** A rule as the server sends it: `{kind, symbol, factor}`. */
export const PLAIN = { kind: "other", symbol: "", factor: 1 };

const LARGE = ["", "k", "M", "G", "T", "P", "E"];
const SMALL = ["", "m", "µ", "n"];
const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const MAX_GROUPED = 99_999.5;
const MAX_THREE_DIGITS = 999.5;
const MAX_DECIMALS = 5;
/** Units of long times: the number of seconds from which the unit is used, its length in seconds, its symbol. */
const LONG = [[2 * 86_400, 86_400, "d"], [2 * 3600, 3600, "h"], [MAX_THREE_DIGITS, 60, "min"]];

/** A number with n decimals; exact ties are rounded to even, as in Rust. */
export function fixed(value, decimals) {
  const size = Math.abs(value);
  if (!(size < 1e21)) return BigInt(Math.trunc(value)).toString();
  // The value is a tie if value * 2 * 10^n is an odd integer. Because 5^n is odd, this is so if value * 2^(n+1), which is exact, is an odd
  // integer.
  const part = size * 2 ** (decimals + 1);
  const halves = part * 5 ** decimals;
  if (Number.isInteger(part) && part % 2 === 1 && halves < 2 ** 53) {
    const below = (halves - 1) / 2;
    return ((Math.sign(value) * (below % 2 ? below + 1 : below)) / 10 ** decimals).toFixed(decimals);
  }
  return value.toFixed(decimals);
}

/** Inserts commas between groups of three digits before the decimal point. */
function grouped(digits) {
  const [whole, fraction] = digits.split(".");
  const text = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction === undefined ? text : `${text}.${fraction}`;
}

/** Three significant digits; digits before the decimal point are grouped, not rounded. */
function significant(value) {
  const size = Math.abs(value);
  if (size === 0) return "0";
  const before = Math.floor(Math.log10(size));
  let decimals = Math.max(0, Math.min(MAX_DECIMALS, 2 - before));
  const rounded = Math.round(size * 10 ** decimals) / 10 ** decimals;
  if (rounded === 0) return `${value < 0 ? ">-" : "<"}0.00001`;
  // 9.996 is rounded to 10.00, which has a digit too many.
  if (Math.floor(Math.log10(rounded)) > before) decimals = Math.max(0, decimals - 1);
  return grouped(fixed(value, decimals));
}

/** Like `significant`, but whole numbers have no decimals. */
const count = (value) => (Number.isInteger(value) ? grouped(fixed(value + 0, 0)) : significant(value));

/** Divides a value by powers of `step` until it has at most three digits before the decimal point. */
function scaled(value, step, prefixes) {
  let index = 0;
  while (Math.abs(value) >= MAX_THREE_DIGITS && index + 1 < prefixes.length) {
    value /= step;
    index += 1;
  }
  return [index === 0 ? count(value) : significant(value), prefixes[index]];
}

function seconds(value) {
  const size = Math.abs(value);
  if (size === 0) return "0 s";
  for (const [min, length, unit] of LONG) if (size >= min) return `${significant(value / length)} ${unit}`;
  let index = 0;
  // Rounded to three digits, 0.9995 is 1.00.
  while (Math.abs(value) < 0.9995 && index + 1 < SMALL.length) {
    value *= 1000;
    index += 1;
  }
  return `${significant(value)} ${SMALL[index]}s`;
}

function hexadecimal(value) {
  const whole = BigInt.asUintN(64, BigInt(Math.trunc(value)));
  return `0x${whole.toString(16)}`;
}

/** The text of a value by a rule: `22.9 GiB`, `1.53 ms`, `12.3 %`. */
export function valueText(raw, format = PLAIN) {
  if (!Number.isFinite(raw)) return Number.isNaN(raw) ? "NaN" : raw > 0 ? "inf" : "-inf";
  const { kind, symbol } = format;
  const value = raw * format.factor;
  if (kind === "hexadecimal" && Number.isInteger(value)) return hexadecimal(value);
  if (kind === "hexadecimal" || kind === "identifier") return fixed(value, 0);
  if (kind === "load") return fixed(value, 2);
  if (kind === "bytes") return scaled(value, 1024, BINARY).join(" ");
  if (kind === "seconds") return seconds(value);
  if (kind === "plain") return `${significant(value)} ${symbol}`;
  const [number, prefix] = kind === "si" ? scaled(value, 1000, LARGE) : Math.abs(value) < MAX_GROUPED ? [count(value), ""] : scaled(value, 1000, LARGE);
  if (kind === "si") return `${number} ${prefix}${symbol}`;
  return [number, prefix, symbol].filter(Boolean).join(" ");
}

/** The text of a tick: without trailing zeros after the decimal point. */
export function tickText(value, format) {
  const text = valueText(value, format);
  const end = text.includes(" ") ? text.indexOf(" ") : text.length;
  const number = text.slice(0, end);
  return number.includes(".") ? number.replace(/\.?0+$/, "") + text.slice(end) : text;
}

/** The unit and prefix of an axis by the size of its largest value: its length and symbol; null if each value has its own unit. */
function axisUnit(size, { kind, symbol }) {
  const steps = (step, prefixes) => {
    const index = Math.max(0, Math.min(prefixes.length - 1, Math.floor(Math.log(size * (1 + 1e-12)) / Math.log(step))));
    return [step ** index, prefixes[index]];
  };
  if (!(size > 0)) return null;
  if (kind === "bytes") return steps(1024, BINARY);
  if (kind === "seconds") {
    if (size >= MAX_THREE_DIGITS) return null;
    const index = Math.max(0, Math.min(SMALL.length - 1, Math.ceil(-Math.log10(size * (1 + 1e-12)) / 3)));
    return [1000 ** -index, `${SMALL[index]}s`];
  }
  if (kind !== "si") return null;
  const [length, prefix] = steps(1000, LARGE);
  return [length, `${prefix}${symbol}`];
}

/** The texts of the ticks of an axis: all with the unit of the largest one, so that they can be compared. */
export function axisTexts(values, format) {
  const unit = axisUnit(Math.max(...values.map(Math.abs)), format);
  if (!unit) return values.map((value) => tickText(value, format));
  const [length, symbol] = unit;
  return values.map((value) => `${grouped(String(Number((value / length).toPrecision(4))))} ${symbol}`);
}

/** Whether the values of two counters can share an axis. Factors are applied on the axis. */
export const isSameUnit = (one, other) => one.kind === other.kind && one.symbol === other.symbol;

/** The units that can be named in view files, if their values have a prefix or a symbol; the same as in the terminal monitor. */
const NAMED = {
  seconds: ["seconds", ""],
  ns: ["seconds", ""],
  bytes: ["bytes", ""],
  KB: ["bytes", ""],
  MB: ["bytes", ""],
  "bytes/s": ["si", "B/s"],
  "KB/s": ["si", "B/s"],
  "MB/s": ["si", "B/s"],
  bits: ["si", "bit"],
  "bits/s": ["si", "bit/s"],
  Hz: ["si", "Hz"],
  MHz: ["si", "Hz"],
  W: ["si", "W"],
  J: ["si", "J"],
  V: ["si", "V"],
  A: ["si", "A"],
  "1/s": ["si", "/s"],
  "packets/s": ["si", "/s"],
  "%": ["plain", "%"],
  "°C": ["plain", "°C"],
  "m°C": ["plain", "°C"],
  ppb: ["plain", "ppm"],
  cycles: ["plain", "cycles"],
};

/** The rule of a unit that a view file names. The factor is 1, because the factor of each counter converts its values to the base unit. */
export function namedUnit(name) {
  const [kind, symbol] = Object.hasOwn(NAMED, name) ? NAMED[name] : ["other", name];
  return { kind, symbol, factor: 1 };
}

/** The rule without factor, for values that are already in the unit. */
export const baseOf = (format) => ({ ...format, factor: 1 });

/** The values of `smallestTop`, by kind or by kind and symbol; `Unit::smallest_top` of the terminal monitor has the same. */
const SMALLEST_TOPS = { bytes: 2 ** 20, seconds: 100e-6, "si B/s": 10e3, "si bit/s": 10e3, "si /s": 1, load: 1, "plain %": 5, other: 0.1 };

/** The smallest value at the top of an axis that begins at 0: a quantity that is small for every machine, so that noise does not fill a chart. */
export const smallestTop = ({ kind, symbol }) => SMALLEST_TOPS[kind] ?? SMALLEST_TOPS[`${kind} ${symbol}`] ?? 0;

/** A round step of an axis: powers of two for bytes, minutes and hours for long times. */
export function stepOf(length, max, format) {
  const min = length / Math.max(1, max);
  if (format?.kind === "bytes" && min > 1) {
    const power = 1024 ** Math.floor(Math.log2(min) / 10);
    for (let step = 1; step <= 1024; step *= 2) if (step * power >= min * (1 - 1e-9)) return step * power;
  }
  if (format?.kind === "seconds" && min >= 100) {
    const found = [120, 300, 600, 1200, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 432_000, 864_000].find((step) => step >= min * (1 - 1e-9));
    if (found) return found;
  }
  return roundStep(length, max);
}

/** A round step (1, 2 or 5 times a power of ten) that divides `length` into at most `max` parts. */
function roundStep(length, max) {
  const min = length / Math.max(1, max);
  const power = 10 ** Math.floor(Math.log10(min));
  for (const factor of [1, 2, 5, 10]) if (factor * power >= min * (1 - 1e-9)) return factor * power;
  return 10 * power;
}
