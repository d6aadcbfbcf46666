// Runs of consecutive values in a column of a chart.

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
