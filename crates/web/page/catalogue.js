// The counter sets, counters and instances of a source.

import * as api from "./api.js";

const sets = new Map();

/** The counter sets of a source. Those of logs are requested once, live ones whenever the tree opens. */
export async function setsOf(source, fresh = false) {
  if (fresh || !sets.has(source.id)) {
    const loading = api.sets(source.id).then((response) => response.sets.sort((one, other) => one.name.localeCompare(other.name, "en")));
    sets.set(source.id, loading);
    // Failures are not cached.
    loading.catch(() => sets.delete(source.id));
  }
  return sets.get(source.id);
}

/** The present instances of a set, `_Total` first. */
export async function instancesOf(source, set) {
  const { instances } = await api.instances(source.id, set);
  const collator = new Intl.Collator("en", { numeric: true });
  return instances.sort((one, other) => Number(isTotal(other)) - Number(isTotal(one)) || collator.compare(one, other));
}

const isTotal = (name) => name === "_Total";

/** The path of a counter: `\Set(instance)\Counter`. */
export function pathOf(set, counter, instance) {
  return instance === null ? `\\${set.name}\\${counter.name}` : `\\${set.name}(${instance})\\${counter.name}`;
}

/** The path of all instances of a counter, or of the counter of a set without instances. */
export function widestPath(set, counter) {
  return pathOf(set, counter, set.has_instances ? "*" : null);
}
