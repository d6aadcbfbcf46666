// Views that are kept in this browser under a name.

import { byId, element } from "./element.js";
import { complain, say } from "./messages.js";

const KEY = "tachograph.views";

function all() {
  try {
    const told = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return Object.entries(told).filter(([, fragment]) => typeof fragment === "string");
  } catch {
    return [];
  }
}

function keep(views) {
  try {
    localStorage.setItem(KEY, JSON.stringify(Object.fromEntries(views)));
    return true;
  } catch {
    complain("This browser keeps no data of the page, so views cannot be saved. A link can.");
    return false;
  }
}

/** Sets up the list of views. `fragment()` is that of the present view; `open(fragment)` shows one. */
export function setUpViews({ fragment, open }) {
  const list = byId("view-list");
  const draw = () => {
    const views = all();
    byId("view-none").hidden = views.length > 0;
    list.replaceChildren(
      ...views.map(([name, told]) =>
        element(
          "li",
          {},
          element("button", { type: "button", class: "view-name", onclick: () => open(told) }, name),
          element("button", { type: "button", class: "plain", "aria-label": `Forget ${name}`, onclick: () => { if (keep(all().filter(([other]) => other !== name))) draw(); } }, "×"),
        ),
      ),
    );
  };
  byId("view-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const name = byId("view-field").value.trim();
    if (!name) return;
    if (!keep([...all().filter(([other]) => other !== name), [name, fragment()]])) return;
    byId("view-field").value = "";
    say(`Saved the view “${name}”.`);
    draw();
  });
  draw();
}
