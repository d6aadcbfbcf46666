//! Tests of the provider with constructed data.

use std::fs;

use tachograph_counters::civil::FileTime;
use tachograph_counters::{Calculator, FormatOptions, Formula, RawValue, Status};
use tachograph_perflib::{FREQUENCY, InstanceFilter, Timestamps};
use tempfile::TempDir;

use super::*;
use crate::ProcessorState::{Measured as Ran, NeverRan, Offline};
use crate::{CpiData, Measured, ProcessorData, ProcessorState};

/// A machine with processors 0 and 2 in node 0, and processor 1 in node 1.
fn machine() -> (TempDir, Roots) {
    let folder = tempfile::tempdir().expect("a folder");
    let roots = Roots {
        root: folder.path().to_owned(),
        proc: folder.path().join("proc"),
        sys: folder.path().join("sys"),
        ticks_per_second: 100,
        page_bytes: 4096,
    };
    let write = |path: std::path::PathBuf, text: &str| {
        fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        fs::write(path, text).expect("written");
    };
    let line = |number: u32| format!("cpu{number} 1 1 1 1 1 1 1 0 0 0\n");
    write(roots.proc.join("stat"), &[0, 1, 2].map(line).concat());
    write(roots.sys.join("devices/system/node/node0/cpulist"), "0,2\n");
    write(roots.sys.join("devices/system/node/node1/cpulist"), "1\n");
    (folder, roots)
}

/// An interval with the given instructions and cycles per processor, each busy for a quarter of the time.
fn data(processors: [(ProcessorState, u64, u64); 3]) -> CpiData {
    let processor = |(state, instructions, cycles): (ProcessorState, u64, u64)| ProcessorData {
        state,
        measured: Measured {
            instructions,
            cycles,
            cycles_scaled: cycles / 4,
            core_cycles: cycles / 2,
            busy_ticks: 25,
            elapsed_ticks: 100,
            enabled_ns: 1_000_000_000,
            running_ns: 400_000_000,
        },
    };
    CpiData { processors: processors.map(processor).into(), ..CpiData::default() }
}

fn collect(set: &mut ProcessorCpi, seconds: i64) -> Rows {
    let mut rows = Rows::unfiltered(Arc::clone(set.info()));
    rows.clear(Timestamps { ticks: seconds * FREQUENCY, system_time: FileTime(0), wall: FileTime(0) });
    set.update_online().expect("processors");
    set.report(&mut rows);
    rows
}

fn names(rows: &Rows) -> Vec<&str> {
    rows.instances().iter().map(|instance| instance.full_name()).collect()
}

fn raw(rows: &Rows, instance: &str, id: u32) -> RawValue {
    let row = names(rows).iter().position(|name| *name == instance).expect("the instance");
    rows.values(row)[rows.column(id).expect("the counter")]
}

/// The formatted value of a counter over the interval between two collections.
fn formatted(older: &Rows, newer: &Rows, instance: &str, id: u32) -> f64 {
    let counter = newer.counter(newer.column(id).expect("the counter"));
    let calculator = Calculator::new(counter.counter_type, FREQUENCY);
    let [older, newer] = [older, newer].map(|rows| raw(rows, instance, id));
    calculator.format(Some(&older), &newer, &FormatOptions::default()).expect("a value")
}

