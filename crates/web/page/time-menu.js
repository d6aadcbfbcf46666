// The Time menu: from and to as text, and presets.

import { byId, element, setText } from "./element.js";
import { sinceStart } from "./ticks.js";
import { change, state } from "./state.js";
import { moment } from "./time.js";
import { parseTime } from "./typed-time.js";
import { withinWhole, zoomTo } from "./zoom.js";

/** Presets: label and length in seconds. */
const PRESETS = [["1 min", 60], ["5 min", 300], ["15 min", 900], ["1 h", 3600], ["6 h", 21_600], ["24 h", 86_400]];
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
    const [from, to] = ["from", "to"].map((name) => {
      const text = byId(`${name}-field`).value;
      const at = text.trim() ? parseTime(text, whole(), page.data.zone) : name === "from" ? whole().begin : whole().end;
      byId(`${name}-field`).setAttribute("aria-invalid", String(at === null));
      return at;
    });
    const problem = from === null || to === null ? "Examples: 14:05, 14:05:30, 2024-03-05 14:05, -1h, end" : to <= from ? "The start must be before the end." : "";
    setText(byId("time-error"), problem);
    if (problem) return;
    show(page, { begin: from, end: to });
    byId("time-menu").open = false;
  });
  byId("time-presets").replaceChildren(
    ...PRESETS.map(([label, length]) => element("button", { type: "button", "data-closes": true, onclick: () => last(page, length) }, label)),
    element("button", { type: "button", "data-closes": true, onclick: () => page.choose(null) }, "All"),
  );
  byId("time-menu").addEventListener("toggle", () => {
    if (!byId("time-menu").open) return;
    const { data } = page;
    const text = (at) => (data.zone ? moment(at, data.zone) : sinceStart(at, 0.1));
    byId("from-field").value = text(data.begin);
    byId("to-field").value = text(data.end);
    setText(byId("time-error"), "");
    for (const name of ["from", "to"]) byId(`${name}-field`).setAttribute("aria-invalid", "false");
    // The server has no earlier live values.
    const live = liveSource(page);
    const kept = live?.points ? live.points * (live.interval ?? 1) : Infinity;
    PRESETS.forEach(([, length], index) => (byId("time-presets").children[index].disabled = length > kept));
    byId("from-field").select();
  });
}

const liveSource = (page) => page.sources.shown().find((source) => source.kind === "live");

/** Shows a range; live data is frozen. A range outside the data is shown without values. */
function show(page, range) {
  const whole = page.loader.whole() ?? page.data;
  if (page.loader.isRunning()) {
    // Before the first sample.
    if (!page.feed.block) return;
    page.loader.freeze();
    // The server can have earlier samples than the chart.
    if (range.begin < state.frozen.begin) change({ frozen: { begin: range.begin, end: Math.max(state.frozen.end, range.end) } });
    zoomTo(range);
  } else if (range.end <= whole.begin || range.begin >= whole.end) zoomTo(range);
  else page.choose(withinWhole({ begin: Math.max(range.begin, whole.begin), end: Math.min(range.end, whole.end) }, whole));
}

/** Shows the last seconds: of live data, which continue; of logs before their end. */
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
