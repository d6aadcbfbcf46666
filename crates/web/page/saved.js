// Views that are saved in this browser.

import { byId, element } from "./element.js";
import { showError, showNotice } from "./messages.js";

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
    showError("This browser does not store data of the page, so views cannot be saved. Copy the link instead.");
    return false;
  }
}

/** Sets up the list of views. `fragment()` is that of the current view; `open(fragment)` shows one. */
export function setUpViews({ fragment, open }) {
  const list = byId("view-list");
  const draw = () => {
    const views = all();
    byId("view-none").hidden = views.length > 0;
    list.replaceChildren(
      ...views.map(([name, fragment]) =>
        element(
          "li",
          {},
          element("button", { type: "button", class: "view-name", onclick: () => open(fragment) }, name),
          element("button", { type: "button", class: "plain", "aria-label": `Delete ${name}`, onclick: () => { if (store(all().filter(([other]) => other !== name))) draw(); } }, "×"),
        ),
      ),
    );
  };
  byId("view-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const name = byId("view-field").value.trim();
    if (!name) return;
    if (!store([...all().filter(([other]) => other !== name), [name, fragment()]])) return;
    byId("view-field").value = "";
    showNotice(`Saved the view “${name}”.`);
    draw();
  });
  draw();
}
