// The legend: a row per counter with style, scale and figures; selects, hides, scales, highlights, sorts and removes counters.

import { byId, element, setLabel, setText, setTitle, swatch } from "./element.js";
import { factorText, formatOf, powerOf, POWERS } from "./axes.js";
import { changeText, count, figure, figureOf, FIGURES, LEGEND_FIGURES, lineFigure, NONE } from "./figures.js";
import { STYLES } from "./palette.js";
import { styleOf } from "./scene.js";
import { change, changeEntries, entry, state } from "./state.js";

/** The maximum number of rows, because more would slow the chart. Users find other rows by filtering or sorting. */
const MAX_ROWS = 400;
/** Legends with fewer rows have no filter. */
const MIN_FILTERED = 8;
const instanceOf = (line) => line.instance ?? null;
const words = (text) => (text === null || text === undefined || text === "" ? NONE : text);
const scaleOf = (line) => powerOf(entry(line.key).scale, line);

/** The relative difference of the average from that of the same counter in the first source, or null. */
function changeOf(line) {
  const [now, before] = [line, line.sameAs?.line].map((one) => one?.statistics?.average ?? null);
  return now === null || !before ? null : (now - before) / Math.abs(before);
}

/** The difference in percent: `+12.3 %`. */
function changeFigure(line) {
  if (changeOf(line) === null) return line.sameAs ? NONE : "";
  return changeText(line.statistics.average, line.sameAs.line.statistics.average);
}

/** The columns in order: sort key, and functions that create and update a cell. */
const COLUMNS = [
  { id: "show", title: "Show", sort: (line) => Number(entry(line.key).isHidden), make: showCell, update: updateShow },
  { id: "colour", title: "Colour", sort: (line) => entry(line.key).styleIndex, make: swatchCell, update: updateSwatch },
  { id: "counter", title: "Counter", sort: (line) => line.counter, text: (line) => line.counter, isHead: true },
  { id: "instance", title: "Instance", sort: instanceOf, text: (line) => words(instanceOf(line)) },
  { id: "parent", title: "Parent", sort: (line) => line.parent, text: (line) => words(line.parent) },
  { id: "set", title: "Object", help: "The counter set, which Performance Monitor calls object", sort: (line) => line.set, text: (line) => line.set },
  { id: "computer", title: "Machine", sort: (line) => line.machine, text: (line) => words(line.machine && `\\\\${line.machine}`) },
  ...LEGEND_FIGURES.map((name) => ({
    id: name,
    title: name.startsWith("p") ? name.toUpperCase() : name[0].toUpperCase() + name.slice(1),
    help: FIGURES[name],
    isNumber: true,
    sort: (line) => figureOf(line, name),
    value: (line) => figureOf(line, name),
    text: (line) => lineFigure(figureOf(line, name), line),
  })),
  { id: "change", title: "Change", help: "The average compared with that of the first source", sort: changeOf, text: changeFigure, isDifference: true },
  { id: "scale", title: "Scale", sort: scaleOf, make: scaleCell, update: updateScale },
];

/** The title of a column. */
export const columnTitle = (column) => COLUMNS.find(({ id }) => id === column)?.title ?? column;

function showCell(row) {
  return element("input", { type: "checkbox", onchange: (event) => changeEntries([row.line.key], { isHidden: !event.target.checked }) });
}

function updateShow(box, line) {
  box.checked = !entry(line.key).isHidden;
  setLabel(box, `Show ${line.path}`);
}

function swatchCell(row) {
  const next = () => changeEntries([row.line.key], { styleIndex: (entry(row.line.key).styleIndex + 1) % STYLES, isColoured: true });
  return element("button", { type: "button", class: "plain swatch-place", title: "Next colour (c)", onclick: next });
}

function updateSwatch(place, line) {
  setLabel(place, `Next colour of ${line.path}`);
  const style = styleOf(line);
  const text = JSON.stringify(style);
  if (place.dataset.style === text) return;
  place.dataset.style = text;
  place.replaceChildren(swatch(style));
}

