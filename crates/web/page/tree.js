// The tree of sets, counters and instances, with the keys of an ARIA tree.

import { change, onChange, state } from "./state.js";
import * as api from "./api.js";
import { instancesOf, onMachine, pathOf, setsOf, widestPath } from "./catalogue.js";
import { byId, element, setText } from "./element.js";
import { count } from "./figures.js";
import { announce, showError, showNotice } from "./messages.js";

const MAX_FOUND = 150;
/** Enter adds the first of this many results that has instances. */
const MAX_TRIED = 10;

/** Whether a counter has instances, or needs none. */
const hasInstances = async ({ instances }) => !instances || (await instances().catch(() => [null])).length > 0;

/** The panel with the tree. `sources()` returns the ready sources. */
export class Tree {
  /** `add(paths)` adds paths and returns whether anything was added. */
  constructor({ sources, add, views, addView }) {
    this.sources = sources;
    /** The views of the server, which can be added as panels. */
    this.views = views;
    this.addPaths = add;
    this.addView = addView;
    this.panel = byId("tree-panel");
    this.tree = byId("tree");
    this.search = byId("tree-search");
    this.list = byId("tree-source");
    this.help = byId("tree-help");
    this.nodes = new WeakMap();
    byId("tree-close").addEventListener("click", () => this.close());
    byId("add-button").addEventListener("click", () => (this.panel.hidden ? this.open() : this.close()));
    this.list.addEventListener("change", () => {
      this.chosen = this.list.value;
      this.load();
    });
    this.drawn = Promise.resolve();
    this.search.addEventListener("input", () => this.draw());
    this.search.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowDown" && event.key !== "Enter") return;
      event.preventDefault();
      // Enter adds the first result of what was typed, even if it has not arrived yet.
      const isEnter = event.key === "Enter" && Boolean(this.search.value.trim());
      this.drawn.then(async () => {
        const found = isEnter ? this.visible().map((item) => this.nodes.get(item)).filter(({ path }) => path) : [];
        if (!found.length) return this.focus(this.visible()[0]);
        for (const node of found.slice(0, MAX_TRIED)) if (await hasInstances(node)) return this.add(node);
        return this.add(found[0]);
      });
    });
    this.tree.addEventListener("keydown", (event) => this.key(event));
    this.tree.addEventListener("click", (event) => this.click(event));
    this.tree.addEventListener("focusin", (event) => this.showHelp(event.target.closest("[role=treeitem]")));
    this.tree.addEventListener("pointerover", (event) => this.showHelp(event.target.closest("[role=treeitem]")));
    byId("path-form").addEventListener("submit", (event) => this.addTyped(event));
    this.panel.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
    });
    onChange((names) => names.has("paths") && this.mark());
  }

  open() {
    this.onOpen?.();
    this.panel.hidden = false;
    byId("add-button").setAttribute("aria-expanded", "true");
    this.known = "";
    this.chosen = null;
    this.sets = null;
    this.search.focus();
    this.search.select();
    this.sourcesChanged();
  }

  /** Updates the list of sources if the tree is open. The default is the first source on the chart. */
  sourcesChanged() {
    if (this.panel.hidden) return;
    const ready = this.sources();
    const known = JSON.stringify([ready.map((source) => [source.id, source.name]), state.sources]);
    if (known === this.known) return;
    this.known = known;
    this.list.replaceChildren(...ready.map((source) => element("option", { value: source.id }, source.name)));
    const chosen = ready.find((source) => source.id === this.chosen);
    const shown = ready.find((source) => state.sources.includes(source.id));
    // If the sources on the chart are still being read, no other source is chosen.
    const source = chosen ?? shown ?? (state.sources.length ? null : ready[0]) ?? null;
    this.list.value = source?.id ?? "";
    byId("tree-source-row").hidden = ready.length < 2;
    if (source === null || source.id !== this.source?.id || !this.sets) this.load();
  }

  close() {
    const hadFocus = this.panel.contains(document.activeElement);
    this.panel.hidden = true;
    byId("add-button").setAttribute("aria-expanded", "false");
    if (hadFocus) byId("add-button").focus();
  }

  async load() {
    this.source = this.sources().find((source) => source.id === this.list.value);
    if (!this.source) {
      this.sets = null;
      this.tree.replaceChildren();
      setText(byId("tree-state"), state.sources.length ? "The log is being read…" : "No source is open.");
      return;
    }
    setText(byId("tree-state"), "Reading the counters…");
    const { source } = this;
    try {
      const sets = await setsOf(source, source.kind === "live");
      if (this.source !== source) return;
      this.sets = sets;
      this.draw();
    } catch (problem) {
      if (this.source !== source) return;
      this.sets = [];
      this.tree.replaceChildren();
      setText(byId("tree-state"), problem.message);
    }
  }

  /** Draws all sets, or the results of the search. */
  draw() {
    const text = this.search.value.trim();
    this.calls = (this.calls ?? 0) + 1;
    this.drawn = text && this.source ? this.drawFound(this.source, text) : Promise.resolve(this.drawAll());
  }

  drawAll() {
    const machines = this.source?.kind === "live" ? this.source.machines : [];
    const sets = this.sets ?? [];
    this.tree.replaceChildren(...(machines.length > 1 ? this.machineItems(machines, sets) : sets.map((set) => this.setItem(set))));
    setText(byId("tree-state"), machines.length > 1 ? count(machines.length, "machine") : count(sets.length, "counter set"));
    this.finish();
  }

  /** An item for all machines, and one for each machine. The sets of a machine are loaded when its item is opened. */
  machineItems(machines, sets) {
    const all = { title: "All machines", help: "Counters of all machines.", children: () => sets.map((set) => this.setItem(set, null, { machine: null, level: 2 })) };
    const one = (machine) => ({
      title: machine,
      help: `Counters of the machine ${machine}.`,
      children: async () => (await setsOf(this.source, true, machine)).map((set) => this.setItem(set, null, { machine, level: 2 })),
    });
    return [this.item(all, "All machines", 1), ...machines.map((machine) => this.item(one(machine), machine, 1))];
  }

  /** Draws what the server finds by names, synonyms, metric names of other tools, and help. */
  async drawFound(source, text) {
    const call = this.calls;
    let answer;
    try {
      answer = await api.search(source.id, text);
    } catch (problem) {
      if (this.search.value.trim() === text) setText(byId("tree-state"), problem.message);
      return undefined;
    }
    // If the input has changed, another call draws its results. It may not have begun: then `drawn` is the promise of this call.
    if (this.source !== source || this.search.value.trim() !== text) return this.calls === call ? undefined : this.drawn;
    const named = new Map((this.sets ?? []).map((set) => [set.name, set]));
    const found = answer.found.slice(0, MAX_FOUND).filter(({ set }) => named.has(set));
    // Grouped by set, in the order of the best result of each.
    const groups = new Map();
    for (const { set, counter } of found) {
      const { counters } = named.get(set);
      const own = counter === null ? counters : counters.filter(({ name }) => name === counter);
      groups.set(set, [...new Set([...(groups.get(set) ?? []), ...own])]);
    }
    const words = text.toLowerCase().split(/\s+/);
    const views = this.views().filter(({ name, title }) => words.every((word) => `${name} ${title}`.toLowerCase().includes(word)));
    this.tree.replaceChildren(...[...groups].map(([set, counters]) => this.setItem(named.get(set), counters)), ...views.map((view) => this.viewItem(view)));
    const rest = answer.total > found.length ? `, showing the best ${found.length}` : "";
    setText(byId("tree-state"), answer.total ? `${count(answer.total, "result")}${rest}. Enter adds the first.` : "Nothing contains all of these words.");
    this.finish();
    return undefined;
  }

  finish() {
    const first = this.tree.querySelector("[role=treeitem]");
    if (first) first.tabIndex = 0;
    this.mark();
  }

  /** A view whose panels can be added. */
  viewItem({ name, title }) {
    return this.item({ title, help: "The panels of this view.", view: name }, `View: ${title}`, 1);
  }

  /** A row of the tree, with a group for its children. */
  item(node, name, level) {
    const id = `tree-group-${(this.made = (this.made ?? 0) + 1)}`;
    const group = node.children ? element("ul", { role: "group", id, hidden: true }) : null;
    const add = node.path || node.view ? element("span", { class: "add", "aria-hidden": "true" }, node.isAll ? "Add all" : "Add") : null;
    const row = element(
      "div",
      { role: "treeitem", class: "tree-row", tabindex: -1, "aria-level": level, "aria-expanded": group ? "false" : null, "aria-owns": group ? id : null },
      element("span", { class: "twist", "aria-hidden": "true" }),
      element("span", { class: "tree-name" }, name),
      element("span", { class: "tree-mark", "aria-hidden": "true" }),
      add,
    );
    this.nodes.set(row, node);
    return element("li", { role: "none" }, row, group);
  }

  /** `at` is the machine that paths name, and the level in the tree. */
  setItem(set, counters = null, at = { machine: null, level: 1 }) {
    const node = { title: set.name, help: set.help, children: () => (counters ?? set.counters).map((counter) => this.counterItem(set, counter, at)) };
    const item = this.item(node, set.name, at.level);
    if (counters) this.expand(item.firstElementChild);
    return item;
  }

  counterItem(set, counter, at) {
    const path = onMachine(at.machine, widestPath(set, counter));
    const node = {
      title: counter.name,
      help: counter.help,
      unit: counter.unit,
      path,
      isAll: set.has_instances,
      instances: set.has_instances ? () => instancesOf(this.source, set.name, at.machine) : null,
      children: set.has_instances ? () => this.instanceItems(set, counter, at) : null,
    };
    return this.item(node, counter.name, at.level + 1);
  }

  async instanceItems(set, counter, at) {
    const instances = await instancesOf(this.source, set.name, at.machine);
    const leaf = (name, instance) =>
      this.item({ title: counter.name, help: counter.help, unit: counter.unit, path: onMachine(at.machine, pathOf(set, counter, instance)) }, name, at.level + 2);
    return [leaf("All instances (*)", "*"), ...instances.map((instance) => leaf(instance, instance))];
  }

  async expand(item) {
    const node = this.nodes.get(item);
    if (!node.children || item.getAttribute("aria-expanded") === "true") return;
    item.setAttribute("aria-expanded", "true");
    const group = item.nextElementSibling;
    group.hidden = false;
    if (group.childElementCount) return;
    try {
      const children = node.children();
      if (children instanceof Promise) item.setAttribute("aria-busy", "true");
      group.replaceChildren(...(await children));
      this.mark();
    } catch (problem) {
      this.collapse(item);
      showError(problem);
    } finally {
      item.removeAttribute("aria-busy");
    }
  }

  collapse(item) {
    item.setAttribute("aria-expanded", "false");
    item.nextElementSibling.hidden = true;
  }

  /** The visible items, from top to bottom. */
  visible() {
    return [...this.tree.querySelectorAll("[role=treeitem]")].filter((item) => !item.closest("ul[hidden]"));
  }

  focus(item) {
    if (!item) return;
    for (const other of this.tree.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
    item.tabIndex = 0;
    item.focus();
    item.scrollIntoView({ block: "nearest" });
  }

  key(event) {
    const item = event.target.closest("[role=treeitem]");
    if (!item) return;
    const all = this.visible();
    const at = all.indexOf(item);
    const isOpen = item.getAttribute("aria-expanded") === "true";
    const act = {
      ArrowDown: () => this.focus(all[at + 1]),
      ArrowUp: () => (at ? this.focus(all[at - 1]) : this.search.focus()),
      Home: () => this.focus(all[0]),
      End: () => this.focus(all.at(-1)),
      ArrowRight: () => (isOpen ? this.focus(item.nextElementSibling.querySelector("[role=treeitem]")) : this.expand(item)),
      ArrowLeft: () => (isOpen ? this.collapse(item) : this.focus(item.closest("ul[role=group]")?.previousElementSibling)),
      Enter: () => this.choose(item),
      " ": () => this.choose(item),
    }[event.key];
    if (act) {
      event.preventDefault();
      event.stopPropagation();
      act();
    } else if (event.key.length === 1 && !event.ctrlKey && !event.altKey && !event.metaKey && /\S/.test(event.key)) {
      // A letter moves to the next item that begins with it.
      event.stopPropagation();
      const begins = (other) => this.nodes.get(other).title && other.querySelector(".tree-name").textContent.toLowerCase().startsWith(event.key.toLowerCase());
      this.focus([...all.slice(at + 1), ...all.slice(0, at)].find(begins));
    }
  }

  choose(item) {
    const node = this.nodes.get(item);
    if (node.path || node.view) this.add(node);
    else if (item.getAttribute("aria-expanded") === "true") this.collapse(item);
    else this.expand(item);
  }

  click(event) {
    const item = event.target.closest("[role=treeitem]");
    if (!item) return;
    const node = this.nodes.get(item);
    if (event.target.closest(".add")) this.add(node);
    else if (!node.children) {
      // A click selects, a double click adds.
      if (event.detail > 1) this.add(node);
    } else if (item.getAttribute("aria-expanded") === "true") this.collapse(item);
    else this.expand(item);
    this.focus(item);
  }

  async add(node) {
    if (node.view) return this.addView(node.view, this.source);
    if (!(await hasInstances(node))) return showNotice(`${node.path} is not added, because it has no instances at present.`);
    return this.show([node.path]);
  }

  /** Adds paths, and their source if it is not on the chart. */
  show(paths) {
    if (this.source && !state.sources.includes(this.source.id)) change({ sources: [...state.sources, this.source.id] });
    if (this.addPaths(paths)) announce(`Added ${paths.join(", ")}`);
    else showNotice(`${paths.join(", ")} is already on the chart.`);
  }

  /** Adds the entered path, unless the server rejects it. */
  async addTyped(event) {
    event.preventDefault();
    const field = byId("path-field");
    const path = field.value.trim();
    let problem = path.startsWith("\\") ? null : "A counter path begins with \\, for example \\Memory\\Available Bytes.";
    try {
      if (!problem && this.source) await api.series(this.source.id, { paths: [path], begin: null, end: null, columns: 1 });
    } catch (error) {
      problem = error.message;
    }
    setText(byId("path-error"), problem ?? "");
    field.setAttribute("aria-invalid", String(Boolean(problem)));
    if (problem) return;
    this.show([path]);
    if (field.value.trim() === path) field.value = "";
  }

  /** Marks the counters on the chart. */
  mark() {
    const known = new Set(state.paths.map((path) => path.toLowerCase()));
    for (const item of this.tree.querySelectorAll("[role=treeitem]")) {
      const path = this.nodes.get(item)?.path;
      if (path) setText(item.querySelector(".tree-mark"), known.has(path.toLowerCase()) ? "✓" : "");
    }
  }

  /** Shows the help of an item. */
  showHelp(item) {
    const node = item && this.nodes.get(item);
    if (!node) return;
    setText(byId("tree-help-title"), node.unit ? `${node.title} (${node.unit})` : node.title);
    setText(byId("tree-help-text"), node.help || "No help available.");
  }
}
