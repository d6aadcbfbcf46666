// The names of lines.

import { idOf, lengthText } from "./earlier.js";

/** A name: counter and instance. */
export function nameOf(line) {
  const instance = line.parent ? `${line.parent}/${line.instance}` : line.instance;
  return instance === null || instance === undefined ? line.counter : `${line.counter} (${instance})`;
}

/** Whether blocks are of more than one source, not counting the same source some time earlier. */
export const areSeveral = (blocks) => new Set(blocks.map(({ source }) => idOf(source))).size > 1;

/** A name with its source if there are several, or with the shift of earlier values. */
export function withSource(name, source, several) {
  if (several) return `${name} · ${source.name}`;
  return source.of ? `${name} · ${lengthText(source.shift)} earlier` : name;
}

/** The name of a line in its panel: its label, or counter and instance. */
export const shortName = (line) => line.label ?? nameOf(line);
