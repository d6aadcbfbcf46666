// The buttons and fields of the toolbar.

import { areFitting, freeze, step, toggleFit, zoomBy } from "./actions.js";
import { byId, setText } from "./element.js";
import { copyLink, savePicture, saveSelection } from "./export.js";
import { sorted } from "./legend.js";
import { serverIsAway } from "./api.js";
import { change, state } from "./state.js";
import { canGoBack, canGoForward, zoomBack, zoomForward } from "./zoom.js";

/** Sets the controls up. */
export function setUpControls(page) {
  const click = (id, act) => byId(id).addEventListener("click", act);
  for (const radio of document.querySelectorAll('input[name="view"]')) radio.addEventListener("change", () => change({ view: radio.value }));
  for (const radio of document.querySelectorAll('input[name="align"]')) radio.addEventListener("change", () => change({ align: radio.value, range: null }));
  click("freeze-button", () => freeze(page));
  click("step-button", () => step(page));
  click("zoom-in", () => zoomBy(page, 0.5));
  click("zoom-out", () => zoomBy(page, 2));
  click("zoom-whole", () => page.choose(null));
  click("zoom-back", zoomBack);
  click("zoom-forth", zoomForward);
  for (const name of ["zone", "axis", "figure"]) byId(`${name}-list`).addEventListener("change", (event) => change({ [name]: event.target.value }));
  number("every", 1, 1000);
  number("points", 2, 1000);
  click("fit-all", () => toggleFit(page));
  for (const format of ["csv", "tsv", "blg"]) click(`save-${format}`, () => saveSelection(page.data, format, (source) => page.loader.boundsOf(source)));
  for (const format of ["png", "svg"]) click(`save-${format}`, () => savePicture(page.data, sorted(page.data.lines), format));
  click("copy-link", () => {
    page.writeAddress(true);
    copyLink();
  });
  click("help-button", () => byId("help-dialog").showModal());
  click("help-close", () => byId("help-dialog").close());
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

/** Shows the state in the controls. */
export function showControls(page, liveState) {
  for (const radio of document.querySelectorAll('input[name="view"]')) radio.checked = radio.value === state.view;
  for (const radio of document.querySelectorAll('input[name="align"]')) radio.checked = radio.value === state.align;
  for (const name of ["zone", "axis", "figure"]) byId(`${name}-list`).value = state[name];
  for (const name of ["every", "points"]) {
    const field = byId(`${name}-field`);
    if (document.activeElement !== field) field.value = state[name];
  }
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
  const now = liveState === "away" || serverIsAway() ? "away" : isRunning ? liveState : "frozen";
  setText(chip, now === "frozen" ? "Frozen" : WORDS[now]);
  chip.dataset.state = now;
}
