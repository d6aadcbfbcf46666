// A block is the data of a source in a time range: the columns of its counters and their statistics. The chart joins the blocks
// of several sources on one time axis.

import { keyOf } from "./state.js";
import { seconds } from "./time.js";

/** Values that are at most this many intervals apart are joined by a line. */
const JOINED = 1.75;

/** The block of a response of `/api/sources/ID/series`. `first` is the time of its first value, or null. */
export function blockOf(source, response) {
  const lines = response.series.map((series) => ({ ...series, key: keyOf(source.id, series.path), source }));
  const width = response.begin === null ? 0 : (seconds(response.end) - seconds(response.begin)) / Math.max(1, response.columns);
  const times = withEmptyColumns(response.times, lines, width);
  return {
    source,
    times,
    begin: response.begin === null ? 0 : seconds(response.begin),
    end: response.end === null ? 0 : seconds(response.end),
    first: seconds(response.first_time),
    interval: source.interval,
    lines,
    missing: response.missing ?? [],
  };
}

/** Inserts one empty column for each run of columns that the server omitted because they have no values. */
function withEmptyColumns(times, lines, width) {
  const gaps = [];
  for (let row = 1; row < times.length; row += 1) if (times[row] - times[row - 1] > 2 * width) gaps.push(row);
  if (!gaps.length) return times;
  const widened = (values, fill) => {
    const all = [];
    let from = 0;
    for (const row of gaps) {
      for (; from < row; from += 1) all.push(values[from]);
      all.push(fill(row));
    }
    for (; from < values.length; from += 1) all.push(values[from]);
    return all;
  };
  for (const line of lines) for (const name of ["average", "minimum", "maximum"]) line[name] = widened(line[name], () => null);
  return widened(times, (row) => (times[row - 1] + times[row]) / 2);
}

/** A block with its times moved back by `by` seconds, for sources that are overlaid with their starts aligned. */
export function shifted(block, by) {
  if (!by) return block;
  return { ...block, times: block.times.map((time) => time - by), begin: block.begin - by, end: block.end - by };
}

/** The median distance between values in seconds, for sources without an interval. */
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
 * Distinguishes gaps from columns that are empty only because they are narrower than the interval. An empty column stays null (the
 * line breaks) if the values before and after it are more than `JOINED` intervals apart; otherwise it becomes undefined (the line
 * continues).
 */
export function withGaps(times, values, interval) {
  const max = JOINED * (interval ?? usualDistance(times, values));
  const filled = values.slice();
  let row = 0;
  while (row < filled.length) {
    if (filled[row] !== null) {
      row += 1;
      continue;
    }
    const from = row;
    while (row < filled.length && filled[row] === null) row += 1;
    const isJoined = from === 0 || row === filled.length || times[row] - times[from - 1] <= max;
    if (isJoined) filled.fill(undefined, from, row);
  }
  return filled;
}

/**
 * One time axis for the lines of all blocks: `{times, columns}`. A column has the average, minimum and maximum of a line, multiplied by
 * `factorOf(line)`. Values are undefined where the line's block has no column.
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
        block,
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

/** The row with the value nearest to a moment, at most `max` seconds away, or -1. */
export function nearestRow(block, line, at, max) {
  const { times } = block;
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < at) low = middle + 1;
    else high = middle;
  }
  let best = -1;
  let distance = max;
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

/** Runs of rows for which `has(row)` is true; rows without a value (undefined) are skipped, null ends a run. */
function runsOf(values, has) {
  const runs = [];
  let rows = [];
  const close = () => {
    if (rows.length) runs.push(rows);
    rows = [];
  };
  for (let row = 0; row < values.length; row += 1) {
    if (has(row)) rows.push(row);
    else if (values[row] === null) close();
  }
  close();
  return runs;
}

/** Runs of rows that have both a minimum and a maximum. */
export const bandRuns = ({ minimum, maximum, average }) => runsOf(average, (row) => typeof minimum[row] === "number" && typeof maximum[row] === "number");

/** Runs of rows that have a value. */
export const valueRuns = (values) => runsOf(values, (row) => typeof values[row] === "number");

/** The rows of values without neighbours, which would be invisible without a point. */
export const isolatedRows = (values) => valueRuns(values).filter((rows) => rows.length === 1).map(([row]) => row);
