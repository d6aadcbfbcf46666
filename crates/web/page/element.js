// Creating elements. Strings from logs and servers become text nodes, never HTML, and bidirectional control characters are
// escaped.

/** Attributes whose values are shown or read to users. */
const SHOWN_ATTRIBUTES = new Set(["title", "aria-label"]);
const shown = (child) => (child instanceof Node ? child : visible(child));

/** Creates an element with attributes, listeners (`onclick: ...`) and children (elements, strings or null). */
export function element(name, attributes = {}, ...children) {
  const created = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) created.addEventListener(key.slice(2), value);
    else created.setAttribute(key, value === true ? "" : SHOWN_ATTRIBUTES.has(key) ? visible(value) : value);
  }
  created.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false).map(shown));
  return created;
}

/** As `element`, for SVG. */
export function drawing(name, attributes = {}, ...children) {
  const created = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null && value !== undefined) created.setAttribute(key, value);
  created.append(...children.map(shown));
  return created;
}

/** The element with this id. */
export function byId(id) {
  return document.getElementById(id);
}

/** Sets the text of an element if it differs, so that screen readers and selections are not disturbed. */
export function setText(target, text) {
  const now = visible(text);
  if (target.textContent !== now) target.textContent = now;
}

/** Sets the tooltip. */
export function setTitle(target, text) {
  target.title = visible(text);
}

/** Sets the label for screen readers. */
export function setLabel(target, text) {
  target.setAttribute("aria-label", visible(text));
}

/** A sample of a counter's line. */
export function swatch(style) {
  const line = drawing("line", {
    x1: 1, y1: 6, x2: 27, y2: 6, stroke: style.colour, "stroke-width": style.width + 1.5, "stroke-dasharray": style.dash.join(" ") || null,
  });
  return drawing("svg", { class: "swatch", width: 28, height: 12, viewBox: "0 0 28 12", "aria-hidden": "true" }, line);
}

/** Control characters except white space, Unicode's Bidi_Control, line and paragraph separators. */
// eslint-disable-next-line no-control-regex
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A string with these characters escaped as in the terminal monitor: `\u{202e}`. */
export function visible(text) {
  return String(text).replace(HIDDEN, (character) => `\\u{${character.codePointAt(0).toString(16)}}`);
}
