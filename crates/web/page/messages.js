// Messages: announcements for screen readers, visible errors.

import { byId, element, setText } from "./element.js";

/** Announcements are kept this long, for slow screen readers. */
const ANNOUNCED_MS = 10_000;

/** Announces a text to screen readers. Later announcements do not replace it. */
export function announce(text) {
  const item = element("p", {}, text);
  byId("announcements").append(item);
  setTimeout(() => item.remove(), ANNOUNCED_MS);
}

/** Shows a sentence for some seconds, with a button that calls `undo` if that is given. */
export function showNotice(text, undo = null) {
  show(text, "note", undo ? 12_000 : 6000, undo);
}

/** Shows an error until it is dismissed. */
export function showError(problem) {
  show(problem instanceof Error ? problem.message : String(problem), "error", null);
}

function show(text, kind, milliseconds, undo = null) {
  const list = byId("messages");
  for (const shown of list.children) if (shown.dataset.text === text) shown.remove();
  while (list.children.length >= 4) list.firstElementChild.remove();
  const close = element("button", { type: "button", class: "plain", "aria-label": "Dismiss", onclick: () => item.remove() }, "×");
  const back = undo && element("button", { type: "button", onclick: () => (item.remove(), undo()) }, "Undo");
  const item = element("div", { class: `message ${kind}` }, element("span", {}, text), back, close);
  item.dataset.text = text;
  list.append(item);
  if (milliseconds) setTimeout(() => item.remove(), milliseconds);
}

/** Shows the state of the server, or nothing if `text` is null. */
export function serverState(text) {
  const banner = byId("server-state");
  banner.hidden = text === null;
  setText(banner, text ?? "");
}
