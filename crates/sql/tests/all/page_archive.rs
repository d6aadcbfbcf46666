//! The archive of the examples in docs/sql.md and docs/archive.md.
//!
//! It has the counter sets that README.md and docs/guide.md recommend to record, with the types that they have on Linux: several
//! counters of one name with different types, `_Total` next to its parts, and one quantity in three units.

use tachograph_counters::{CounterType, RawValue, Status};

use crate::generated::{TempFolder, write};
use crate::log_fixture::{LogFixture, START, TICKS, counter, one, raw, rows};

/// The number of seconds in the archive.
const SECONDS: i64 = 600;

/// The share of the time for which processor 0 is busy, in percent, in each minute.
const BUSY: [i64; 10] = [30, 55, 20, 85, 40, 35, 60, 25, 45, 50];

/// Writes ten minutes of the machine `web-1`, with a gap of five seconds and a value that could not be read.
pub(crate) fn write_archive_of_page(folder: &TempFolder) {
    let mut samples = recorded().samples;
    samples[100].groups[1].values[0] = RawValue::error(Status::NO_DATA);
    samples.drain(300..304);
    write(&folder.0.join("ARCHIVE"), &samples, 2000);
}

fn recorded() -> LogFixture {
    let mut log = LogFixture::new("web-1")
        .column("Processor Information", counter("% Processor Time", CounterType::TIMER_INV_100NS))
        .value("Memory", counter("Available Bytes", CounterType::LARGE_RAWCOUNT))
        .value("Memory", counter("Available KBytes", CounterType::LARGE_RAWCOUNT))
        .value("Memory", counter("Available MBytes", CounterType::LARGE_RAWCOUNT))
        .value("Memory", counter("% Committed Bytes In Use", CounterType::RAW_FRACTION))
        .value("Memory", counter("Page Faults/sec", CounterType::COUNTER_COUNTER))
        .column("PhysicalDisk", counter("Avg. Disk sec/Read", CounterType::AVERAGE_TIMER))
        .column("PhysicalDisk", counter("Disk Reads/sec", CounterType::COUNTER_COUNTER))
        .column("Process", counter("% Processor Time", CounterType::TIMER_100NS))
        .column("Process", counter("ID Process", CounterType::RAWCOUNT))
        .column("Process", counter("Working Set", CounterType::LARGE_RAWCOUNT));
    // The busy time of processor 0 in ticks, page faults, and reads with their time in ticks.
    let (mut busy, mut faults, mut reads, mut read_ticks) = (0, 0, 0, 0);
    for second in 0..SECONDS {
        let uneven = second * second % 7;
        let share = BUSY[(second / 60) as usize] + uneven - 3;
        let clock = START + second * TICKS;
        let idle = |percent: i64| raw(second * TICKS - busy * percent / 100, clock);
        let disk = |part: i64| raw(read_ticks / part, reads / part);
        let used = |percent: i64| raw(busy * percent / 100, clock);
        let bytes = 4_000_000_000 + uneven * 1_048_576;
        let resident = |start: i64, growth: i64| raw(start + growth * second + uneven * 4096, 0);
        log.at(
            second,
            vec![
                rows(&[
                    ("0,0", [idle(100)]),
                    ("0,1", [idle(50)]),
                    ("0,_Total", [idle(75)]),
                    ("_Total", [idle(75)]),
                ]),
                one(raw(bytes, 0)),
                one(raw(bytes / 1024, 0)),
                one(raw(bytes / 1_048_576, 0)),
                one(raw(30 + uneven, 97)),
                one(raw(faults, second * TICKS)),
                rows(&[("nvme0n1", [disk(2)]), ("sda", [disk(2)]), ("_Total", [disk(1)])]),
                rows(&[
                    ("nvme0n1", [raw(reads / 2, second * TICKS)]),
                    ("sda", [raw(reads / 2, second * TICKS)]),
                    ("_Total", [raw(reads, second * TICKS)]),
                ]),
                rows(&[
                    ("postgres", [used(60)]),
                    ("postgres#1", [used(30)]),
                    ("nginx", [used(40)]),
                    ("_Total", [used(150)]),
                ]),
                rows(&[
                    ("postgres", [raw(812, 0)]),
                    ("postgres#1", [raw(845, 0)]),
                    ("nginx", [raw(903, 0)]),
                    ("_Total", [raw(0, 0)]),
                ]),
                rows(&[
                    ("postgres", [resident(300_000_000, 40_960)]),
                    ("postgres#1", [resident(120_000_000, 0)]),
                    ("nginx", [resident(30_000_000, 4096)]),
                    ("_Total", [resident(450_000_000, 45_056)]),
                ]),
            ],
        );
        busy += share * TICKS / 100;
        faults += 1000 + uneven;
        reads += 40 + 2 * uneven;
        read_ticks += (40 + 2 * uneven) * (20_000 + 100 * share);
    }
    log
}
