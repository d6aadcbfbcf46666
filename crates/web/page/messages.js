// What the page says: politely to screen readers, visibly where something went wrong.

import { byId, element, setText } from "./element.js";

/** So long an announcement is kept: until the slowest reader has come to it. */
const ANNOUNCED_MS = 10_000;

let silence = null;

/** Tells screen readers without showing anything. What is told shortly after does not take its place: both are read. */
export function announce(text) {
  const told = element("p", {}, text);
  byId("announcements").append(told);
  setTimeout(() => told.remove(), ANNOUNCED_MS);
}

/** Shows a sentence for some seconds. */
export function say(text) {
  show(text, "note", 6000);
}

/** Shows what went wrong until it is dismissed. */
export function complain(problem) {
  show(problem instanceof Error ? problem.message : String(problem), "error", null);
}

function show(text, kind, milliseconds) {
  const list = byId("messages");
  for (const shown of list.children) if (shown.dataset.text === text) shown.remove();
  while (list.children.length >= 4) list.firstElementChild.remove();
  const close = element("button", { type: "button", class: "plain", "aria-label": "Dismiss", onclick: () => item.remove() }, "×");
  const item = element("div", { class: `message ${kind}` }, element("span", {}, text), close);
  item.dataset.text = text;
  list.append(item);
  if (milliseconds) setTimeout(() => item.remove(), milliseconds);
}

/** The lasting state of the server in one sentence, or null when it answers. */
export function serverState(text) {
  const banner = byId("server-state");
  banner.hidden = text === null;
  setText(banner, text ?? "");
  if (text !== silence) silence = text;
}
