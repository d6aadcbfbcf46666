// Counter paths: removing the machine, matching.

/** A counter path without its machine. */
export const withoutMachine = (path) => path.replace(/^\\\\[^\\]+/, "");

/** Whether a counter path, which can have `*` and `?`, matches a full path. A counter path without a machine matches every machine. */
export const selects = (pattern, path) => matcherOf(pattern)(path);

const compiled = new Map();

/** Returns a function that tests whether a full path matches a pattern; compiled once. */
export function matcherOf(pattern) {
  let found = compiled.get(pattern);
  if (!found) {
    const text = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*/g, ".*").replace(/\?/g, ".");
    const expression = new RegExp(`^${text}$`, "is");
    found = (path) => expression.test(pattern.startsWith("\\\\") ? path : withoutMachine(path));
    if (compiled.size > 5000) compiled.clear();
    compiled.set(pattern, found);
  }
  return found;
}

/** Whether a pattern can select several counters. */
export const hasWildcard = (pattern) => /[*?]/.test(pattern);
