// Making elements. Texts go in as text nodes only: what a log or a server says is never read as HTML.

/** An element with attributes, listeners (`onclick: ...`), and children (elements, texts, or nothing). */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** The same for SVG; values of attributes are numbers or texts. */
export function drawing(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null && value !== undefined) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** The element with this id. */
export function byId(id) {
  return document.getElementById(id);
}

/** Sets a text only when it differs, so that screen readers and selections are left alone. */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/** The pattern of a counter's line as a small picture. */
export function swatch(style) {
  const line = drawing("line", {
    x1: 1, y1: 6, x2: 27, y2: 6, stroke: style.colour, "stroke-width": style.width + 1.5, "stroke-dasharray": style.dash.join(" ") || null,
  });
  return drawing("svg", { class: "swatch", width: 28, height: 12, viewBox: "0 0 28 12", "aria-hidden": "true" }, line);
}
