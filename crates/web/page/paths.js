// Counter paths: what they say without their machine, and which counters they select.

/** A counter path without the machine that it may begin with. */
export const withoutMachine = (path) => path.replace(/^\\\\[^\\]+/, "");

/** Whether a counter path, which may have `*` and `?`, selects the counter of this full path. One without a machine means any. */
export function selects(pattern, path) {
  const text = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*/g, ".*").replace(/\?/g, ".");
  return new RegExp(`^${text}$`, "is").test(pattern.startsWith("\\\\") ? path : withoutMachine(path));
}
