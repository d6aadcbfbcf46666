//! PDH's tables, and the differences between databases.

/// PDH's tables.
pub(super) const TABLES: [&str; 3] = ["CounterDetails", "DisplayToID", "CounterData"];

/// The types of columns and the statements that differ between databases.
pub(super) struct Dialect {
    /// The start of a statement that creates a table if it does not exist; `{table}` is its name.
    pub(super) create: &'static str,
    /// The type of `CounterID` in `CounterDetails`.
    pub(super) counter_id: &'static str,
    /// The type of a GUID.
    pub(super) guid: &'static str,
    /// The type of a 64-bit floating-point number.
    pub(super) float: &'static str,
    /// The end of a statement that creates a table.
    pub(super) table_options: &'static str,
    /// Like `table_options`, for `CounterData`.
    pub(super) data_options: &'static str,
    /// The source of the ids of new counters.
    pub(super) ids: Ids,
    /// A query for the names and types of tables and views with a name of [`TABLES`], in any case.
    pub(super) find_tables: &'static str,
    /// Whether unquoted names become lower case, so that names with upper-case letters need quotes.
    pub(super) folds_names: bool,
    /// Whether the driver holds all rows of a result in memory, so that long results are queried in parts.
    pub(super) holds_results: bool,
    /// Statements that begin a transaction in which all queries return the same state of the database.
    pub(super) begin_reading: &'static [&'static str],
    /// Statements that begin a transaction that writes.
    pub(super) begin_writing: &'static [&'static str],
    /// Statements that wait until no other program creates tables.
    pub(super) begin_creating: &'static [&'static str],
    /// Statements after which each commit waits until its data are on disk.
    pub(super) sync_commits: &'static [&'static str],
}

/// The source of the ids of new counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ids {
    /// The writer uses the next unused id, because no other program can write until the transaction ends.
    Next,
    /// The database generates the ids, and this query returns the last one.
    #[cfg_attr(not(feature = "odbc"), expect(dead_code, reason = "SQLite has one writer"))]
    Generated(&'static str),
}

/// SQLite. `CounterData` has no rowid, so that its key is not stored twice.
pub(super) const SQLITE: Dialect = Dialect {
    create: "CREATE TABLE IF NOT EXISTS {table}",
    counter_id: "integer PRIMARY KEY",
    guid: "char(36)",
    float: "float",
    table_options: "",
    data_options: " WITHOUT ROWID",
    ids: Ids::Next,
    // A table with a generated column is not accepted, because computing this column can take hours for a row.
    find_tables: "SELECT name, CASE WHEN type = 'table' AND EXISTS (SELECT 1 FROM pragma_table_xinfo(tables.name, 'main') \
                  WHERE hidden <> 0) THEN 'generated' ELSE type END FROM pragma_table_list AS tables WHERE schema = 'main' \
                  AND lower(name) IN ('counterdetails', 'displaytoid', 'counterdata')",
    folds_names: false,
    holds_results: false,
    begin_reading: &["BEGIN"],
    begin_writing: &["BEGIN IMMEDIATE"],
    begin_creating: &[],
    sync_commits: &["PRAGMA synchronous = FULL"],
};

impl Dialect {
    /// Statements that create the tables, with Windows' names and types. The key of `CounterData` has its columns in the order
    /// in which rows are written and read, so that rows are appended.
    pub(super) fn create_tables(&self) -> [String; 3] {
        let Self { counter_id, guid, float, table_options, data_options, .. } = self;
        let [details, displays, data] = TABLES.map(|table| self.create.replace("{table}", table));
        [
            format!(
                "{details} (
    CounterID {counter_id},
    MachineName varchar(1024) NOT NULL,
    ObjectName varchar(1024) NOT NULL,
    CounterName varchar(1024) NOT NULL,
    CounterType int NOT NULL,
    DefaultScale int NOT NULL,
    InstanceName varchar(1024),
    InstanceIndex int,
    ParentName varchar(1024),
    ParentObjectID int,
    TimeBaseA int,
    TimeBaseB int
){table_options}"
            ),
            format!(
                "{displays} (
    GUID {guid} NOT NULL PRIMARY KEY,
    RunID int,
    DisplayString varchar(1024) NOT NULL UNIQUE,
    LogStartTime char(24),
    LogStopTime char(24),
    NumberOfRecords int,
    MinutesToUTC int,
    TimeZoneName char(32)
){table_options}"
            ),
            format!(
                "{data} (
    GUID {guid} NOT NULL,
    CounterID int NOT NULL,
    RecordIndex int NOT NULL,
    CounterDateTime char(24) NOT NULL,
    CounterValue {float} NOT NULL,
    FirstValueA int,
    FirstValueB int,
    SecondValueA int,
    SecondValueB int,
    MultiCount int,
    PRIMARY KEY (GUID, RecordIndex, CounterID)
){data_options}"
            ),
        ]
    }
}

/// Number of columns of `CounterData`, which an inserted row has in this order: GUID, CounterID, RecordIndex, CounterDateTime,
/// CounterValue, FirstValueA, FirstValueB, SecondValueA, SecondValueB, MultiCount.
pub(super) const VALUE_COLUMNS: usize = 10;

/// The numbers of rows that one `INSERT` statement can insert. Fewer, larger statements take less time, but SQL Server allows at
/// most 2100 parameters.
pub(super) const INSERT_ROWS: [usize; 3] = [200, 20, 1];

/// The statement that inserts this many rows into `CounterData`.
pub(super) fn insert_values(rows: usize) -> String {
    let row = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    format!(
        "INSERT INTO CounterData (GUID, CounterID, RecordIndex, CounterDateTime, CounterValue, FirstValueA, FirstValueB, \
         SecondValueA, SecondValueB, MultiCount) VALUES {}",
        vec![row; rows].join(", ")
    )
}

/// Divides the values of rows into one part per `INSERT` statement. Returns each part with the index of its number of rows in
/// [`INSERT_ROWS`].
pub(super) fn insert_parts<T>(values: &[T]) -> impl Iterator<Item = (usize, &[T])> {
    let mut rest = values;
    std::iter::from_fn(move || {
        let fits = |rows: &usize| rest.len() >= rows * VALUE_COLUMNS;
        let statement = INSERT_ROWS.iter().position(fits)?;
        let (part, after) = rest.split_at(INSERT_ROWS[statement] * VALUE_COLUMNS);
        rest = after;
        Some((statement, part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_divided_into_statements() {
        for rows in [0, 1, 19, 20, 21, 200, 219, 641] {
            let values: Vec<usize> = (0..rows * VALUE_COLUMNS).collect();
            let parts: Vec<_> = insert_parts(&values).collect();
            assert!(
                parts.iter().all(|(statement, part)| part.len() == INSERT_ROWS[*statement] * VALUE_COLUMNS)
            );
            assert_eq!(parts.iter().flat_map(|(_, part)| *part).copied().collect::<Vec<_>>(), values);
            assert!(parts.len() <= rows / 200 + 9 + 19, "{rows} rows: {} statements", parts.len());
        }
        for rows in INSERT_ROWS {
            assert_eq!(insert_values(rows).matches('?').count(), rows * VALUE_COLUMNS);
            assert!(rows * VALUE_COLUMNS <= 2100);
        }
    }
}
