// The grid of panels: arranges them, and moves, resizes and removes them by mouse and keyboard.

import { byId } from "./element.js";
import { announce } from "./messages.js";
import { PanelView } from "./panel-view.js";
import { MAX_SHARE, movedPanel, titleOf, withPanel } from "./panels.js";
import { change, state } from "./state.js";

/** The usual width of a panel in pixels; the number of columns is computed from it. */
const USUAL_WIDTH = 400;
const MIN_HEIGHT = 250;
const GAP = 8;

/** The grid. `onChart(chart)` is called for every chart that is created; `onRow(path)` shows a counter of a table's row. */
export class Grid {
  constructor({ onChart, onRow }) {
    this.place = byId("panels");
    this.views = new Map();
    this.acts = {
      open: (id) => change({ open: id }),
      move: (id, by) => this.move(id, by),
      resize: (id, across, down) => this.resize(id, across, down),
      remove: (id) => this.remove(id),
      chartMade: onChart,
      chart: onRow,
    };
    this.place.addEventListener("keydown", (event) => this.key(event));
    this.place.addEventListener("pointerdown", (event) => this.press(event));
  }

  /** The number of columns at the present width. */
  columns() {
    const width = this.place.clientWidth || document.documentElement.clientWidth;
    if (width < 620) return 1;
    const all = state.panels.reduce((sum, panel) => sum + panel.width, 0);
    return Math.max(1, Math.min(4, all, Math.max(2, Math.floor((width + GAP) / (USUAL_WIDTH + GAP)))));
  }

  charts() {
    return [...this.views.values()].filter((view) => view.chart?.plot && view.element.isConnected).map((view) => view.chart);
  }

  /** Scrolls to a panel. */
  show(id) {
    this.views.get(id)?.element.scrollIntoView({ block: "nearest" });
  }

  /** The width of the widest chart, for the number of requested columns. */
  chartColumns() {
    const width = this.place.clientWidth || document.documentElement.clientWidth;
    const columns = this.columns();
    const widest = Math.max(1, ...state.panels.map((panel) => Math.min(columns, panel.width)));
    return Math.max(50, Math.min(2000, Math.round((width / columns) * widest - 80)));
  }

  /** Draws all panels: `dataFor(panel)` is its data, `rowsFor(panel)` the rows of its table, `whyFor(panel)` why it shows nothing. */
  draw(dataFor, rowsFor, whyFor) {
    const columns = this.columns();
    this.place.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
    for (const [id, view] of this.views) {
      if (state.panels.some((panel) => panel.id === id)) continue;
      view.chart?.clear();
      view.element.remove();
      this.views.delete(id);
    }
    const rows = this.rowCount(columns);
    // The height at which all panels fit into the window, but at least the minimum.
    const room = this.place.parentElement.clientHeight - this.place.offsetTop + this.place.parentElement.offsetTop - 36;
    const height = columns === 1 ? MIN_HEIGHT : Math.max(MIN_HEIGHT, Math.floor((room - GAP * (rows - 1)) / rows));
    this.place.style.gridAutoRows = `${height}px`;
    state.panels.forEach((panel, index) => {
      let view = this.views.get(panel.id);
      if (!view) this.views.set(panel.id, (view = new PanelView(panel.id, this.acts)));
      view.element.style.gridColumn = `span ${Math.min(columns, panel.width)}`;
      view.element.style.gridRow = `span ${panel.height}`;
      if (this.place.children[index] !== view.element) this.place.insertBefore(view.element, this.place.children[index] ?? null);
    });
    for (const panel of state.panels) this.views.get(panel.id).draw(panel, dataFor(panel), rowsFor(panel), whyFor(panel));
  }

  /** The number of rows that the panels take, placed as the browser does (`grid-auto-flow: dense`). */
  rowCount(columns) {
    const taken = new Set();
    let rows = 1;
    for (const { width, height } of state.panels) {
      const wide = Math.min(columns, width);
      const cells = (row, column) => Array.from({ length: wide * height }, (_, index) => `${row + Math.floor(index / wide)} ${column + (index % wide)}`);
      let at = 0;
      const fits = () => (at % columns) + wide <= columns && cells(Math.floor(at / columns), at % columns).every((cell) => !taken.has(cell));
      while (!fits()) at += 1;
      for (const cell of cells(Math.floor(at / columns), at % columns)) taken.add(cell);
      rows = Math.max(rows, Math.floor(at / columns) + height);
    }
    return rows;
  }

