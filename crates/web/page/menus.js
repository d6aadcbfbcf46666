// Menus: one is open at a time; Escape and a click elsewhere close it.

/** Sets up every `<details class="menu">`. */
export function setUpMenus() {
  const menus = [...document.querySelectorAll("details.menu")];
  for (const menu of menus) {
    menu.addEventListener("toggle", () => {
      if (menu.open) for (const other of menus) if (other !== menu) other.open = false;
    });
    menu.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !menu.open) return;
      event.stopPropagation();
      menu.open = false;
      menu.querySelector("summary").focus();
    });
    menu.addEventListener("click", (event) => {
      if (event.target.closest("[data-closes]")) menu.open = false;
    });
  }
  document.addEventListener("pointerdown", (event) => {
    for (const menu of menus) if (menu.open && !menu.contains(event.target)) menu.open = false;
  });
}
