//! Databases that were not written by this crate, such as those of perfmon.

use rusqlite::Connection;

use super::{name_in, read, try_read};
use crate::archive::generated::TempFolder;

/// The tables as administrators create them for perfmon: the primary key in another order, and `uniqueidentifier` columns.
const PERFMON: &str = "
CREATE TABLE CounterData (
    GUID uniqueidentifier NOT NULL, CounterID int NOT NULL, RecordIndex int NOT NULL, CounterDateTime char(24) NOT NULL,
    CounterValue float NOT NULL, FirstValueA int, FirstValueB int, SecondValueA int, SecondValueB int, MultiCount int,
    PRIMARY KEY (GUID, CounterID, RecordIndex));
CREATE TABLE CounterDetails (
    CounterID integer PRIMARY KEY, MachineName varchar(1024) NOT NULL, ObjectName varchar(1024) NOT NULL,
    CounterName varchar(1024) NOT NULL, CounterType int NOT NULL, DefaultScale int NOT NULL, InstanceName varchar(1024),
    InstanceIndex int, ParentName varchar(1024), ParentObjectID int, TimeBaseA int, TimeBaseB int);
CREATE TABLE DisplayToID (
    GUID uniqueidentifier NOT NULL PRIMARY KEY, RunID int, DisplayString varchar(1024) NOT NULL UNIQUE,
    LogStartTime char(24), LogStopTime char(24), NumberOfRecords int, MinutesToUTC int, TimeZoneName char(32));
INSERT INTO DisplayToID VALUES ('5B0F9F2E-0000-4000-8000-00000000ABCD', 0, 'web', '2013-02-19 18:50:17.844',
    '2013-02-19 18:50:19.844', 3, 480, 'Pacific Standard Time           ');
INSERT INTO CounterDetails VALUES
    (7, '\\\\WEB1', 'PhysicalDisk', 'Avg. Disk sec/Read', 805438464, 3, '0 C:', NULL, NULL, NULL, 14318180, 0),
    (9, '\\\\WEB1', 'Memory', 'Available Bytes', 65792, -6, NULL, NULL, NULL, NULL, NULL, NULL),
    (11, '\\\\WEB1', 'Thread', 'Priority Current', 65536, 0, '0', 2, 'sqlservr', 0, 0, 0);
";

const GUID: &str = "5B0F9F2E-0000-4000-8000-00000000ABCD";

fn database(folder: &TempFolder) -> Connection {
    let connection = Connection::open(folder.0.join("perfmon.db")).expect("a database");
    connection.execute_batch(PERFMON).expect("tables");
    connection
}

#[test]
fn a_database_of_perfmon_is_read() {
    let folder = TempFolder::new();
    database(&folder)
        .execute_batch(&format!(
            "INSERT INTO CounterData VALUES
             ('{GUID}', 7, 1, '2013-02-19 18:50:17.844' || char(0), 0, -1, 0, 1, 0, 1),
             ('{GUID}', 7, 2, '2013-02-19 18:50:18:844 ', 0.5, 0, 1, 4294967295, 0, 1),
             ('{GUID}', 7, 3, '2013-02-19 18:50:19.844', 0.5, 5, -2147483648, 2, 0, NULL),
             ('{GUID}', 9, 1, '2013-02-19 18:50:17.844', 3e9, -1294967296, 0, NULL, NULL, NULL),
             ('{GUID}', 9, 2, '2013-02-19 18:50:18.844', 3e9, 17, 0, NULL, NULL, NULL),
             ('{GUID}', 11, 2, '2013-02-19 18:50:18.844', 8, 8, 0, 0, 0, 1),
             ('another log', 9, 1, '2013-02-19 18:50:17.844', 3e9, 1, 0, NULL, NULL, NULL)"
        ))
        .expect("rows");
    let name = name_in(&folder, "perfmon.db", "web");
    let found = read(&name);
    let disk = r##"\\WEB1\PhysicalDisk(None/"0 C:"#0)\Avg. Disk sec/Read 0x30020400 14318180 10^3"##;
    let memory = r"\\WEB1\Memory\Available Bytes 0x10100 0 10^-6";
    let thread = r##"\\WEB1\Thread(Some("sqlservr")/"0"#2)\Priority Current 0x10000 0 10^0"##;
    let expected: [&[(&str, &str)]; 3] = [
        &[(disk, "4294967295/1x1"), (memory, "3000000000/0x1")],
        &[(disk, "4294967296/4294967295x1"), (memory, "17/0x1"), (thread, "8/0x1")],
        &[(disk, "-9223372036854775803/2x1")],
    ];
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found.0, 13_005_773_417_844 + 1000 * index as i64);
        let expected: Vec<_> =
            expected.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let mut expected = expected;
        expected.sort();
        assert_eq!(found.1.clone().into_iter().collect::<Vec<_>>(), expected);
    }
    assert_eq!(found.len(), 3);
    let reader = tachograph_logs::open(&name).expect("the log can be opened");
    assert_eq!(reader.facts().zone.bias_minutes, 480);
    assert_eq!(reader.facts().zone.standard_name, "Pacific Standard Time");
}

#[test]
fn rows_without_raw_values_are_problems() {
    let folder = TempFolder::new();
    database(&folder)
        .execute_batch(&format!(
            "INSERT INTO CounterData VALUES
             ('{GUID}', 7, 1, '2013-02-19 18:50:17.844', 0, 1, 0, 1, 0, 1),
             ('{GUID}', 9, 1, '2013-02-19 18:50:17.844', 3e9, NULL, NULL, NULL, NULL, NULL),
             ('{GUID}', 10, 1, '2013-02-19 18:50:17.844', 3e9, 1, 0, NULL, NULL, NULL),
             ('{GUID}', 7, 2, '2013-02-31 18:50:18.844', 0, 2, 0, 1, 0, 1),
             ('{GUID}', 7, 3, '2013-02-19 18:50:19.844', 0, 3, 0, 1, 0, 1)"
        ))
        .expect("rows");
    let (samples, problems) = try_read(&name_in(&folder, "perfmon.db", "web")).expect("the log can be read");
    assert_eq!(samples.len(), 2);
    assert_eq!(
        problems
            .iter()
            .map(|problem| problem.split(": ").nth(1).unwrap_or(problem).to_owned())
            .collect::<Vec<_>>(),
        [
            "row without a valid raw value or CounterID; skipped",
            "value of a counter that CounterDetails lacks; skipped",
            "sample with an invalid CounterDateTime; skipped",
        ],
        "{problems:?}"
    );
}
