// The Notes menu: lists annotations, and adds and removes them.

import { annotationsOf } from "./annotations.js";
import { byId, element, setText } from "./element.js";
import { announce } from "./messages.js";
import { change, state } from "./state.js";
import { moment } from "./time.js";
import { parseTime } from "./typed-time.js";
import { withinWhole } from "./zoom.js";

/** Sets up the menu. `page` has the data and the loader. */
export function setUpAnnotations(page) {
  const menu = byId("notes-menu");
  const field = (name) => byId(`note-${name}`);
  const text = (at) => (page.data.zone ? moment(at, page.data.zone) : "");
  const draw = () => {
    byId("note-none").hidden = state.annotations.length > 0;
    byId("note-list").replaceChildren(...state.annotations.map((annotation) => row(annotation)));
  };
  const row = (annotation) => {
    const { begin, end } = annotation;
    const time = page.data.zone ? text(begin).slice(0, 19) + (end === null ? "" : ` – ${text(end).slice(11, 19)}`) : "";
    const remove = () => {
      change({ annotations: state.annotations.filter((other) => other !== annotation), viewName: null });
      announce("Removed the note.");
      draw();
    };
    return element(
      "li",
      {},
      element("button", { type: "button", class: "view-name", "data-closes": true, title: "Show it in the middle", onclick: () => showAround(page, annotation) }, element("span", { class: "soft number" }, time), ` ${annotation.text}`),
      element("button", { type: "button", class: "plain", "aria-label": `Delete ${annotation.text}`, onclick: remove }, "×"),
    );
  };
  menu.addEventListener("toggle", () => {
    if (!menu.open) return;
    draw();
    const { begin, end } = page.marked ?? { begin: state.range ? page.data.begin : page.data.end, end: null };
    field("from").value = text(begin);
    field("to").value = end === null ? "" : text(end);
    field("text").value = "";
    setText(byId("note-error"), page.data.zone ? "" : "Notes need a time axis: choose “by time” in the list of sources.");
    field("text").focus();
  });
  byId("note-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const { zone } = page.data;
    const whole = page.loader.whole() ?? page.data;
    const begin = zone ? parseTime(field("from").value, whole, zone) : null;
    const end = field("to").value.trim() ? (zone ? parseTime(field("to").value, whole, zone) : null) : undefined;
    const words = field("text").value.trim();
    field("from").setAttribute("aria-invalid", String(begin === null));
    field("to").setAttribute("aria-invalid", String(end === null || end <= begin));
    field("text").setAttribute("aria-invalid", String(!words));
    const problem = begin === null || end === null ? "Examples: 14:05, 2024-03-05 14:05:30, -1h" : end <= begin ? "The start must be before the end." : words ? "" : "The text is missing.";
    setText(byId("note-error"), problem);
    if (problem) return;
    change({ annotations: annotationsOf([...state.annotations, { begin, end: end ?? null, text: words }]), viewName: null });
    announce(`Added the note ${words}.`);
    page.marked = null;
    menu.open = false;
  });
}

/** Zooms so that an annotation is in the middle. */
function showAround(page, { begin, end }) {
  const whole = page.loader.whole();
  if (!whole) return;
  const length = Math.max((end ?? begin) - begin, (page.data.end - page.data.begin) / 10);
  page.choose(withinWhole({ begin: begin - length, end: (end ?? begin) + length }, whole));
}

/** Opens the menu for a range or, if `end` is null, a moment. */
export function annotate(page, marked) {
  page.marked = marked;
  byId("notes-menu").open = true;
}