#[test]
fn averages_of_ratios_are_ratios_of_sums() {
    let (_folder, roots) = machine();
    let mut set = ProcessorCpi::new(&roots);
    let first = collect(&mut set, 0);
    assert_eq!(names(&first), ["_Total", "0,_Total", "0,0", "0,1", "1,_Total", "1,0"]);
    assert!(first.all_values().iter().all(|raw| raw.status.is_good() && raw.first == 0));
    // A factor that makes values exceed 32 bits.
    const G: u64 = 10_000_000_000;
    set.sums.add(&data([(Ran, G, 8 * G), (Ran, 3 * G, 12 * G), (Ran, 4 * G, 4 * G)]));
    let second = collect(&mut set, 10);
    set.sums.add(&data([(Ran, 9 * G, 12 * G), (Ran, G, 4 * G), (Ran, G, 36 * G)]));
    let third = collect(&mut set, 20);

    let values_of = |instance, id| {
        let both = [formatted(&first, &second, instance, id), formatted(&second, &third, instance, id)];
        (both, formatted(&first, &third, instance, id))
    };
    // 8/1 and 12/9: the average is 20/10, not the mean of the ratios.
    assert_eq!(values_of("0,0", CPI), ([8.0, 12.0 / 9.0], 2.0));
    assert_eq!(values_of("0,0", CPI_WHILE_BUSY), ([2.0, 3.0 / 9.0], 0.5));
    assert_eq!(values_of("0,0", CORE_CPI), ([4.0, 6.0 / 9.0], 1.0));
    assert_eq!(values_of("0,_Total", CPI), ([12.0 / 5.0, 48.0 / 10.0], 4.0));
    assert_eq!(values_of("1,_Total", CPI), values_of("1,0", CPI));
    assert_eq!(values_of("_Total", CPI), ([24.0 / 8.0, 52.0 / 11.0], 76.0 / 19.0));
    assert_eq!(values_of("_Total", CPI_WHILE_BUSY), ([6.0 / 8.0, 13.0 / 11.0], 1.0));
    assert_eq!(values_of("_Total", INSTRUCTIONS), ([8e9, 11e9], 9.5e9));
    assert_eq!(values_of("_Total", CORE_CYCLES), ([12e9, 26e9], 19e9));
    assert_eq!(values_of("_Total", RUNNING), ([40.0, 40.0], 40.0));
    let formula = |id: u32| third.counter(third.column(id).expect("a column")).counter_type.formula();
    assert_eq!(ALL_COUNTERS.map(|id| formula(id).expect("a number")), {
        use Formula::{Percent, Rate, Ratio};
        [Ratio, Ratio, Ratio, Rate, Rate, Percent]
    });
}

#[test]
fn counters_that_never_ran_are_an_error_of_their_processor_and_its_totals() {
    let (_folder, roots) = machine();
    let mut set = ProcessorCpi::new(&roots);
    set.sums.add(&data([(Ran, 1, 4), (Ran, 1, 4), (NeverRan, 0, 0)]));
    let rows = collect(&mut set, 1);
    for (instance, is_good) in [
        ("_Total", false),
        ("0,_Total", false),
        ("0,0", true),
        ("0,1", false),
        ("1,_Total", true),
        ("1,0", true),
    ] {
        for id in ALL_COUNTERS {
            let expected = if is_good { Status::VALID_DATA } else { Status::CSTATUS_INVALID_DATA };
            assert_eq!(raw(&rows, instance, id).status, expected, "{instance} {id}");
        }
    }
    // One error for each counter, which three values share.
    assert_eq!(rows.errors().len(), ALL_COUNTERS.len());
    assert!(rows.errors().iter().all(|error| error.count == 3
        && error.reason.starts_with("the counters of a processor never ran in the interval")));
    set.sums.add(&data([(Ran, 1, 4), (Ran, 1, 4), (Ran, 2, 8)]));
    assert!(collect(&mut set, 2).errors().is_empty());
}

#[test]
fn an_unknown_busy_share_is_an_error() {
    let (_folder, roots) = machine();
    let mut set = ProcessorCpi::new(&roots);
    let mut data = data([(Ran, 1, 4), (Ran, 1, 4), (Ran, 1, 4)]);
    data.processors[1].measured.elapsed_ticks = 0;
    data.processors[1].measured.cycles_scaled = 0;
    set.sums.add(&data);
    let rows = collect(&mut set, 1);
    let is_good = |instance| raw(&rows, instance, CPI_WHILE_BUSY).status.is_good();
    assert_eq!(["_Total", "0,_Total", "1,0"].map(is_good), [false, true, false]);
    assert!(raw(&rows, "_Total", CPI).status.is_good());
}

