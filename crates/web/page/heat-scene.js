// What a heat map shows: sections of rows with a scale of colours each, the colours, and where the rows are.

import { formatOf, mainUnit, rangeOf } from "./axes.js";
import { withGaps } from "./blocks.js";
import { isEarlier } from "./earlier.js";
import { shortName } from "./names.js";
import { withoutMachine } from "./paths.js";
import { extent } from "./scene.js";
import { entry } from "./state.js";
import { baseOf, isSameUnit } from "./units.js";

/** Colours from low to high; the colours between them are interpolated. */
const LIGHT = ["#dbe9f6", "#9ecae1", "#4a98c9", "#1764ab", "#08306b"];
const DARK = ["#1d2c3f", "#27567d", "#2a8f9c", "#6ccf8a", "#f6ec5a"];
export const STEPS = 64;
/** Values that are at most this many usual distances apart have no gap between them. */
const JOINED = 1.75;
/** The height of the heading of a section, in pixels. */
const HEAD = 20;
/** The usual and the smallest height of a row with a name, and of one of several rows that share a name. */
const ROW = { named: 14, shared: 8, min: 2 };
/** Rows of the same counter of several sources are close together; other rows are this far apart. */
const GAP = { within: 0, between: 1, shared: 4 };

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
const palettes = new Map();

export function paletteOf(name) {
  if (!palettes.has(name)) {
    const stops = (name === "dark" ? DARK : LIGHT).map((text) => [1, 3, 5].map((at) => Number.parseInt(text.slice(at, at + 2), 16)));
    const mixed = Array.from({ length: STEPS }, (_, step) => {
      const at = (step / (STEPS - 1)) * (stops.length - 1);
      const [one, other] = [stops[Math.floor(at)], stops[Math.min(stops.length - 1, Math.floor(at) + 1)]];
      return `#${one.map((part, index) => Math.round(part + (other[index] - part) * (at % 1)).toString(16).padStart(2, "0")).join("")}`;
    });
    palettes.set(name, mixed);
  }
  return palettes.get(name);
}

/**
 * What a heat map shows: `{sections, others, begin, end, zone}`. A section has a title, an axis, and groups of rows that share a name:
 * the same counter in several sources. `others` are the lines with another unit. Rows are sorted by name, or, with `isInOrder`, in the
 * order of the lines.
 */
export function heatSceneOf(data, panel, isInOrder = false) {
  const blocks = new Map(data.blocks.map((block) => [block.source.id, block]));
  const isShown = (line) => !entry(line.key).isHidden && !line.isTotal;
  const lines = data.lines.filter(isShown);
  // The order of rows can be the legend's, but the unit is that of the first counter.
  const unit = mainUnit(panel, data.blocks.flatMap((block) => block.lines.filter(isShown)));
  const isOfUnit = (line) => isSameUnit(formatOf(line), unit);
  const all = lines.filter(isOfUnit).map((line) => {
    const block = blocks.get(line.source.id);
    const { factor } = formatOf(line);
    const values = withGaps(block.times, line.average, block.interval).map((value) => (typeof value === "number" ? value * factor : value));
    return { line, block, values };
  });
  // Rows without cells are omitted, unless all are empty.
  const filled = all.filter(({ values }) => values.some((value) => typeof value === "number"));
  const sections = sectionsOf(groupsOf(filled.length ? filled : all), isInOrder);
  for (const section of sections) section.axis = axisOf(section, panel, unit);
  return { sections, others: lines.filter((line) => !isOfUnit(line)), begin: data.begin, end: data.end, zone: data.zone };
}

/** The rows of each counter: one per source. */
function groupsOf(rows) {
  const machines = new Map();
  for (const { line } of rows) machines.set(line.source.id, (machines.get(line.source.id) ?? new Set()).add(line.machine));
  const groups = new Map();
  for (const row of rows) {
    const { line } = row;
    const isOfSeveral = machines.get(line.source.id).size > 1;
    const key = (isOfSeveral ? line.path : withoutMachine(line.path)).toLowerCase();
    if (!groups.has(key)) groups.set(key, { line, machine: isOfSeveral ? line.machine : null, rows: [] });
    groups.get(key).rows.push(row);
  }
  // The values of a source are above its earlier ones.
  for (const { rows: own } of groups.values()) own.sort((one, other) => Number(isEarlier(one.line)) - Number(isEarlier(other.line)));
  return [...groups.values()];
}

