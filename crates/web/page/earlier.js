// Sources compared with themselves: the same counters some time earlier, as a separate source.

import { LENGTHS } from "./typed-time.js";

/** A source `shift` seconds earlier. Its `of` and `originalKind` are the id and the kind of the source on the server. */
export const earlierOf = (source, shift) => ({ ...source, id: `${source.id}-earlier`, of: source.id, originalKind: source.kind, kind: "earlier", shift, name: `${source.name}, ${lengthText(shift)} earlier` });

/** The id on the server. */
export const idOf = (source) => source.of ?? source.id;

/** The key of the same counter without a shift. */
export const presentKey = (line) => (line.source.of ? line.key.replace("-earlier ", " ") : line.key);

/** Whether a line shows earlier values of its source. */
export const isEarlier = (line) => Boolean(line.source.of);

/** A length of time in its largest whole unit: `1 d`, `90 min`. */
export function lengthText(seconds) {
  const [unit, size] = LENGTHS.find(([, size]) => seconds >= size && seconds % size === 0) ?? ["s", 1];
  return `${Number((seconds / size).toFixed(3))} ${unit}`;
}
