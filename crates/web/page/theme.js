// The theme: the system's preference until users choose; the choice is stored.

import { byId } from "./element.js";

const KEY = "tachograph.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

function remembered() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/** "dark" or "light". */
export function theme() {
  return document.documentElement.dataset.theme || (system.matches ? "dark" : "light");
}

/** Switches to the other theme. */
export function toggleTheme() {
  const next = theme() === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // Without storage, the theme lasts until the page is closed.
  }
}

/** The value of a CSS variable, for drawing on canvas. */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Sets up the theme; `onChange` is called whenever it changes. */
export function setUpTheme(onChange) {
  const choice = remembered();
  if (choice === "dark" || choice === "light") document.documentElement.dataset.theme = choice;
  const button = byId("theme-button");
  const updateButton = () => {
    const other = theme() === "dark" ? "light" : "dark";
    button.setAttribute("aria-label", `Use the ${other} theme`);
    button.title = `Use the ${other} theme (t)`;
  };
  updateButton();
  button.addEventListener("click", toggleTheme);
  system.addEventListener("change", () => {
    updateButton();
    onChange();
  });
  new MutationObserver(() => {
    updateButton();
    onChange();
  }).observe(document.documentElement, { attributeFilter: ["data-theme"] });
}