/** A section for each counter with several instances; the other counters of a set share a section. */
function sectionsOf(groups, isInOrder) {
  const counterOf = ({ line }) => `${line.set}: ${line.counter}`;
  const counts = new Map();
  for (const group of groups) counts.set(counterOf(group), (counts.get(counterOf(group)) ?? 0) + 1);
  const sections = new Map();
  for (const group of groups) {
    const isOfCounter = counts.get(counterOf(group)) > 1;
    const title = isOfCounter ? counterOf(group) : group.line.set;
    const key = `${title} ${isOfCounter} ${group.line.bound}`;
    if (!sections.has(key)) sections.set(key, { title, bound: group.line.bound, groups: [] });
    sections.get(key).groups.push({ ...group, name: nameOf(group, isOfCounter) });
  }
  const all = [...sections.values()];
  if (!isInOrder) for (const section of all) section.groups.sort((one, other) => collator.compare(one.name, other.name));
  return all;
}

function nameOf({ line, machine }, isOfCounter) {
  const name = isOfCounter && line.instance && !line.label ? (line.parent ? `${line.parent}/${line.instance}` : line.instance) : shortName(line);
  return machine ? `${machine} ${name}` : name;
}

/** The scale of a section: the whole range of percentages that cannot exceed 100, otherwise around the values. */
function axisOf({ groups, bound }, panel, unit) {
  const rows = groups.flatMap((group) => group.rows);
  const axis = { scale: panel.axis === "logarithmic" ? "logarithmic" : "linear", format: baseOf(unit), isMain: true, factor: formatOf(rows[0].line).factor };
  const max = panel.max ?? (axis.scale === "linear" ? bound : null);
  const [low, high] = rangeOf({ ...panel, max, axis: axis.scale }, axis, extent(rows.map(({ values }) => values), []), 5);
  return { ...axis, low, high };
}

/** The position of a value between the ends of an axis, 0 to 1. */
function shareOf({ low, high, scale }, value) {
  const share = scale === "logarithmic" ? Math.log(Math.max(value, low) / low) / Math.log(high / low) : (value - low) / (high - low);
  return Math.max(0, Math.min(1, share));
}

export const heatColour = (axis, value, palette) => palette[Math.round(shareOf(axis, value) * (STEPS - 1))];

/** The median distance between the times of a block, in seconds. */
export function usualDistance(times) {
  const distances = times.slice(1, 200).map((time, index) => time - times[index]).sort((one, other) => one - other);
  return distances[distances.length >> 1] ?? 1;
}

/** Calls `each(begin, end, value)` for the cells of a row. A value belongs to the time since the previous value. */
export function eachCell({ block, values }, each) {
  const { times } = block;
  const usual = usualDistance(times);
  let before = -Infinity;
  let reach = JOINED;
  for (let row = 0; row < times.length; row += 1) {
    const value = values[row];
    // The first value after a gap has a cell of the usual width.
    if (value === null) reach = 1;
    if (typeof value !== "number") continue;
    each(Math.max(before, times[row] - reach * usual), times[row], value);
    before = times[row];
    reach = JOINED;
  }
}

/** The height of a group's rows, with the distance to the next group, if rows have these heights. */
const heightOf = ({ rows }, named, shared, gap) => (rows.length > 1 ? rows.length * shared + GAP.shared * gap : named + GAP.between * gap);

/** The height at which every row has a readable name. */
export const heatHeight = ({ sections }) => sections.reduce((sum, { groups }) => sum + HEAD + groups.reduce((rows, group) => rows + heightOf(group, ROW.named, ROW.shared, 1), 0), 0);

/**
 * Places sections and rows within a height: `{heads, groups, rows, hidden}`. Heads have a title, an axis and their top; groups have a name, a
 * top and a height; rows have a top and a height; `hidden` is the number of groups without room.
 */
export function heatLayout({ sections }, height) {
  const all = sections.flatMap(({ groups }) => groups);
  const heads = sections.length * HEAD;
  const natural = all.reduce((sum, group) => sum + heightOf(group, 1, ROW.shared / ROW.named, 0), 0);
  const gaps = all.reduce((sum, group) => sum + heightOf(group, 0, 0, 1), 0);
  const room = Math.max(0, height - heads);
  // If rows are lower than the gaps, there are no gaps.
  const gap = room - gaps >= natural * 5 ? 1 : 0;
  const unit = Math.max(ROW.min, (room - gap * gaps) / Math.max(1, natural));
  const shared = (unit * ROW.shared) / ROW.named;
  const layout = { heads: [], groups: [], rows: [], hidden: 0, step: unit };
  let top = 0;
  for (const { title, axis, groups } of sections) {
    if (top + HEAD > height + 1) {
      layout.hidden += groups.length;
      continue;
    }
    layout.heads.push({ title, axis, top, height: HEAD });
    top += HEAD;
    for (const group of groups) {
      const own = heightOf(group, unit, shared, 0);
      if (top + own > height + 1) {
        layout.hidden += 1;
        continue;
      }
      layout.groups.push({ name: group.name, top, height: own });
      group.rows.forEach((row, index) => layout.rows.push({ row, axis, top: top + index * (group.rows.length > 1 ? shared : unit), height: group.rows.length > 1 ? shared : unit }));
      top += own + heightOf(group, 0, 0, gap);
    }
  }
  return layout;
}
