// The grid of panels: arranges them, and moves, resizes and removes them by mouse and keyboard.

import { byId } from "./element.js";
import { announce, showNotice } from "./messages.js";
import { PanelView } from "./panel-view.js";
import { MAX_SHARE, movedPanel, titleOf, withPanel } from "./panels.js";
import { change, state } from "./state.js";

/** The usual width of a panel in pixels; the number of columns is computed from it. */
const USUAL_WIDTH = 400;
const MIN_HEIGHT = 250;
const GAP = 8;
/** The height of a panel without its chart, in pixels. */
const HEADER = 40;

/**
 * The grid. `onChart(chart)` is called for every chart that is created; `onRow(path)` shows a counter of a table's row; `onRedraw()` draws the
 * page again.
 */
export class Grid {
  constructor({ onChart, onRow, onRedraw }) {
    this.place = byId("panels");
    this.views = new Map();
    /** The numbers of rows that heat maps need, by panel. */
    this.needs = new Map();
    this.acts = {
      open: (id) => change({ open: id }),
      move: (id, by) => this.move(id, by),
      resize: (id, across, down) => this.resize(id, across, down),
      remove: (id) => this.remove(id),
      chartMade: onChart,
      chart: onRow,
      redraw: onRedraw,
      unit: (id, unit) => change({ panels: withPanel(state.panels, id, { unit }), viewName: null }),
    };
    this.place.addEventListener("keydown", (event) => this.key(event));
    this.place.addEventListener("pointerdown", (event) => this.press(event));
  }

  /** The number of columns at the present width. */
  columns() {
    const width = this.place.clientWidth || document.documentElement.clientWidth;
    if (width < 620) return 1;
    const all = state.panels.reduce((sum, panel) => sum + panel.width, 0);
    let columns = Math.max(1, Math.min(4, all, Math.max(2, Math.floor((width + GAP) / (USUAL_WIDTH + GAP)))));
    // A few panels are below each other rather than higher than wide.
    while (columns > 1 && this.rowHeight(columns) > width / columns) columns -= 1;
    return columns;
  }

  /** The height at which all panels fit into the window, but at least the minimum. */
  rowHeight(columns) {
    const rows = this.rowCount(columns);
    const room = this.place.parentElement.clientHeight - this.place.offsetTop + this.place.parentElement.offsetTop - 36;
    return Math.max(MIN_HEIGHT, Math.floor((room - GAP * (rows - 1)) / rows));
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
    const height = document.documentElement.clientWidth <= 760 ? MIN_HEIGHT : this.rowHeight(columns);
    this.place.style.gridAutoRows = `${height}px`;
    const places = this.places(columns);
    const wide = this.lastSpan(columns, places);
    state.panels.forEach((panel, index) => {
      let view = this.views.get(panel.id);
      if (!view) this.views.set(panel.id, (view = new PanelView(panel.id, this.acts)));
      view.element.style.gridColumn = `span ${index === state.panels.length - 1 ? wide : Math.min(columns, panel.width)}`;
      view.element.style.gridRow = `span ${this.rowsOf(panel)}`;
      if (this.place.children[index] !== view.element) this.place.insertBefore(view.element, this.place.children[index] ?? null);
    });
    const views = state.panels.map((panel) => this.views.get(panel.id));
    state.panels.forEach((panel, index) => views[index].draw(panel, dataFor(panel), rowsFor(panel), whyFor(panel)));
    // All legends are measured before any of them is changed, so that the page is arranged once.
    for (const { legend } of views) legend.measure();
    for (const { legend } of views) legend.limit();
    this.growHeatMaps(height);
  }

  /** Makes heat maps as high as their names need, in rows of the grid. */
  growHeatMaps(height) {
    const { needs } = this;
    let isChanged = false;
    for (const panel of state.panels) {
      const view = this.views.get(panel.id);
      const wanted = panel.kind === "heatmap" && view.chart?.wantedHeight ? view.chart.wantedHeight() : 0;
      const rows = wanted ? Math.min(MAX_SHARE, Math.ceil((wanted + HEADER + GAP) / (height + GAP))) : 1;
      if ((needs.get(panel.id) ?? 1) === rows) continue;
      needs.set(panel.id, rows);
      isChanged = true;
    }
    if (isChanged) requestAnimationFrame(() => this.acts.redraw());
  }

  /** The number of rows that the panels take. */
  rowCount(columns) {
    return Math.max(1, ...this.places(columns).map(({ row, height }) => row + height));
  }

  /** The width of the last panel: if nothing is right of it, it takes the rest of its row. */
  lastSpan(columns, places) {
    const last = places.at(-1);
    if (!last) return 1;
    const isFree = places.every((other) => other === last || other.row + other.height <= last.row || other.column + other.width <= last.column);
    return isFree ? columns - last.column : last.width;
  }

  /** Where the panels are: `{row, column, width, height}`, placed as the browser does (`grid-auto-flow: dense`). */
  places(columns) {
    const taken = new Set();
    return state.panels.map((panel) => {
      const [wide, height] = [Math.min(columns, panel.width), this.rowsOf(panel)];
      const cells = (row, column) => Array.from({ length: wide * height }, (_, index) => `${row + Math.floor(index / wide)} ${column + (index % wide)}`);
      let at = 0;
      const fits = () => (at % columns) + wide <= columns && cells(Math.floor(at / columns), at % columns).every((cell) => !taken.has(cell));
      while (!fits()) at += 1;
      for (const cell of cells(Math.floor(at / columns), at % columns)) taken.add(cell);
      return { row: Math.floor(at / columns), column: at % columns, width: wide, height };
    });
  }

  /** The height of a panel in rows. */
  rowsOf(panel) {
    return Math.max(panel.height, this.needs.get(panel.id) ?? 1);
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
    const { panels, viewName, isChanged } = state;
    showNotice(`Removed the panel ${titleOf(panels[at])}.`, () => change({ panels, viewName, isChanged }));
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