function scaleCell(row) {
  const choose = (event) => changeEntries([row.line.key], { scale: event.target.value });
  return element("select", { onchange: choose }, element("option", { value: "default" }), element("option", { value: "fit" }), POWERS.map((power) => element("option", { value: power }, factorText(power))));
}

function updateScale(list, line) {
  const { scale } = entry(line.key);
  setText(list.options[0], `${factorText(powerOf("default", line))} (default)`);
  setText(list.options[1], scale === "fit" ? `${factorText(powerOf("fit", line))} (fit)` : "Scale to fit");
  if (list.value !== String(scale)) list.value = String(scale);
  setLabel(list, `Scale of ${line.path}`);
}

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** The columns that are shown: the statistics that the user chose, and other columns only if they distinguish the lines. */
function columnsFor(lines, { isScaled, hasColours }) {
  const needed = {
    colour: hasColours,
    scale: isScaled,
    change: lines.some(({ sameAs }) => sameAs),
    parent: lines.some(({ parent }) => parent),
    instance: lines.some((line) => instanceOf(line) !== null),
    computer: new Set(lines.map(({ machine, source }) => `${machine} ${source.id}`)).size > 1,
  };
  return COLUMNS.filter(({ id, isNumber }) => (isNumber ? state.columns.includes(id) : (needed[id] ?? true)));
}

/** The position of each unit: in the order of the lines. */
function unitOrder(lines) {
  const order = new Map();
  const keyOf = (line) => `${formatOf(line).kind} ${formatOf(line).symbol}`;
  for (const line of lines) if (!order.has(keyOf(line))) order.set(keyOf(line), order.size);
  return (line) => order.get(keyOf(line));
}

/** The lines in the legend's order: numbers within their unit. Lines without a value are last, also in descending order. */
export function sorted(lines) {
  const column = COLUMNS.find(({ id }) => id === state.sort?.column);
  if (!column) return lines;
  const turn = state.sort.isDescending ? -1 : 1;
  const unitOf = column.isNumber ? unitOrder(lines) : () => 0;
  return [...lines].sort((one, other) => {
    if (unitOf(one) !== unitOf(other)) return unitOf(one) - unitOf(other);
    const [a, b] = [column.sort(one), column.sort(other)];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return turn * (typeof a === "number" ? a - b : collator.compare(a, b));
  });
}

/** The lines that contain the words of the filter, at most `top` of them. */
function filtered(lines) {
  const words = state.filter.toLowerCase().split(/\s+/).filter(Boolean);
  const found = words.length ? lines.filter((line) => words.every((word) => line.path.toLowerCase().includes(word))) : lines;
  return found.slice(0, Math.min(state.top ?? MAX_ROWS, MAX_ROWS));
}

/** The legend's table. */
export class Legend {
  /** `onRemove(keys)` removes counters; `onOnly(line)` shows only one; `onUnit(unit)` shows the counters of another unit. */
  constructor({ onRemove, onOnly, onUnit }) {
    Object.assign(this, { onRemove, onOnly, onUnit });
    /** The row above the counters that the chart does not show. */
    this.divider = element("tr", { class: "legend-divider" });
    this.columns = [];
    this.rows = new Map();
    this.order = [];
    this.severalSources = false;
    this.body = byId("legend-body");
    this.heads = new Map();
    this.shape = "";
    this.body.addEventListener("keydown", (event) => this.key(event));
  }

  /** Creates the head, and discards rows with other columns. */
  build(columns) {
    this.heads.clear();
    this.rows.clear();
    this.body.replaceChildren();
    const heads = columns.map(({ id, title, help, isNumber, isDifference }) => {
      const button = element("button", { type: "button", class: "plain", title: help ?? null, onclick: () => this.sortBy(id) }, title);
      const cell = element("th", { scope: "col", class: isNumber || isDifference ? "number" : null, "data-column": id }, button);
      this.heads.set(id, cell);
      return cell;
    });
    byId("legend-head").replaceChildren(...heads, element("td", { "data-column": "remove" }));
  }

