//! Hexadecimal types: `0x...` in tables, decimal in machine-readable output.

use tachograph_counters::CounterType;

use crate::log_fixture::{LogFixture, counter, one, raw};
use crate::run::Folder;

fn folder() -> Folder {
    let folder = Folder::new();
    let mut log = LogFixture::new("WEB1")
        .value("Driver", counter("Flags", CounterType::RAWCOUNT_HEX))
        .value("Driver", counter("Address", CounterType::LARGE_RAWCOUNT_HEX));
    for second in 0..2 {
        log.at(second, vec![one(raw(0xbeef, 0)), one(raw(0x100_0000_0000, 0))]);
    }
    log.write(&folder.path("in.blg"));
    folder
}

#[test]
fn the_table_has_0x() {
    let table = folder().prints(["stats", "in.blg"]);
    let cells = |line: usize| table.lines().nth(line).expect("a row").split_whitespace().collect::<Vec<_>>();
    assert_eq!(cells(1)[1..], [&["0x10000000000"; 7][..], &["2", "0"]].concat());
    assert_eq!(cells(2)[1..], [&["0xbeef"; 7][..], &["2", "0"]].concat());
}

#[test]
fn json_and_csv_have_decimals() {
    let folder = folder();
    let rows = folder.stats(&["in.blg"]);
    assert_eq!((&rows[1]["last"], &rows[1]["average"]), (&48879.into(), &48879.into()));
    assert_eq!(rows[1]["type"], "PERF_COUNTER_RAWCOUNT_HEX");
    let csv = folder.prints(["stats", "-f", "csv", "in.blg"]);
    assert!(csv.contains(",2,0,48879,48879,48879,48879,"), "{csv}");
    let text = folder.prints(["relog", "in.blg", "-o", "-"]);
    assert!(text.ends_with("\"48879\",\"1099511627776\"\r\n"), "{text}");
}
