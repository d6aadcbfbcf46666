// The Time menu: from and to as text, and presets.

import { byId, element, setText } from "./element.js";
import { lengthText } from "./earlier.js";
import { onToggle } from "./menus.js";
import { change, state } from "./state.js";
import { sinceStart } from "./ticks.js";
import { moment, rangeText } from "./time.js";
import { parseLength, parseOnAxis } from "./typed-time.js";
import { withinWhole, zoomTo } from "./zoom.js";

/** Presets: label and length in seconds. */
const PRESETS = [["1 min", 60], ["5 min", 300], ["15 min", 900], ["1 h", 3600], ["6 h", 21_600], ["24 h", 86_400]];
/** Shifts: label and length in seconds. */
const SHIFTS = [["10 min", 600], ["1 h", 3600], ["1 d", 86_400], ["1 week", 604_800], ["Off", 0]];
/** The usual number of points of a live chart. */
const POINTS = 300;

/** The largest n of every n-th collection. */
const MAX_EVERY = 1000;

/** Sets the menu up. `page` has the data and the loader. */
export function setUpTimeMenu(page) {
  const whole = () => page.loader.whole() ?? page.data;
  const form = byId("time-form");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const texts = ["from", "to"].map((name) => byId(`${name}-field`).value.trim());
    // An empty field is an open end: undefined.
    const from = texts[0] ? parseOnAxis(texts[0], whole(), page.data) : undefined;
    const to = texts[1] ? parseOnAxis(texts[1], whole(), page.data, from ?? undefined) : undefined;
    for (const [name, at] of [["from", from], ["to", to]]) byId(`${name}-field`).setAttribute("aria-invalid", String(at === null));
    const wrong = from === null ? texts[0] : to === null ? texts[1] : null;
    const problem = wrong !== null ? `“${wrong}” is not a time; examples are below.` : outside(page.data, from, to, whole()) || ((to ?? whole().end) <= (from ?? whole().begin) ? "The start must be before the end." : "");
    setText(byId("time-error"), problem);
    if (problem) return;
    // For live data, "-5min" to now is a moving window.
    if (page.loader.isRunning() && /^(now)?\s*[-−]/i.test(texts[0]) && /^(now|end)?$/i.test(texts[1])) last(page, whole().end - from);
    else show(page, from === undefined && to === undefined ? null : { begin: from ?? null, end: to ?? null });
    byId("time-menu").open = false;
  });
  byId("time-presets").replaceChildren(
    ...PRESETS.map(([label, length]) => element("button", { type: "button", "data-closes": true, onclick: () => last(page, length) }, label)),
    element("button", { type: "button", "data-closes": true, onclick: () => page.choose(null) }, "All"),
    element("button", { type: "button", id: "time-around", "data-closes": true, title: "The moment of the last click on a chart, in the middle", hidden: true, onclick: () => around(page) }),
  );
  setUpShift();
  onToggle(byId("time-menu"), (isOpen) => {
    if (!isOpen) return;
    const { data } = page;
    const text = (at) => (data.zone ? moment(at, data.zone) : sinceStart(at, 0.1));
    byId("from-field").value = state.range?.begin === null ? "" : text(data.begin);
    byId("to-field").value = state.range?.end === null ? "" : text(data.end);
    setText(byId("time-error"), "");
    setText(byId("time-forms"), data.zone ? "14:05, 2024-03-05 14:05:30, 3/5/2024 2:05 PM" : "1:30 (from the starts), 14:05:30 or 2024-03-05 14:05:30 (of the log with samples then)");
    for (const name of ["from", "to"]) byId(`${name}-field`).setAttribute("aria-invalid", "false");
    // Longer presets are disabled, because the server keeps no earlier live values.
    const live = liveSource(page);
    const kept = live?.points ? live.points * (live.interval ?? 1) : Infinity;
    byId("time-around").hidden = !page.marked;
    if (page.marked) setText(byId("time-around"), `Around ${text(page.marked.begin).replace(/^.* |\.\d+$/g, "")}`);
    const { begin, end } = whole();
    const longest = live ? kept : end - begin;
    PRESETS.forEach(([, length], index) => (byId("time-presets").children[index].disabled = length > longest));
    byId("shift-field").value = state.shift ? lengthText(state.shift) : "";
    byId("shift-field").setAttribute("aria-invalid", "false");
    setText(byId("shift-error"), "");
    byId("from-field").select();
  });
}

/** The message about a range outside of all logs, on an axis that counts from their starts; otherwise empty. */
const outside = ({ origins }, from, to, { begin, end }) =>
  origins && (from >= end || to <= begin) ? `No log has samples then: ${origins.map((one) => `${one.source.name}: ${rangeText(one.begin, one.end, one.zone)}`).join("; ")}` : "";

/** The form that compares sources with themselves some time earlier. */
function setUpShift() {
  const field = byId("shift-field");
  byId("shift-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const shift = field.value.trim() ? parseLength(field.value) : 0;
    field.setAttribute("aria-invalid", String(shift === null));
    setText(byId("shift-error"), shift === null ? "Examples: 1d, 12h, 90 min, 1w" : "");
    if (shift === null) return;
    change({ shift });
    byId("time-menu").open = false;
  });
  byId("shift-presets").replaceChildren(
    ...SHIFTS.map(([label, shift]) => element("button", { type: "button", "data-closes": true, onclick: () => change({ shift }) }, label)),
  );
}

const liveSource = (page) => page.sources.shown().find((source) => source.kind === "live");

/** Shows a range, which can have an open end; live data is frozen. A range outside the data is shown without values. */
function show(page, typed) {
  const whole = page.loader.whole() ?? page.data;
  if (!typed) return page.choose(null);
  const range = { begin: typed.begin ?? Math.min(whole.begin, typed.end), end: typed.end ?? Math.max(whole.end, typed.begin) };
  if (page.loader.isRunning()) {
    // Before the first sample, there is nothing to freeze.
    if (!page.feed.block) return undefined;
    page.loader.freeze();
    // The server can have earlier samples than the chart.
    if (range.begin < state.frozen.begin) change({ frozen: { begin: range.begin, end: Math.max(state.frozen.end, range.end) } });
    return zoomTo(range);
  }
  if (range.end <= whole.begin || range.begin >= whole.end) return zoomTo(range);
  const within = withinWhole({ begin: Math.max(range.begin, whole.begin), end: Math.min(range.end, whole.end) }, whole);
  // An open end follows a log that grows.
  return page.choose(within && { begin: typed.begin === null ? null : within.begin, end: typed.end === null ? null : within.end });
}

/** Shows the moment of the last click on a chart in the middle of a tenth of the visible range, or of several samples. */
function around(page) {
  const { begin, end, blocks } = page.data;
  const at = page.marked.begin;
  const half = Math.max((end - begin) / 20, ...blocks.map(({ interval }) => 3 * (interval ?? 0)));
  page.choose(withinWhole({ begin: at - half, end: at + half }, page.loader.whole() ?? page.data));
}

/** Shows the last `length` seconds: a moving window of live data, or the end of logs. */
function last(page, length) {
  const live = liveSource(page);
  if (live) {
    const intervals = Math.max(2, Math.round(length / (live.interval ?? 1)));
    const every = Math.max(1, Math.min(MAX_EVERY, Math.ceil(intervals / POINTS)));
    change({ every, points: Math.max(2, Math.min(1000, Math.round(intervals / every))), frozen: null, range: null });
    return;
  }
  const whole = page.loader.whole();
  if (whole) page.choose(withinWhole({ begin: Math.max(whole.begin, whole.end - length), end: whole.end }, whole));
}
