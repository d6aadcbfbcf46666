// Counter paths: removing the machine, matching.

/** A counter path without its machine. */
export const withoutMachine = (path) => path.replace(/^\\\\[^\\]+/, "");

/** Whether a counter path, which can have `*` and `?`, matches a full path. Without a machine it matches any. */
export function selects(pattern, path) {
  const text = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*/g, ".*").replace(/\?/g, ".");
  return new RegExp(`^${text}$`, "is").test(pattern.startsWith("\\\\") ? path : withoutMachine(path));
}
