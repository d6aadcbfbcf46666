// Making elements. Texts go in as text nodes only: what a log or a server says is never read as HTML, and what would turn text
// around is written out.

import { visible } from "./visible.js";

/** Attributes that people read. */
const READ = new Set(["title", "aria-label"]);
const shown = (child) => (child instanceof Node ? child : visible(child));

/** An element with attributes, listeners (`onclick: ...`), and children (elements, texts, or nothing). */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : READ.has(key) ? visible(value) : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false).map(shown));
  return made;
}

/** The same for SVG; values of attributes are numbers or texts. */
export function drawing(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null && value !== undefined) made.setAttribute(key, value);
  made.append(...children.map(shown));
  return made;
}

/** The element with this id. */
export function byId(id) {
  return document.getElementById(id);
}

/** Sets a text only when it differs, so that screen readers and selections are left alone. */
export function setText(target, text) {
  const now = visible(text);
  if (target.textContent !== now) target.textContent = now;
}

/** Sets what is shown beside the pointer. */
export function setTitle(target, text) {
  target.title = visible(text);
}

/** Sets what screen readers call an element. */
export function setLabel(target, text) {
  target.setAttribute("aria-label", visible(text));
}

/** The pattern of a counter's line as a small picture. */
export function swatch(style) {
  const line = drawing("line", {
    x1: 1, y1: 6, x2: 27, y2: 6, stroke: style.colour, "stroke-width": style.width + 1.5, "stroke-dasharray": style.dash.join(" ") || null,
  });
  return drawing("svg", { class: "swatch", width: 28, height: 12, viewBox: "0 0 28 12", "aria-hidden": "true" }, line);
}
