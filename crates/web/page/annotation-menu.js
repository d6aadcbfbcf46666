// The Notes menu: lists annotations, and adds and removes them.

import { annotationsOf, annotationsOn, originsOf } from "./annotations.js";
import { idOf } from "./earlier.js";
import { byId, element, setText } from "./element.js";
import { onToggle } from "./menus.js";
import { announce, showNotice } from "./messages.js";
import { change, state } from "./state.js";
import { moment, zoneOf } from "./time.js";
import { parseTime } from "./typed-time.js";
import { withinWhole } from "./zoom.js";

/** Sets up the menu. `page` has the data and the loader. */
export function setUpAnnotations(page) {
  const menu = byId("notes-menu");
  const logs = byId("note-log");
  const field = (name) => byId(`note-${name}`);
  const draw = () => {
    byId("note-none").hidden = state.annotations.length > 0;
    byId("note-list").replaceChildren(...state.annotations.map(row));
  };
  const row = (annotation, index) => {
    const { begin, end } = annotation;
    const { origins, zone } = page.data;
    const of = origins ? originsOf(annotation, origins) : [];
    const clock = zone ?? (of[0] ?? origins?.[0])?.zone ?? zoneOf(state.zone, null);
    const time = moment(begin, clock).slice(0, 19) + (end === null ? "" : ` – ${moment(end, clock).slice(11, 19)}`);
    const remove = () => {
      change({ annotations: state.annotations.filter((other) => other !== annotation), viewName: null });
      announce("Removed the note.");
      draw();
    };
    return element(
      "li",
      {},
      element("button", { type: "button", class: "view-name", "data-closes": true, title: "Show it in the middle", onclick: () => showAround(page, annotation) }, `${index + 1}. `, element("span", { class: "soft number" }, time), ` ${annotation.text}`, of.map(({ source }) => ` · ${source.name}`)),
      element("button", { type: "button", class: "plain", "aria-label": `Delete ${annotation.text}`, onclick: remove }, "×"),
    );
  };
  /** The chosen log, whose times the fields contain; null unless logs are aligned at their starts. */
  const origin = () => page.data.origins?.find(({ source }) => source.id === logs.value) ?? null;
  /** Fills the time fields with the marked moment or range. Without one, with the start of a zoomed range, or the end of the whole one. */
  const fill = () => {
    const { data } = page;
    const { begin, end } = page.marked ?? { begin: state.range ? data.begin : data.end, end: null };
    const of = origin();
    const text = (at) => (of ? moment(at + of.shift, of.zone) : data.zone ? moment(at, data.zone) : "");
    field("from").value = text(begin);
    field("to").value = end === null ? "" : text(end);
    sketch();
  };
  /** The typed times and text; an end that is not typed is undefined, and a time that is not one is null. */
  const typed = () => {
    const of = origin();
    const zone = of?.zone ?? page.data.zone;
    const whole = of ?? page.loader.whole() ?? page.data;
    const timeOf = (name, from = whole.begin) => (zone ? parseTime(field(name).value, whole, zone, from) : null);
    const begin = timeOf("from");
    return { begin, end: field("to").value.trim() ? timeOf("to", begin ?? undefined) : undefined, words: field("text").value.trim() };
  };
  /** Draws the note of the form in the charts. */
  const sketch = () => {
    const { begin, end, words } = typed();
    change({ draft: annotationsOf([{ begin, end: end ?? null, text: words || "new note" }]).map((one) => ({ ...one, number: "+" })) });
  };
  const choose = () => {
    marked = page.marked;
    const { origins } = page.data;
    const near = marked?.source ?? page.line()?.source;
    if (origins?.some(({ source }) => near && source.id === idOf(near))) logs.value = idOf(near);
    fill();
    field("text").focus();
  };
  /** The moment or range that the form has. */
  let marked = null;
  logs.addEventListener("change", fill);
  byId("note-form").addEventListener("input", sketch);
  // Clicks on charts choose another moment; the handler of the chart has marked it.
  document.addEventListener("pointerup", () => menu.open && page.marked !== marked && choose());
  onToggle(menu, (isOpen) => {
    if (!isOpen) return change({ draft: null });
    draw();
    const { origins } = page.data;
    for (const part of [logs, logs.previousElementSibling]) part.hidden = !origins;
    logs.replaceChildren(...(origins ?? []).map(({ source }) => element("option", { value: source.id }, source.name)));
    field("text").value = "";
    setText(byId("note-error"), "");
    return choose();
  });
  byId("note-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const { begin, end, words } = typed();
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
function showAround(page, annotation) {
  const whole = page.loader.whole();
  if (!whole) return;
  const [placed] = annotationsOn(page.data, [annotation]);
  if (!placed) {
    showNotice("None of the shown logs has the time of this note.");
    return;
  }
  const { begin, end } = placed;
  const length = Math.max((end ?? begin) - begin, (page.data.end - page.data.begin) / 10);
  page.choose(withinWhole({ begin: begin - length, end: (end ?? begin) + length }, whole));
}

/** Opens the menu for a range or, if `end` is null, a moment. */
export function annotate(page, marked) {
  page.marked = marked;
  byId("notes-menu").open = true;
}
