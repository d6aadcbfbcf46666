// The search in what can be added.

/**
 * The counters that all words of `text` are found in, with their set; the best first: those whose own name has all the words,
 * then the set's and its own name together, then their help.
 */
export function search(all, text, most) {
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
  return { found: found.slice(0, most), total: found.length };
}
