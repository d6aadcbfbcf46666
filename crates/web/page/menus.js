// Menus (`<details class="menu">`): one is open at a time; Escape, a click elsewhere and choosing an item close it.

const openMenus = () => document.querySelectorAll("details.menu[open]");

/** Aligns a menu with the right or left side of its button, and puts it above or below, so that it is inside the window. */
function keepInside(body) {
  body.classList.remove("from-left", "above");
  const { left, bottom, height } = body.getBoundingClientRect();
  body.classList.toggle("from-left", left < 0);
  body.classList.toggle("above", bottom > innerHeight && body.parentElement.getBoundingClientRect().top > height);
}

/**
 * Calls `act(isOpen)` when a menu was opened or closed. The browser sends its event `toggle` later, when users can already have typed
 * into the fields of the menu.
 */
export function onToggle(menu, act) {
  let isOpen = menu.open;
  new MutationObserver(() => {
    if (menu.open === isOpen) return;
    isOpen = menu.open;
    act(isOpen);
  }).observe(menu, { attributeFilter: ["open"] });
}

/** Sets up all menus, also those that are created later. */
export function setUpMenus() {
  // These events do not bubble, so they are captured.
  document.addEventListener(
    "toggle",
    (event) => {
      if (!event.target.matches?.("details.menu[open]")) return;
      for (const other of openMenus()) if (other !== event.target) other.open = false;
      keepInside(event.target.querySelector(".menu-body"));
    },
    true,
  );
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const menu = event.target.closest?.("details.menu[open]") ?? (event.target === document.body ? openMenus()[0] : null);
    if (!menu) return;
    event.preventDefault();
    event.stopPropagation();
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-closes]")) return;
    // All menus are closed, because the item can have been removed from its menu.
    for (const menu of openMenus()) menu.open = false;
  });
  document.addEventListener("pointerdown", (event) => {
    // The time of a note is chosen on a chart.
    const isMark = (menu) => menu.id === "notes-menu" && event.target.closest(".u-over");
    for (const menu of openMenus()) if (!menu.contains(event.target) && !isMark(menu)) menu.open = false;
  });
}
