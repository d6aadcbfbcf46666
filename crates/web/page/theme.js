// Dark and light: what the system prefers until somebody chooses; the choice is remembered.

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

/** Turns to the other theme. */
export function toggleTheme() {
  const next = theme() === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // A browser that remembers nothing still has the theme until it is closed.
  }
}

/** The value of a CSS variable, for what is drawn on canvas. */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Sets the theme up; `onChange` is called whenever it changes. */
export function setUpTheme(onChange) {
  const choice = remembered();
  if (choice === "dark" || choice === "light") document.documentElement.dataset.theme = choice;
  const button = byId("theme-button");
  const tell = () => {
    const other = theme() === "dark" ? "light" : "dark";
    button.setAttribute("aria-label", `Use the ${other} theme`);
    button.title = `Use the ${other} theme (t)`;
  };
  tell();
  button.addEventListener("click", toggleTheme);
  system.addEventListener("change", () => {
    tell();
    onChange();
  });
  new MutationObserver(() => {
    tell();
    onChange();
  }).observe(document.documentElement, { attributeFilter: ["data-theme"] });
}