  /** Sorts by a column: numbers descending first, text ascending first. The next click reverses the order, a third one removes it. */
  sortBy(column) {
    const { sort } = state;
    const isNumber = COLUMNS.find(({ id }) => id === column).isNumber === true;
    if (sort?.column !== column) change({ sort: { column, isDescending: isNumber } });
    else change({ sort: sort.isDescending === isNumber ? { column, isDescending: !isNumber } : null });
  }

  /** Sorts by the next column. */
  sortByNext() {
    const next = this.columns[this.columns.findIndex(({ id }) => id === state.sort?.column) + 1];
    change({ sort: next ? { column: next.id, isDescending: next.isNumber === true } : null });
  }

  /**
   * Shows these lines, first those that the chart shows: `isDrawn(line)`. `isScaled`: whether the chart multiplies values by the
   * counters' scales; `hasColours`: whether each counter has a colour.
   */
  draw(lines, severalSources, { isScaled, hasColours, isDrawn }) {
    this.severalSources = severalSources;
    const columns = columnsFor(lines, { isScaled, hasColours });
    this.columns = columns;
    const shape = columns.map(({ id }) => id).join();
    if (shape !== this.shape) this.build(columns);
    this.shape = shape;
    const all = filtered(sorted(lines));
    const others = all.filter((line) => !isDrawn(line));
    const order = others.length ? [...all.filter(isDrawn), ...others] : all;
    const keys = new Set(order.map((line) => line.key));
    for (const [key, row] of this.rows) {
      if (keys.has(key)) continue;
      row.element.remove();
      this.rows.delete(key);
    }
    const selected = keys.has(state.selected) ? state.selected : order[0]?.key;
    let place = this.body.firstElementChild;
    if (!others.length) this.divider.remove();
    for (const line of order) {
      if (place === this.divider) place = this.divider.nextElementSibling;
      if (line === others[0]) this.divide(others, place);
      const row = this.rows.get(line.key) ?? this.add(line.key);
      this.update(row, line, line.key === selected);
      row.element.classList.toggle("not-drawn", others.length > 0 && !isDrawn(line));
      if (row.element === place) place = place.nextElementSibling;
      else this.body.insertBefore(row.element, place);
    }
    this.order = order.map((line) => line.key);
    for (const [id, cell] of this.heads) {
      const isSorted = state.sort?.column === id;
      cell.setAttribute("aria-sort", isSorted ? (state.sort.isDescending ? "descending" : "ascending") : "none");
    }
    byId("legend-empty").hidden = lines.length > 0;
    byId("legend-table").hidden = lines.length === 0;
    byId("legend-controls").hidden = lines.length === 0;
    byId("legend-all").hidden = !lines.some(({ key }) => entry(key).isHidden);
    byId("legend-search").hidden = lines.length < MIN_FILTERED && !state.filter && !state.top;
    const means = lines.filter((line) => line.average_kind === "arithmetic").length;
    this.body.classList.toggle("mixed", means > 0 && means < lines.length);
    setText(byId("legend-note"), means ? `${means < lines.length ? "Averages in italics" : "Averages"} are means of the values in the log, which has no raw values.` : "");
    setText(byId("legend-count"), order.length < lines.length ? `${order.length} of ${lines.length}` : "");
  }

