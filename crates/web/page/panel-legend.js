// The short legend below a panel's chart: a line per counter, in two rows at most until it is opened. The parts that all names share are
// written once.

import { formatOf, mainUnit } from "./axes.js";
import { isEarlier, lengthText, presentKey } from "./earlier.js";
import { element, setText, setTitle, swatch } from "./element.js";
import { changeText, figure, figureName, figureTitle, lineFigure, shownValue } from "./figures.js";
import { MAX_HEADLINES } from "./headline.js";
import { areOfSeveralMachines, areSeveral, firstKey, instanceOf, nameOf, sharedCounter, shortName, withMachine, withSource } from "./names.js";
import { dashOf, isPlainStyle } from "./palette.js";
import { EARLIER, styleOf } from "./scene.js";
import { changeEntries, entry, state } from "./state.js";
import { isSameUnit } from "./units.js";

/** The maximum number of lines; a panel that is shown alone has another legend. */
const MAX_LINES = 60;
/** With more instances, the legend begins with the largest. */
const MANY = 8;
/** The number of rows; of a high panel, the second one. */
const ROWS = [2, 6];
/** The height from which a panel is high, in pixels. */
const HIGH = 400;
/** Rows that are less than half visible are hidden. */
const HALF = 0.5;

/** Averages of earlier values that cover less of the range than this share are not compared with the present ones. */
const WHOLE = 0.95;

/** The number of values of a line, as a share of that of another line. */
const shareOf = (line, other) => (line.statistics?.values ?? 0) / Math.max(1, other.statistics?.values ?? 0);

/** Lines in the order of the legend: those of a counter after each other, hidden ones last if there are too many. */
function ordered(lines) {
  const families = new Map();
  for (const line of lines) families.set(firstKey(line), [...(families.get(firstKey(line)) ?? []), line]);
  const groups = [...families.values()];
  // Of many instances, the largest ones are visible; averages change slowly enough for live values.
  if (groups.length > MANY && sharedCounter(lines)) groups.sort(([one], [other]) => (other.statistics?.average ?? -1) - (one.statistics?.average ?? -1));
  const all = groups.flat();
  const isHidden = ({ key }) => entry(key).isHidden;
  return lines.length > MAX_LINES && lines.some(isHidden) ? [...all.filter((line) => !isHidden(line)), ...all.filter(isHidden)] : all;
}

export class PanelLegend {
  /** `onMore()` is called when the user opens or closes the legend. */
  constructor(onMore) {
    this.list = element("ul", { class: "panel-legend plain-list" });
    this.shared = element("li", { class: "legend-shared" });
    this.keyItem = element("li", { class: "legend-key" });
    this.more = element("button", { type: "button", class: "plain legend-more", hidden: true, onclick: () => this.toggle() });
    this.element = element("div", { class: "panel-legends" }, this.list, this.more);
    this.onMore = onMore;
    this.isOpen = false;
    this.rows = new Map();
    this.keys = [];
    this.hidden = 0;
  }

  toggle() {
    this.isOpen = !this.isOpen;
    this.list.classList.toggle("open", this.isOpen);
    this.onMore();
  }

  /** A click shows only this line, or all lines again; with Ctrl or Shift, it hides or shows this line. */
  clickLine(key, event) {
    const keys = this.keys;
    if (event.ctrlKey || event.metaKey || event.shiftKey) return changeEntries([key], { isHidden: !entry(key).isHidden });
    const isAlone = keys.every((other) => entry(other).isHidden === (other !== key)) && keys.length > 1;
    for (const other of keys) Object.assign(entry(other), { isOfView: false, isHidden: !isAlone && other !== key });
    return changeEntries([], {});
  }

  /** Shows these lines; `left` is the number of lines that are not drawn. Returns the name of the statistic of the values. */
  draw(panel, lines, blocks, left) {
    this.keys = lines.map(({ key }) => key);
    this.left = left;
    const shown = ordered(lines).slice(0, MAX_LINES);
    this.hidden = lines.length - shown.length + left;
    const several = areSeveral(blocks);
    const areNamed = areOfSeveralMachines(lines);
    const values = new Map(shown.map((line) => [line.key, shownValue(line)]));
    const earlier = new Map(shown.filter(isEarlier).map((line) => [presentKey(line), line]));
    const shared = sharedCounter(shown);
    const isKeyed = this.drawKey(shown, blocks, several);
    const items = [];
    if (shared) {
      setText(this.shared, shared);
      items.push(this.shared);
    }
    const beyond = limitTest(panel, lines);
    for (const line of shown) {
      const row = this.rows.get(line.key) ?? this.add(line.key);
      // The values of a counter stay in one row.
      const first = isKeyed ? this.rows.get(firstKey(line)) : row;
      if (row.button.parentElement !== first.item) first.item.append(row.button);
      if (first === row) items.push(row.item);
      this.update(row, line, { shared, several, areNamed, isKeyed, firstSource: blocks[0]?.source, value: values.get(line.key), from: values.get((earlier.get(line.key) ?? line.sameAs)?.key) ?? null, isComparable: !earlier.has(line.key) || shareOf(earlier.get(line.key), line) >= WHOLE, isBeyond: beyond(line, values.get(line.key)) });
    }
    // First, because the end of a long legend is hidden.
    if (isKeyed && this.keyItem.hasChildNodes()) items.unshift(this.keyItem);
    const keys = new Set(values.keys());
    for (const [key, { button }] of this.rows) {
      if (keys.has(key)) continue;
      // It can be in the item of another line.
      button.remove();
      this.rows.delete(key);
    }
    for (const item of [...this.list.children]) if (!items.includes(item)) item.remove();
    items.forEach((item, index) => this.list.children[index] !== item && this.list.insertBefore(item, this.list.children[index] ?? null));
    return shown.length ? figureTitle(shown) : "";
  }

