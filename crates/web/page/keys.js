// The keys of the page, and the list of them.

import { byId, element } from "./element.js";

/** Sets up the keys: `[{keys, words, act}]`; `keys` as in KeyboardEvent.key. */
export function setUpKeys(table) {
  const acts = new Map(table.flatMap(({ keys, act }) => keys.map((key) => [key, act])));
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.target.closest("input:not([type=checkbox]), select, textarea, dialog[open]")) return;
    // Space activates the focused element.
    if (event.key === " " && event.target.closest("button, summary, input, a")) return;
    // Menus and lists handle arrows themselves.
    if (event.key.startsWith("Arrow") && event.target.closest("details.menu, #tree-panel, #compare-panel, #legend-table, #hover")) return;
    const act = acts.get(event.key);
    if (!act) return;
    event.preventDefault();
    act(event);
  });
  byId("key-list").replaceChildren(
    ...table
      .filter(({ words }) => words)
      .flatMap(({ keys, shown, words }) => [element("dt", {}, (shown ?? keys).map((key) => element("kbd", {}, key))), element("dd", {}, words)]),
  );
}