  discardDrawings() {
    for (const view of this.views.values()) view.chart?.discardDrawing();
  }

  panel(id) {
    return state.panels.find((panel) => panel.id === id);
  }

  move(id, by) {
    const at = state.panels.findIndex((panel) => panel.id === id);
    this.moveTo(id, at + by);
  }

  moveTo(id, to) {
    const panels = movedPanel(state.panels, id, to);
    if (panels === state.panels) return;
    const hadFocus = this.views.get(id)?.element.contains(document.activeElement);
    change({ panels, viewName: null });
    announce(`${titleOf(this.panel(id))} is panel ${panels.findIndex((panel) => panel.id === id) + 1} of ${panels.length}.`);
    // The element was moved, so it lost the focus.
    if (hadFocus) requestAnimationFrame(() => requestAnimationFrame(() => this.views.get(id)?.element.focus()));
  }

  resize(id, across, down) {
    const panel = this.panel(id);
    const within = (size) => Math.max(1, Math.min(MAX_SHARE, size));
    const [width, height] = [within(Math.min(panel.width, this.columns()) + across), within(panel.height + down)];
    if (width === panel.width && height === panel.height) return;
    change({ panels: withPanel(state.panels, id, { width, height }), viewName: null });
    announce(`${titleOf(panel)}: ${width} wide, ${height} high.`);
  }

  remove(id) {
    const at = state.panels.findIndex((panel) => panel.id === id);
    announce(`Removed the panel ${titleOf(state.panels[at])}.`);
    change({ panels: state.panels.filter((panel) => panel.id !== id), viewName: null });
    const next = state.panels[Math.min(at, state.panels.length - 1)];
    if (next) this.views.get(next.id)?.element.focus();
  }

  key(event) {
    const panel = event.target.closest?.(".panel");
    if (!panel || event.target !== panel || event.ctrlKey || event.metaKey || event.altKey) return;
    const id = Number(panel.dataset.panel);
    const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.columns(), ArrowDown: this.columns() };
    const sizes = { w: [1, 0], W: [-1, 0], e: [0, 1], E: [0, -1] };
    if (event.shiftKey && event.key in moves) this.move(id, moves[event.key]);
    else if (event.key in sizes) this.resize(id, ...sizes[event.key]);
    else if (event.key === "Enter") change({ open: id });
    else if (event.key === "Delete") this.remove(id);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Moves a panel by its handle, or resizes it by its corner. */
  press(event) {
    const panel = event.target.closest?.(".panel");
    const isMove = Boolean(event.target.closest?.(".panel-handle"));
    if (!panel || event.button !== 0 || (!isMove && !event.target.closest?.(".panel-corner"))) return;
    event.preventDefault();
    const id = Number(panel.dataset.panel);
    const { left, top } = panel.getBoundingClientRect();
    const one = { width: (this.place.clientWidth + GAP) / this.columns(), height: parseFloat(this.place.style.gridAutoRows) + GAP };
    panel.classList.add(isMove ? "moving" : "sizing");
    const at = ({ clientX, clientY }) => document.elementsFromPoint(clientX, clientY).find((found) => found.matches?.(".panel"));
    const follow = (moved) => {
      if (isMove) {
        const over = at(moved);
        if (over && over !== panel) this.moveTo(id, state.panels.findIndex((other) => other.id === Number(over.dataset.panel)));
        return;
      }
      const now = this.panel(id);
      const wide = Math.max(1, Math.min(this.columns(), Math.round((moved.clientX - left) / one.width)));
      const high = Math.max(1, Math.min(MAX_SHARE, Math.round((moved.clientY - top) / one.height)));
      this.resize(id, wide - Math.min(now.width, this.columns()), high - now.height);
    };
    const end = () => {
      panel.classList.remove("moving", "sizing");
      removeEventListener("pointermove", follow);
      removeEventListener("pointerup", end);
      removeEventListener("pointercancel", end);
    };
    addEventListener("pointermove", follow);
    addEventListener("pointerup", end);
    addEventListener("pointercancel", end);
  }
}
