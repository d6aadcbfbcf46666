// The lines of a panel: those of the loaded blocks that its counters select, with the panel's keys, names and settings.

import { counterFor, labelOf } from "./panels.js";
import { withoutMachine } from "./paths.js";
import { entry, panelKey, state } from "./state.js";

/** Whether a line has only zeros, or no value, in the visible range. */
const isIdle = ({ statistics, average }) => (statistics ? !statistics.minimum && !statistics.maximum : !average.some(Boolean));

/** Whether a line has a value in the visible range. */
const hasValue = ({ statistics, average }) => (statistics ? statistics.minimum !== null : average.some((value) => typeof value === "number"));

/** Why a panel has no lines although its sources have samples. */
export function whyNoLines(panel, { blocks }, isRunning) {
  const removed = blocks.flatMap((block) => block.removed ?? []);
  if (removed.some(hasValue)) return "All values are 0 in this time range.";
  if (!isRunning) return blocks.length ? "No values in this time range." : "…";
  // A path with wildcards selects nothing if its set has no instances.
  return removed.length ? "No values yet." : `No values yet. This machine may have no instances of ${panel.counters.slice(0, 3).map(({ path }) => path).join(", ")}.`;
}

/** Whether a line is of all instances, or of all processors of a node. */
const isTotal = ({ instance }) => /(^|,)_total$/i.test(instance ?? "");

/** The name of a line by which lines of several logs are equal. */
const nameOf = ({ path }) => withoutMachine(path).toLowerCase();

/** The loaded data reduced to the lines of a panel. Lines that are not shown are in `removed` of their block. */
export function dataOf(panel, data) {
  const coloured = new Set();
  // An instance that is active in one log is shown for all logs.
  const active = new Set(data.blocks.length > 1 && panel.counters.some((counter) => counter.only_active) ? data.lines.filter((line) => !isIdle(line)).map(nameOf) : []);
  // The lines of the first source by path without machine, and the number of sources before the present one.
  const first = new Map();
  let before = 0;
  const blocks = data.blocks.map((block) => {
    const [lines, removed] = [[], []];
    const nth = block.source.of ? 0 : before++;
    const paired = new Set();
    for (const line of block.lines) {
      const counter = counterFor(panel, line.path);
      if (!counter) continue;
      const own = { ...line, key: panelKey(panel, line.key), base: line };
      if (counter === "except" || state.removed.has(own.key) || (counter.only_active && isIdle(line) && !active.has(nameOf(line)))) {
        removed.push(own);
        continue;
      }
      own.label = labelOf(counter, line);
      entry(own.key, settingsOf(counter, coloured));
      if (!block.source.of) {
        const path = nameOf(line);
        own.nth = nth;
        if (!nth) first.set(path, own);
        else if (first.has(path) && !paired.has(path)) own.sameAs = { key: first.get(path).key, nth, line: first.get(path) };
        paired.add(path);
      }
      lines.push(own);
    }
    // A total is not added to its parts.
    const counterOf = ({ set, counter, machine }) => `${set} ${counter} ${machine}`;
    const parts = new Set(lines.filter((line) => !isTotal(line)).map(counterOf));
    for (const line of lines) line.isTotal = isTotal(line) && parts.has(counterOf(line));
    return { ...block, lines, removed };
  });
  const wanted = new Set(panel.counters.map(({ path }) => path.toLowerCase()));
  const missing = data.missing.filter(({ path }) => wanted.has(path.toLowerCase()));
  return { ...data, blocks, lines: blocks.flatMap((block) => block.lines), missing, paths: panel.counters.map(({ path }) => path) };
}

/** How a counter of a view is shown at first. The colour is that of the first instance. */
function settingsOf(counter, coloured) {
  const { scale, colour, is_shown, is_highlighted } = counter;
  const settings = { isOfView: true };
  if (scale !== null) settings.scale = String(scale);
  if (!is_shown) settings.isHidden = true;
  if (is_highlighted) settings.isHighlighted = true;
  if (colour !== null && !coloured.has(counter)) {
    coloured.add(counter);
    Object.assign(settings, { styleIndex: colour - 1, isColoured: true });
  }
  return settings;
}

/** The data of all panels as one: each counter once. `panelData` has the data of each panel. */
export function combined(panelData, all) {
  const shown = new Map();
  for (const { lines } of panelData.values()) {
    for (const line of lines) if (!shown.has(line.base) || !entry(line.key).isHidden) shown.set(line.base, line);
  }
  const blocks = all.blocks.map((block) => ({ ...block, lines: block.lines.filter((line) => shown.has(line)).map((line) => shown.get(line)), removed: block.lines.filter((line) => !shown.has(line)) }));
  return { ...all, blocks, lines: blocks.flatMap((block) => block.lines), paths: state.paths };
}
