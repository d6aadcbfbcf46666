// The counter sets, counters and instances of a source.

import * as api from "./api.js";

const sets = new Map();

/** The counter sets of a source, or of one of its machines. They are requested once, or again if `fresh`, as for live sources. */
export async function setsOf(source, fresh = false, machine = null) {
  const key = JSON.stringify([source.id, machine]);
  if (fresh || !sets.has(key)) {
    const loading = api.sets(source.id, machine).then((response) => response.sets.sort((one, other) => one.name.localeCompare(other.name, "en")));
    sets.set(key, loading);
    // Failures are not cached.
    loading.catch(() => sets.delete(key));
  }
  return sets.get(key);
}

/** The current instances of a set, `_Total` first. */
export async function instancesOf(source, set, machine = null) {
  const { instances } = await api.instances(source.id, set, machine);
  const collator = new Intl.Collator("en", { numeric: true });
  return instances.sort((one, other) => Number(isTotal(other)) - Number(isTotal(one)) || collator.compare(one, other));
}

const isTotal = (name) => name === "_Total";

/** The path of a counter: `\Set(instance)\Counter`. */
export function pathOf(set, counter, instance) {
  return instance === null ? `\\${set.name}\\${counter.name}` : `\\${set.name}(${instance})\\${counter.name}`;
}

/** A path on a machine; on all machines if `machine` is null. */
export const onMachine = (machine, path) => (machine === null ? path : `\\\\${machine}${path}`);

/** The path of all instances of a counter, or of the counter of a set without instances. */
export function widestPath(set, counter) {
  return pathOf(set, counter, set.has_instances ? "*" : null);
}