  /** Puts the divider before a row: how many counters the chart does not show, and buttons for their units. */
  divide(others, place) {
    const rest = others.filter(({ isTotal }) => !isTotal);
    const units = [...new Set(rest.map(({ unit }) => unit))];
    const texts = [rest.length < others.length && `${count(others.length - rest.length, "total")} of the lines above`, rest.length && `${count(rest.length, "counter")} of ${units.length === 1 ? "another unit" : "other units"}. Show instead:`];
    const text = `Not in this chart: ${texts.filter(Boolean).join("; ")}`;
    const key = JSON.stringify([text, units, this.columns.length]);
    if (this.divided !== key) {
      this.divided = key;
      const buttons = units.slice(0, 6).map((unit) => element("button", { type: "button", class: "link", "data-unit": unit, onclick: () => this.onUnit(unit) }, unit || "plain numbers"));
      this.divider.replaceChildren(element("td", { colspan: this.columns.length + 1 }, text, ...buttons.flatMap((button) => [" ", button])));
    }
    if (this.divider.nextElementSibling !== place || !this.divider.isConnected) this.body.insertBefore(this.divider, place);
  }

  add(key) {
    const row = { cells: [], line: null };
    row.element = element("tr", { onclick: () => change({ selected: key }), ondblclick: () => this.onOnly(row.line) });
    for (const column of this.columns) {
      const content = column.make?.(row) ?? null;
      const cell = element(column.isHead ? "th" : "td", { scope: column.isHead ? "row" : null, class: column.isNumber || column.isDifference ? "number" : null, "data-column": column.id, "data-title": column.title }, content);
      row.cells.push({ column, cell, content });
      row.element.append(cell);
    }
    // For mouse and touch; the key is Delete.
    const remove = element("button", { type: "button", class: "plain remove", onclick: (event) => { event.stopPropagation(); this.onRemove([key]); } }, "×");
    row.remove = remove;
    row.element.append(element("td", { "data-column": "remove" }, remove));
    this.rows.set(key, row);
    return row;
  }

  update(row, line, isSelected) {
    row.line = line;
    for (const { column, cell, content } of row.cells) {
      if (column.update) column.update(content, line);
      else {
        const text = column.id === "computer" && this.severalSources ? `${column.text(line)} · ${line.source.name}` : column.text(line);
        setText(cell, text);
        if (column.value) {
          // All digits, for tests and for copying.
          const value = column.value(line);
          cell.dataset.value = value ?? "";
          setTitle(cell, state.numbers === "raw" ? "" : figure(value, line.type));
        }
      }
    }
    const average = row.cells.find(({ column }) => column.id === "average")?.cell;
    const isArithmetic = line.average_kind === "arithmetic";
    average?.classList.toggle("arithmetic", isArithmetic);
    if (average && isArithmetic) setTitle(average, `${figure(line.statistics?.average, line.type)}: arithmetic mean of formatted values, because the log has no raw values of this counter`);
    row.element.classList.toggle("hidden-line", entry(line.key).isHidden);
    row.element.classList.toggle("highlighted", entry(line.key).isHighlighted);
    row.element.setAttribute("aria-selected", String(isSelected));
    row.element.tabIndex = isSelected ? 0 : -1;
    setTitle(row.element, line.path);
    setLabel(row.remove, `Remove ${line.path}`);
  }

  /** Marks the row of the counter nearest to the pointer. */
  markRow(key) {
    if (key === this.pointed) return;
    this.rows.get(this.pointed)?.element.classList.remove("pointed");
    this.rows.get(key)?.element.classList.add("pointed");
    this.pointed = key;
  }

  /** Moves the selection by `by` rows. */
  step(by, focus) {
    if (!this.order.length) return;
    // By default, the first row is selected.
    const from = Math.max(0, this.order.indexOf(state.selected));
    const to = Math.max(0, Math.min(this.order.length - 1, from + by));
    change({ selected: this.order[to] });
    const row = this.rows.get(this.order[to]).element;
    if (focus) row.focus();
    row.scrollIntoView({ block: "nearest" });
  }

  key(event) {
    if (event.target.tagName === "SELECT") return;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -1e9, End: 1e9 };
    if (event.key in steps) this.step(steps[event.key], true);
    else if ((event.key === "Enter" || event.key === " ") && event.target.tagName === "TR") this.step(0, true);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
