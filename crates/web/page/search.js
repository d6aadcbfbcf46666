// The search for counters.

/**
 * The counters that contain all words of `text`, with their set; the best first: in the counter's name, then in the names of
 * set and counter, then in the help.
 */
export function search(all, text, max) {
  const words = text.toLowerCase().split(/[\s\\()*]+/).filter(Boolean);
  if (!words.length) return { found: [], total: 0 };
  const ranks = [[], [], []];
  for (const set of all) {
    const name = set.name.toLowerCase();
    for (const counter of set.counters) {
      const own = counter.name.toLowerCase();
      const has = (where) => words.every((word) => where.includes(word));
      if (has(own)) ranks[0].push({ set, counter });
      else if (has(`${name} ${own}`)) ranks[1].push({ set, counter });
      else if (has(`${name} ${own} ${(counter.help ?? "").toLowerCase()}`)) ranks[2].push({ set, counter });
    }
  }
  const found = ranks.flat();
  return { found: found.slice(0, max), total: found.length };
}
