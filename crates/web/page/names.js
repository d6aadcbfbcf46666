// The names of lines.

import { idOf, lengthText, presentKey } from "./earlier.js";

/** The instance with its parent; null without one. */
export const instanceOf = (line) => (line.parent ? `${line.parent}/${line.instance}` : line.instance);

/** A name: counter and instance. */
export function nameOf(line) {
  const instance = instanceOf(line);
  return instance === null || instance === undefined ? line.counter : `${line.counter} (${instance})`;
}

/** Whether blocks are of more than one source, not counting the same source some time earlier. */
export const areSeveral = (blocks) => new Set(blocks.map(({ source }) => idOf(source))).size > 1;

/** Whether lines of a source are of more than one machine, so that names need the machine. Lines of several sources are named after these. */
export const areOfSeveralMachines = (lines) => lines.some(({ source, machine }) => machine && machine !== lines.find((one) => one.source === source && one.machine).machine);

/** The words of a name: the machine of the line, if lines are of several machines, and the others. A missing word is null. */
export const withMachine = (line, areNamed, ...words) => [areNamed && line.machine, ...words].filter(Boolean).join(" ");

/** A name with its source if there are several, or with the shift of earlier values. */
export function withSource(name, source, several) {
  if (several) return `${name} · ${source.name}`;
  return source.of ? `${name} · ${lengthText(source.shift)} earlier` : name;
}

/** The name of a line in its panel: its label, or counter and instance. */
export const shortName = (line) => line.label ?? nameOf(line);

/** The line of the same counter in the first source, or at the present time; the line itself if it is that line. */
export const firstKey = (line) => line.sameAs?.key ?? presentKey(line);

/** The counter that all lines are of, if they differ in their instances and have no labels; otherwise null. */
export function sharedCounter(lines) {
  const [first] = lines;
  const isShared = new Set(lines.map(firstKey)).size > 1 && lines.every(({ label, instance, counter, set }) => label === null && instance && counter === first.counter && set === first.set);
  return isShared ? first.counter : null;
}
