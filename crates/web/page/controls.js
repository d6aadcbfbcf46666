// The buttons and fields of the toolbar.

import { logout, serverIsAway } from "./api.js";
import { areFitting, changePanel, freeze, showAll, showMaximum, step, toggleFit, zoomBy } from "./actions.js";
import { byId, element, setText, setTitle } from "./element.js";
import { duration, FIGURES, LEGEND_FIGURES } from "./figures.js";
import { copyLink, savePicture, saveSelection, saveViewPicture } from "./export.js";
import { sorted } from "./legend.js";
import { AXES, KINDS } from "./panels.js";
import { change, changeEntries, state } from "./state.js";
import { sinceStart } from "./ticks.js";
import { rangeText, shortZone } from "./time.js";
import { canGoBack, canGoForward, zoomBack, zoomForward } from "./zoom.js";

/** Sets the controls up. */
export function setUpControls(page) {
  const click = (id, act) => byId(id).addEventListener("click", act);
  byId("kind-list").replaceChildren(...Object.entries(KINDS).map(([kind, words]) => element("option", { value: kind }, words)));
  byId("panel-axis").replaceChildren(...Object.entries(AXES).map(([axis, words]) => element("option", { value: axis }, words)));
  byId("kind-list").addEventListener("change", (event) => changePanel(page, { kind: event.target.value }));
  setUpPanelMenu(page);
  click("panel-back", showAll);
  click("value-when", () => showMaximum(page));
  click("legend-all", () => changeEntries(page.data.lines.map(({ key }) => key), { isHidden: false }));
  byId("legend-filter").addEventListener("input", (event) => change({ filter: event.target.value }));
  byId("legend-top").addEventListener("change", (event) => change({ top: Number(event.target.value) > 0 ? Math.round(Number(event.target.value)) : null }));
  click("log-out", async () => {
    // Logging out ends the streams, which the browser would report as an error.
    page.feed.stop();
    await logout();
    location.reload();
  });
  for (const radio of document.querySelectorAll('input[name="align"]')) radio.addEventListener("change", () => change({ align: radio.value, isAlignChosen: true, range: null }));
  click("freeze-button", () => freeze(page));
  click("step-button", () => step(page));
  click("zoom-in", () => zoomBy(page, 0.5));
  click("zoom-out", () => zoomBy(page, 2));
  click("zoom-whole", () => page.choose(null));
  click("zoom-back", zoomBack);
  click("zoom-forth", zoomForward);
  for (const name of ["zone", "numbers", "figure", "group"]) byId(`${name}-list`).addEventListener("change", (event) => change({ [name]: event.target.value }));
  setUpColumns();
  number("every", 1, 1000);
  number("points", 2, 1000);
  click("fit-all", () => toggleFit(page));
  for (const format of ["csv", "tsv", "blg"]) click(`save-${format}`, () => saveSelection(page.data, format, (source) => ({ ...page.loader.boundsOf(source), ...page.loader.parameters() })));
  for (const format of ["png", "svg"]) {
    click(`save-${format}`, () => savePictures(page, format));
    click(`save-view-${format}`, () => saveViewPicture(state.panels.map((panel) => pictured(page, panel)).filter(Boolean), state.savedName || state.title || "view", format));
  }
  click("copy-link", () => {
    page.address.write(true);
    copyLink();
  });
  click("help-button", () => byId("help-dialog").showModal());
  click("help-close", () => byId("help-dialog").close());
}

/** The boxes that choose the legend's columns. */
function setUpColumns() {
  const list = byId("legend-columns");
  const choose = () => {
    const chosen = [...list.querySelectorAll("input:checked")].map(({ value }) => value);
    change({ columns: LEGEND_FIGURES.filter((name) => chosen.includes(name)) });
  };
  const words = { p50: "P50", p90: "P90", p95: "P95", p99: "P99", average: "average", last: "last", minimum: "min", maximum: "max" };
  list.append(...LEGEND_FIGURES.map((name) => element("label", { class: "hint", title: FIGURES[name] }, element("input", { type: "checkbox", value: name, onchange: choose }), ` ${words[name]}`)));
}

/** Saves the picture of the panel that is shown alone, or of every chart. */
async function savePictures(page, format) {
  const alone = page.panel();
  for (const part of (alone ? [alone] : state.panels).map((panel) => pictured(page, panel)).filter(Boolean)) await savePicture(part, format);
}

/** What a picture of a panel shows; null if there is nothing to draw. Tables are not drawn. */
function pictured(page, panel) {
  const data = page.panelData.get(panel.id);
  return data.lines.length && panel.kind !== "table" ? { data, panel, lines: sorted(data.lines) } : null;
}

/** The fields of the Panel menu. Empty fields mean automatic. */
function setUpPanelMenu(page) {
  const set = (id, parse) => byId(id).addEventListener("change", (event) => {
    const parts = parse(event.target.value.trim(), event.target);
    if (parts) changePanel(page, parts);
  });
  const numberOf = (text) => (text === "" ? null : Number(text));
  set("panel-title", (title) => ({ title: title || null }));
  set("panel-axis", (axis) => ({ axis }));
  for (const end of ["min", "max"]) set(`panel-${end}`, (text) => (Number.isNaN(numberOf(text)) ? null : { [end]: numberOf(text) }));
  set("panel-limits", (text, field) => {
    const limits = text.split(/[\s;]+/).filter(Boolean).map(Number);
    field.setAttribute("aria-invalid", String(limits.some(Number.isNaN)));
    return limits.some(Number.isNaN) ? null : { limits };
  });
  set("panel-bands", (text, field) => {
    const bands = parseBands(text);
    field.setAttribute("aria-invalid", String(bands === null));
    return bands && { bands };
  });
}

