// Tables as trees: rows below their parents, or processes by control group. The same order as in the terminal monitor.

/**
 * The rows below their parents: `[{row, depth, isContext}]`. `sorted` are all rows in order. A row for which `isFound` is false appears
 * only above a found row; then `isContext` is true.
 */
export function treeLines(sorted, isFound, parentOf) {
  const shown = new Set();
  for (const row of sorted.filter(isFound)) for (let above = row; above && !shown.has(above); above = parentOf(above)) shown.add(above);
  // A row is sorted by its own place or that of a row below it, whichever is first, so that busy children move an idle parent up.
  const places = new Map();
  sorted.forEach((row, place) => {
    for (let above = row; above && shown.has(row) && !places.has(above); above = parentOf(above)) places.set(above, place);
  });
  const ordered = [...shown].sort((one, other) => places.get(one) - places.get(other));
  const children = new Map();
  const roots = [];
  for (const row of ordered) {
    const above = parentOf(row);
    if (!above || above === row || !shown.has(above)) roots.push(row);
    else if (children.has(above)) children.get(above).push(row);
    else children.set(above, [row]);
  }
  const lines = [];
  const visited = new Set();
  const visit = (first) => {
    const stack = [[first, 0]];
    while (stack.length) {
      const [row, depth] = stack.pop();
      if (visited.has(row)) continue;
      visited.add(row);
      lines.push({ row, depth, isContext: !isFound(row) });
      for (const child of [...(children.get(row) ?? [])].reverse()) stack.push([child, depth + 1]);
    }
  };
  roots.forEach(visit);
  // Parents that form a cycle have no root.
  ordered.forEach(visit);
  return lines;
}

/** Rows below headings, in the order of the first row of each group: `{group, count}` and `{row, depth}`. */
export function groupLines(sorted, groupOf) {
  const groups = new Map();
  for (const row of sorted) {
    const group = groupOf(row) ?? "(unknown group)";
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push(row);
  }
  return [...groups].flatMap(([group, rows]) => [{ group, count: rows.length }, ...rows.map((row) => ({ row, depth: 1, isContext: false }))]);
}

/** A function that finds the parent of a row: by process ids, or by the paths of control groups. */
export function parentsOf(rows, table) {
  const machine = ({ source, machine: name }) => `${source.id} ${name}`;
  if (table.set === "Cgroup") {
    const byName = new Map(rows.map((row) => [`${machine(row)} ${row.name}`, row]));
    return (row) => {
      const above = row.name.slice(0, Math.max(0, row.name.lastIndexOf("/"))) || (row.name === "/" ? "" : "/");
      return byName.get(`${machine(row)} ${above}`) ?? null;
    };
  }
  const idOf = (row, counter) => (counter ? (row.lines.get(counter.toLowerCase())?.statistics?.last ?? null) : null);
  const byId = new Map(rows.filter((row) => !row.isReserved).map((row) => [`${machine(row)} ${idOf(row, table.process)}`, row]));
  return (row) => {
    const id = idOf(row, table.parent);
    return id === null ? null : (byId.get(`${machine(row)} ${id}`) ?? null);
  };
}
