// The View menu: views of the server, views that are saved in this browser, and view files.

import { byId, element } from "./element.js";
import { onToggle } from "./menus.js";
import { showError, showNotice } from "./messages.js";
import { state } from "./state.js";

const KEY = "tachograph.views";

function all() {
  try {
    const stored = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return Object.entries(stored).filter(([, fragment]) => typeof fragment === "string");
  } catch {
    return [];
  }
}

function store(views) {
  try {
    localStorage.setItem(KEY, JSON.stringify(Object.fromEntries(views)));
    return true;
  } catch {
    showError("This browser does not store data for this page, so views cannot be saved. Copy the link instead.");
    return false;
  }
}

/**
 * Sets up the menu. `fragment()` returns the present view as a fragment, `open(fragment)` shows a view, `onSaved(name)` is called when a
 * view was saved; `views` are those of the server.
 */
export function setUpViews({ fragment, open, views, onSaved }) {
  const list = byId("view-list");
  const draw = () => {
    const saved = all();
    byId("view-none").hidden = saved.length > 0;
    list.replaceChildren(
      ...saved.map(([name, text]) =>
        element(
          "li",
          {},
          element("button", { type: "button", class: "view-name", "data-closes": true, onclick: async () => { await open(text); onSaved(name); } }, name),
          element("button", { type: "button", class: "plain", "aria-label": `Delete ${name}`, onclick: () => { if (store(all().filter(([other]) => other !== name))) draw(); } }, "×"),
        ),
      ),
    );
    byId("server-views").replaceChildren(
      ...views.all.map(({ name, title }) => element("li", {}, element("button", { type: "button", class: "view-name", "data-view": name, "data-closes": true, "aria-current": name === state.viewName && !state.savedName ? "true" : null, onclick: () => views.open(name) }, title))),
    );
  };
  onToggle(byId("view-menu"), draw);
  byId("view-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const name = byId("view-field").value.trim();
    if (!name) {
      showNotice("Type a name for the view first.");
      byId("view-field").focus();
      return;
    }
    const isKnown = all().some(([other]) => other === name);
    if (!store([...all().filter(([other]) => other !== name), [name, fragment()]])) return;
    byId("view-field").value = "";
    onSaved(name);
    showNotice(`${isKnown ? "Replaced" : "Saved"} the view “${name}”.`);
    draw();
  });
  byId("view-download").addEventListener("click", () => views.download());
  byId("view-open").addEventListener("click", () => byId("view-file").click());
  byId("view-file").addEventListener("change", async (event) => {
    for (const file of event.target.files) views.openText(await file.text(), file.name);
    event.target.value = "";
  });
  draw();
}