/** The text of shaded ranges: `80..100 -5..0`. */
const bandsText = (bands) => bands.map(([low, high]) => `${low}..${high}`).join(" ");

/** Parses shaded ranges; null if one of them is invalid. */
function parseBands(text) {
  const bands = text.split(/[\s;]+/).filter(Boolean).map((part) => part.split("..").map(Number));
  return bands.every((ends) => ends.length === 2 && ends.every(Number.isFinite) && ends[0] < ends[1]) ? bands : null;
}

/** Shows the settings of the panel that is shown alone. */
function showPanelMenu(panel) {
  const put = (id, value) => {
    if (document.activeElement !== byId(id)) byId(id).value = value ?? "";
  };
  put("panel-title", panel.title);
  byId("panel-axis").value = panel.axis;
  put("panel-min", panel.min);
  put("panel-max", panel.max);
  put("panel-limits", panel.limits.join(" "));
  put("panel-bands", bandsText(panel.bands));
}

/** A field for a whole number. Values out of range are marked and ignored. */
function number(name, min, max) {
  const field = byId(`${name}-field`);
  field.addEventListener("change", () => {
    const value = Number(field.value);
    if (Number.isInteger(value) && value >= min && value <= max) change({ [name]: value, frozen: null, range: null });
    else field.reportValidity();
  });
}

const WORDS = { live: "Live", connecting: "Connecting…", away: "No connection, trying again…", refused: "Not collected" };

/** The text of the Time button: the visible range with its date and zone, or the length of running live values. */
function timeText(page) {
  const { begin, end, zone, blocks } = page.data;
  if (!blocks.some((block) => block.end > block.begin)) return "Time";
  if (page.loader.isRunning()) return `Last ${duration(end - begin)}`;
  if (!zone) return `${sinceStart(begin)} – ${sinceStart(end)} from the start`;
  return rangeText(begin, end, zone);
}

/** Shows the state in the controls. */
export function showControls(page, liveState) {
  const panel = page.panel();
  const isGrid = !panel && state.panels.length > 0;
  for (const id of ["kind-list", "panel-menu"]) byId(id).hidden = !panel;
  // A heat map has no scales of counters.
  byId("fit-all").hidden = !panel || panel.kind === "heatmap";
  byId("save-view").hidden = !isGrid;
  setText(byId("save-chart-title"), isGrid ? "Pictures of the panels, a file for each" : "Picture of the chart");
  byId("panel-back").hidden = !panel || state.panels.length < 2;
  if (panel) {
    // Only panels with a counter set have a table; others have numbers in its place.
    byId("kind-list").querySelector("[value=table]").hidden = !panel.table;
    byId("kind-list").value = panel.kind === "table" && !panel.table ? "report" : panel.kind;
    showPanelMenu(panel);
  }
  setText(byId("view-title"), `${state.savedName || state.title || (isGrid ? "own panels" : "own chart")}${state.isChanged ? " (changed)" : ""}`);
  setText(byId("time-title"), timeText(page));
  const { zone, begin, lines } = page.data;
  setText(byId("time-zone"), zone && lines.length ? shortZone(zone, begin) : "");
  setTitle(byId("time-zone"), zone ? zone.nameAt(begin) : "");
  byId("log-out").hidden = !page.sources.needsToken;
  for (const radio of document.querySelectorAll('input[name="align"]')) radio.checked = radio.value === state.align;
  for (const name of ["zone", "numbers", "figure", "group"]) byId(`${name}-list`).value = state[name];
  for (const box of byId("legend-columns").querySelectorAll("input")) box.checked = state.columns.includes(box.value);
  for (const name of ["every", "points"]) {
    const field = byId(`${name}-field`);
    if (document.activeElement !== field) field.value = state[name];
  }
  if (document.activeElement !== byId("legend-filter")) byId("legend-filter").value = state.filter;
  if (document.activeElement !== byId("legend-top")) byId("legend-top").value = state.top ?? "";
  const hasLive = page.sources.shown().some((source) => source.kind === "live");
  const isRunning = page.loader.isRunning();
  byId("live-controls").hidden = !hasLive;
  byId("align-row").hidden = state.sources.length < 2;
  const button = byId("freeze-button");
  setText(button, isRunning ? "Freeze" : "Continue");
  button.classList.toggle("active", hasLive && !isRunning);
  button.title = isRunning ? "Freeze (f)" : "Resume live data (f)";
  byId("step-button").disabled = isRunning;
  byId("zoom-back").disabled = !canGoBack();
  byId("zoom-forth").disabled = !canGoForward();
  byId("zoom-whole").disabled = state.range === null;
  byId("zoom-out").disabled = state.range === null;
  byId("fit-all").setAttribute("aria-pressed", String(areFitting(page)));
  const chip = byId("live-state");
  chip.hidden = !hasLive;
  // Tables have no stream.
  const now = liveState === "away" || serverIsAway() ? "away" : !isRunning ? "frozen" : state.paths.length ? liveState : "live";
  setText(chip, now === "frozen" ? "Frozen" : WORDS[now]);
  chip.dataset.state = now;
}
