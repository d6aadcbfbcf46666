// A block is what the server tells of one source over one stretch: the columns of its counters and their statistics.
// The chart joins the blocks of several sources on one axis of time.

import { keyOf } from "./state.js";
import { seconds } from "./time.js";

/** How many intervals may lie between two values that are still joined by a line. */
const JOINED = 1.75;

/** The block of an answer of `/api/sources/ID/series`. `first` is the time of its first value, null without any. */
export function blockOf(source, answer) {
  const lines = answer.series.map((told) => ({ ...told, key: keyOf(source.id, told.path), source }));
  return {
    source,
    times: answer.times,
    begin: answer.begin === null ? 0 : seconds(answer.begin),
    end: answer.end === null ? 0 : seconds(answer.end),
    first: seconds(answer.first_time),
    interval: source.interval,
    lines,
    missing: answer.missing ?? [],
  };
}

/** A block whose times are that many seconds earlier: where sources are laid over each other from their starts. */
export function shifted(block, by) {
  if (!by) return block;
  return { ...block, times: block.times.map((time) => time - by), begin: block.begin - by, end: block.end - by };
}

/** The usual distance of values, where the source tells none. */
function usualDistance(times, values) {
  const distances = [];
  let previous = null;
  for (let row = 0; row < times.length && distances.length < 200; row += 1) {
    if (values[row] === null) continue;
    if (previous !== null) distances.push(times[row] - previous);
    previous = times[row];
  }
  distances.sort((one, other) => one - other);
  return distances[distances.length >> 1] ?? Infinity;
}

/**
 * Tells real gaps from columns that lie between two values: a column without a value stays null (the line breaks) only where
 * its neighbours are further apart than an interval; else it becomes undefined (the line goes on).
 */
export function withGaps(times, values, interval) {
  const most = JOINED * (interval ?? usualDistance(times, values));
  const told = values.slice();
  let row = 0;
  while (row < told.length) {
    if (told[row] !== null) {
      row += 1;
      continue;
    }
    const from = row;
    while (row < told.length && told[row] === null) row += 1;
    const isJoined = from === 0 || row === told.length || times[row] - times[from - 1] <= most;
    if (isJoined) told.fill(undefined, from, row);
  }
  return told;
}

/**
 * One axis of time for the lines of all blocks: `{times, columns}` with, for each line, its average, minimum and maximum
 * times `factorOf(line)`. Where a block has no column at a moment of another, there is undefined.
 */
export function joined(blocks, isShown, factorOf) {
  const times = blocks.length === 1 ? blocks[0].times : [...new Set(blocks.flatMap((block) => block.times))].sort((one, other) => one - other);
  const columns = [];
  for (const block of blocks) {
    const rows = blocks.length === 1 ? null : rowsOf(times, block.times);
    for (const line of block.lines) {
      if (!isShown(line)) continue;
      const factor = factorOf(line);
      const average = withGaps(block.times, line.average, block.interval);
      columns.push({
        line,
        average: placed(average, rows, times.length, factor),
        minimum: placed(line.minimum, rows, times.length, factor),
        maximum: placed(line.maximum, rows, times.length, factor),
      });
    }
  }
  return { times, columns };
}

function rowsOf(times, own) {
  const rows = new Int32Array(own.length);
  let row = 0;
  for (let index = 0; index < own.length; index += 1) {
    while (times[row] < own[index]) row += 1;
    rows[index] = row;
  }
  return rows;
}

function placed(values, rows, length, factor) {
  if (!rows) return factor === 1 ? values : values.map((value) => (value === null || value === undefined ? value : value * factor));
  const all = new Array(length).fill(undefined);
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index];
    all[rows[index]] = value === null || value === undefined ? value : value * factor;
  }
  return all;
}

/** The row of a line whose value is nearest to a moment, or -1; not further away than `most` seconds. */
export function nearestRow(block, line, at, most) {
  const { times } = block;
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < at) low = middle + 1;
    else high = middle;
  }
  let best = -1;
  let distance = most;
  for (let row = low; row < times.length && times[row] - at <= distance; row += 1) {
    if (line.average[row] === null || line.average[row] === undefined) continue;
    [best, distance] = [row, times[row] - at];
    break;
  }
  for (let row = low - 1; row >= 0 && at - times[row] <= distance; row -= 1) {
    if (line.average[row] === null || line.average[row] === undefined) continue;
    best = row;
    break;
  }
  return best;
}