  add(key) {
    const row = { mark: element("span", { class: "legend-mark" }), name: element("span", { class: "legend-name" }), value: element("span", { class: "number legend-value" }), change: element("span", { class: "number legend-change" }) };
    row.button = element("button", { type: "button", class: "plain legend-line", onclick: (event) => this.clickLine(key, event) }, row.mark, row.name, row.value, row.change);
    row.item = element("li", {}, row.button);
    this.rows.set(key, row);
    return row;
  }

  update(row, line, { shared, several, areNamed, isKeyed, firstSource, value, from, isComparable, isBeyond }) {
    const style = styleOf(line);
    const text = JSON.stringify(style);
    if (row.style !== text) {
      row.style = text;
      row.mark.replaceChildren(swatch(style));
    }
    const isFirst = firstKey(line) === line.key;
    const name = withMachine(line, areNamed, shared ? instanceOf(line) : shortName(line));
    // The key does not name the source of a counter that the first source lacks.
    const isNamed = isKeyed && isFirst && line.source === firstSource;
    setText(row.name, isNamed ? name : withSource(name, line.source, several));
    // The other lines of a counter follow it, and the key says what their dashes mean.
    row.name.classList.toggle("visually-hidden", isKeyed && !isFirst);
    setText(row.value, lineFigure(value, line));
    row.value.dataset.value = value ?? "";
    row.value.classList.toggle("beyond", isBeyond);
    // The change is that to this value, from earlier values or from the first source.
    const change = isComparable ? changeText(value, from) : "";
    setText(row.change, change ? `(${change})` : "");
    row.button.classList.toggle("hidden-line", entry(line.key).isHidden);
    row.button.setAttribute("aria-pressed", String(!entry(line.key).isHidden));
    setTitle(row.button, `${line.path}\n${figureName(line)}: ${figure(value, line.type)}${state.numbers === "raw" ? "" : `\n${withSource(nameOf(line), line.source, several)}. Click: only this one; with Ctrl: hide or show`}`);
  }

  /** Writes what the dashes of earlier values, or of further sources, mean. Returns false if dashes also distinguish counters. */
  drawKey(lines, blocks, several) {
    const others = lines.filter((line) => firstKey(line) !== line.key);
    if (!others.length || lines.some((line) => !isPlainStyle(entry(line.key).isColoured && line.sameAs ? 99 : entry(firstKey(line)).styleIndex))) return false;
    const known = new Set(lines.map(({ key }) => key));
    if (others.some((line) => !known.has(firstKey(line)))) return false;
    const meanings = new Map();
    // A few sources are named above the panels, with their dashes.
    if (blocks.length > MAX_HEADLINES) for (const line of lines) if (!isEarlier(line)) meanings.set(line.source.name, line.sameAs ? dashOf(0, line.sameAs.nth) : []);
    const earlier = lines.find(isEarlier);
    // With several sources, earlier values of each have the same dashes.
    if (earlier && several) return false;
    if (earlier) {
      const present = lines.find(({ key }) => key === presentKey(earlier));
      const share = present ? shareOf(earlier, present) : 1;
      meanings.set(`${lengthText(earlier.source.shift)} earlier${share < WHOLE ? ` (${Math.round(share * 100)} % of the range)` : ""}`, EARLIER);
    }
    const text = JSON.stringify([...meanings]);
    if (this.key !== text) {
      this.key = text;
      this.keyItem.replaceChildren(...[...meanings].flatMap(([name, dash]) => [swatch({ colour: "currentColor", width: 0.5, dash }), element("span", {}, name)]));
    }
    return true;
  }

  /** Measures how many lines are below the second row: called for all panels before any of them is changed. */
  measure() {
    this.isHigh = this.element.parentElement.offsetHeight > HIGH;
    if (this.isOpen || !this.list.firstElementChild) return (this.below = 0);
    const items = [...this.list.children];
    const top = items[0].offsetTop;
    const max = top + (ROWS[Number(this.isHigh)] + HALF) * Math.max(18, items.at(-1).offsetHeight);
    return (this.below = items.filter((item) => item.offsetTop + item.offsetHeight > max).length);
  }

  /** Shows how many lines are hidden. */
  limit() {
    const count = this.hidden + this.below;
    this.list.classList.toggle("high", this.isHigh);
    this.more.hidden = !count && !this.isOpen;
    setText(this.more, this.isOpen ? "fewer" : `+${count} more`);
    setTitle(this.more, this.isOpen ? "Show fewer lines" : this.left ? `Show all lines; the instances with the largest maximum are drawn` : "Show the whole legend");
  }
}

/** A function that tests whether the value of a line is above a limit of the panel. */
function limitTest(panel, lines) {
  if (!panel.limits.length) return () => false;
  const unit = mainUnit(panel, lines);
  const limit = Math.min(...panel.limits) * (lines.length ? formatOf(lines.find((line) => isSameUnit(formatOf(line), unit)) ?? lines[0]).factor : 1);
  return (line, value) => value !== null && isSameUnit(formatOf(line), unit) && value * formatOf(line).factor > limit;
}