#[test]
fn the_total_includes_an_offline_processor_without_an_instance() {
    let (_folder, roots) = machine();
    let mut set = ProcessorCpi::new(&roots);
    set.sums.add(&data([(Ran, 1, 4), (Ran, 2, 4), (Ran, 4, 4)]));
    collect(&mut set, 1);
    set.sums.add(&data([(Ran, 1, 4), (Offline, 0, 0), (Ran, 1, 4)]));
    fs::write(roots.proc.join("stat"), "cpu0 1 1 1 1 1 1 1\ncpu2 1 1 1 1 1 1 1\n").expect("written");
    let rows = collect(&mut set, 2);
    assert_eq!(names(&rows), ["_Total", "0,_Total", "0,0", "0,1"]);
    assert_eq!(raw(&rows, "_Total", INSTRUCTIONS).first, 9);
    assert!(rows.errors().is_empty());
}

/// For example without permission: the set exists, and every value reports why it is missing.
#[test]
fn counters_that_cannot_be_opened_are_an_error_of_every_value() {
    let (_folder, roots) = machine();
    let mut set = ProcessorCpi::new(&roots);
    set.counting = Counting::Refused;
    set.reasons.record(&Error::new(ErrorKind::AccessDenied, "not allowed: be root"));
    let mut rows = Rows::unfiltered(Arc::clone(set.info()));
    let mut reasons = Vec::new();
    for _ in 0..2 {
        rows.clear(Timestamps::default());
        set.collect(&mut rows).expect("collected");
        assert_eq!(rows.instances().len(), 6);
        assert!(rows.all_values().iter().all(|raw| raw.status == Status::CSTATUS_INVALID_DATA));
        reasons.extend(rows.errors().iter().map(|error| Arc::clone(&error.reason)));
    }
    assert_eq!(&*reasons[0], "not allowed: be root");
    assert!(reasons.iter().all(|reason| Arc::ptr_eq(reason, &reasons[0])), "all values share one reason");
    // If the same error occurs again, the reason is not created again.
    set.reasons.record(&Error::new(ErrorKind::AccessDenied, "not allowed: be root"));
    assert!(set.reasons.error.as_ref().is_some_and(|reason| Arc::ptr_eq(reason, &reasons[0])));
}

#[test]
fn listing_instances_opens_no_counters() {
    let (_folder, roots) = machine();
    let mut set = ProcessorCpi::new(&roots);
    let mut rows = Rows::new(Arc::clone(set.info()));
    rows.select([], vec![InstanceFilter::new("1,*", None)]);
    set.collect(&mut rows).expect("collected");
    assert!(names(&rows).contains(&"1,0"), "{:?}", names(&rows));
    assert!(matches!(set.counting, Counting::Closed));
    fs::remove_dir_all(&roots.proc).expect("removed");
    assert!(ProcessorCpi::new(&roots).collect(&mut rows).is_err(), "the online processors are unknown");
}

#[test]
fn permanent_errors_mean_absence() {
    for in_virtual_machine in [false, true] {
        assert!(is_absence(ErrorKind::EventNotSupported { in_virtual_machine }));
    }
    for kind in [ErrorKind::AccessDenied, ErrorKind::Blocked, ErrorKind::TooManyFiles, ErrorKind::Busy] {
        assert!(!is_absence(kind), "{kind:?}");
    }
    for kind in [
        ErrorKind::AccessDenied,
        ErrorKind::Blocked,
        ErrorKind::EventNotSupported { in_virtual_machine: true },
    ] {
        assert!(!is_transient(kind), "{kind:?}");
    }
}

#[test]
fn known_sets_are_complete() {
    let sets: Vec<_> = known_sets().collect();
    assert_eq!(sets.len(), 1);
    assert_eq!(&*sets[0].name, "Processor CPI");
    let shown = sets[0].counters.iter().filter(|counter| counter.is_displayable());
    assert_eq!(shown.map(|counter| counter.id).collect::<Vec<_>>(), ALL_COUNTERS);
}
