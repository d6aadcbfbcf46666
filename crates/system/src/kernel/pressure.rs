//! `Pressure Stall`: time that tasks lost while waiting for processors, memory, disks or interrupts.

use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, InstanceKey, Provider, Row, Rows};

use crate::error_texts::ErrorTexts;
use crate::open_file::OpenFile;
use crate::ordered::split_complete_lines;
use crate::roots::Roots;
use crate::scan::{lines, parse_hundredths, parse_number, words};
use crate::table::{CounterInfo, SetTable};

/// The ids of the counters; the averages are those over 10, 60 and 300 s.
const SOME: u32 = 1;
const FULL: u32 = 2;
const SOME_AVERAGES: [u32; 3] = [3, 4, 5];
const FULL_AVERAGES: [u32; 3] = [6, 7, 8];
const AVERAGE_BASE: u32 = 9;

/// 100 % in hundredths of a percent.
const WHOLE: u64 = 10_000;

/// The resources in the order of the instances. These are also the file names.
const RESOURCES: [&str; 4] = ["cpu", "memory", "io", "irq"];

const fn average(id: u32, name: &'static str, source: &'static str, help: &'static str) -> CounterInfo {
    CounterInfo::row(id, name, CounterType::RAW_FRACTION, "%", 0, source, help).base(AVERAGE_BASE)
}

/// The set `Pressure Stall`.
#[rustfmt::skip]
pub(crate) static TABLE: SetTable = SetTable {
    name: "Pressure Stall",
    guid: 0x68882bc1b59b5377a4ffede626c8dc4d,
    instance_type: InstanceType::Multiple,
    help: "Time that tasks lost while waiting for processors, memory, disks or interrupts (Linux PSI).",
    instances: "The resources that the kernel reports, in this order: cpu, memory, io, irq.",
    total: "",
    repeats: None,
    counters: &[
        CounterInfo::row(SOME, "% Some Stall Time", CounterType::TIMER_100NS, "%", 0,
            "/proc/pressure/*: some total",
            "Share of the interval in which at least one task waited for the resource, from the kernel's total, not from its averages. The kernel adds up the processors at slightly different times, so it can exceed 100 in short intervals."),
        CounterInfo::row(FULL, "% Full Stall Time", CounterType::TIMER_100NS, "%", 0,
            "/proc/pressure/*: full total",
            "Share of the interval in which all tasks that had work waited for the resource at the same time. For cpu, it is 0 by definition at the level of the whole machine."),
        average(SOME_AVERAGES[0], "% Some Stall, 10 s Average", "/proc/pressure/*: some avg10",
            "The kernel's own exponentially weighted average of the some stall time over 10 seconds."),
        average(SOME_AVERAGES[1], "% Some Stall, 60 s Average", "/proc/pressure/*: some avg60",
            "The kernel's own exponentially weighted average of the some stall time over 60 seconds."),
        average(SOME_AVERAGES[2], "% Some Stall, 300 s Average", "/proc/pressure/*: some avg300",
            "The kernel's own exponentially weighted average of the some stall time over 300 seconds."),
        average(FULL_AVERAGES[0], "% Full Stall, 10 s Average", "/proc/pressure/*: full avg10",
            "The kernel's own exponentially weighted average of the full stall time over 10 seconds."),
        average(FULL_AVERAGES[1], "% Full Stall, 60 s Average", "/proc/pressure/*: full avg60",
            "The kernel's own exponentially weighted average of the full stall time over 60 seconds."),
        average(FULL_AVERAGES[2], "% Full Stall, 300 s Average", "/proc/pressure/*: full avg300",
            "The kernel's own exponentially weighted average of the full stall time over 300 seconds."),
        CounterInfo::companion(AVERAGE_BASE, "% Stall Average Base", CounterType::RAW_BASE),
    ],
};

/// A line of a pressure file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stall {
    /// The averages over 10, 60 and 300 seconds, in hundredths of a percent.
    pub(super) averages: [Option<u64>; 3],
    /// The total since boot, in units of 100 ns.
    pub(super) total_hundred_ns: Option<u64>,
}

/// A pressure file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pressure {
    /// `None` for irq, which has no such line.
    pub(super) some: Option<Stall>,
    /// `None` for cpu before Linux 5.13.
    pub(super) full: Option<Stall>,
}

/// Parses a pressure file: `some avg10=0.12 avg60=0.00 avg300=0.00 total=4500`, and the same for `full`.
pub(super) fn parse(text: &[u8]) -> Pressure {
    let mut pressure = Pressure::default();
    for line in lines(split_complete_lines(text).0) {
        let mut words = words(line);
        let slot = match words.next() {
            Some(b"some") => &mut pressure.some,
            Some(b"full") => &mut pressure.full,
            _ => continue,
        };
        let stall = slot.insert(Stall::default());
        for word in words {
            if let Some(value) = word.strip_prefix(b"avg10=") {
                stall.averages[0] = parse_hundredths(value);
            } else if let Some(value) = word.strip_prefix(b"avg60=") {
                stall.averages[1] = parse_hundredths(value);
            } else if let Some(value) = word.strip_prefix(b"avg300=") {
                stall.averages[2] = parse_hundredths(value);
            } else if let Some(value) = word.strip_prefix(b"total=") {
                stall.total_hundred_ns =
                    parse_number(value).and_then(|microseconds| microseconds.checked_mul(10));
            }
        }
    }
    pressure
}

/// The provider, if the kernel measures pressure.
pub(crate) fn provider(roots: &Roots) -> Option<Box<dyn Provider>> {
    let folder = roots.proc.join("pressure");
    let mut found = Pressure::default();
    let resources: Vec<Resource> = RESOURCES
        .iter()
        .filter_map(|name| {
            let mut file = OpenFile::in_one_piece(folder.join(name));
            // Without PSI the files are missing; if PSI is disabled at boot, reading them fails.
            let pressure = parse(file.read().ok()?);
            found.some = found.some.or(pressure.some);
            found.full = found.full.or(pressure.full);
            let missing_line =
                |line: &str| format!("{}: no usable '{line}' line", file.path().display()).into();
            Some(Resource {
                instance: Arc::new(InstanceKey::new(*name, 0, 0)),
                no_some: missing_line("some"),
                no_full: missing_line("full"),
                file,
                some_total: 0,
                full_total: 0,
                reasons: ErrorTexts::default(),
            })
        })
        .collect();
    let has_counter = |id: u32| {
        let is_some = id == SOME || SOME_AVERAGES.contains(&id);
        if is_some { found.some.is_some() } else { found.full.is_some() }
    };
    if resources.is_empty() || !(has_counter(SOME) || has_counter(FULL)) {
        return None;
    }
    Some(Box::new(PressureStall { info: TABLE.info_of(has_counter), resources }))
}

struct PressureStall {
    info: Arc<CounterSetInfo>,
    resources: Vec<Resource>,
}

struct Resource {
    instance: Arc<InstanceKey>,
    file: OpenFile,
    /// The largest total so far of the line `some`, in units of 100 ns.
    some_total: u64,
    /// The largest total so far of the line `full`, in units of 100 ns.
    full_total: u64,
    reasons: ErrorTexts,
    /// The reason for missing values of the line `some`.
    no_some: Arc<str>,
    /// The reason for missing values of the line `full`.
    no_full: Arc<str>,
}

impl Provider for PressureStall {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        for resource in &mut self.resources {
            if !rows.wants_instance(resource.instance.name(), resource.instance.id()) {
                continue;
            }
            let mut row = rows.push(&resource.instance);
            let pressure = match resource.file.read() {
                Ok(text) => parse(text),
                Err(error) => {
                    let reason = resource.reasons.get(&error, resource.file.path().display());
                    row.fail_all([SOME, FULL], &reason);
                    row.fail_all(SOME_AVERAGES.into_iter().chain(FULL_AVERAGES), &reason);
                    continue;
                }
            };
            set_line(
                &mut row,
                SOME,
                SOME_AVERAGES,
                pressure.some,
                &mut resource.some_total,
                &resource.no_some,
            );
            set_line(
                &mut row,
                FULL,
                FULL_AVERAGES,
                pressure.full,
                &mut resource.full_total,
                &resource.no_full,
            );
        }
        Ok(())
    }
}

/// Sets the counters of a line: `total` and `averages` are their ids, `last` is the largest total so far.
fn set_line(
    row: &mut Row<'_>,
    total: u32,
    averages: [u32; 3],
    stall: Option<Stall>,
    last: &mut u64,
    no_line: &Arc<str>,
) {
    let stall = stall.unwrap_or_default();
    match stall.total_hundred_ns {
        Some(value) => {
            *last = value.max(*last);
            row.set(total, *last);
        }
        None => row.fail(total, no_line),
    }
    for (id, value) in averages.into_iter().zip(stall.averages) {
        match value {
            Some(value) => row.set_with_base(id, value, WHOLE),
            None => row.fail(id, no_line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Machine, at, collect, first_value, names, value};

    const CPU: &str = "some avg10=10.04 avg60=9.31 avg300=3.83 total=45004128\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
    const OLD_CPU: &str = "some avg10=1.00 avg60=0.50 avg300=0.25 total=100\n";
    const IRQ: &str = "full avg10=0.07 avg60=0.00 avg300=0.00 total=7\n";

    #[test]
    fn each_resource_has_totals_and_averages() {
        let machine = Machine::new(&[("proc/pressure/cpu", CPU), ("proc/pressure/io", OLD_CPU)]);
        let mut provider = provider(&machine.roots).expect("a provider");
        let rows = collect(&mut *provider, at(10));
        assert_eq!(names(&rows), ["cpu", "io"]);
        assert_eq!(first_value(&rows, "cpu", SOME), 450_041_280);
        assert_eq!(first_value(&rows, "cpu", FULL), 0);
        let average = value(&rows, "cpu", SOME_AVERAGES[0]);
        assert_eq!((average.first, average.second), (1004, 10_000));
        assert_eq!(first_value(&rows, "cpu", SOME_AVERAGES[2]), 383);
        // The io file has no 'full' line: an error, not zero.
        assert!(!value(&rows, "io", FULL).status.is_good());
        assert!(!value(&rows, "io", FULL_AVERAGES[1]).status.is_good());
        assert!(rows.errors()[0].reason.contains("no usable 'full' line"), "{:?}", rows.errors());
    }

    #[test]
    fn the_formatted_values_are_percent() {
        let machine = Machine::new(&[("proc/pressure/cpu", CPU)]);
        let mut provider = provider(&machine.roots).expect("a provider");
        let older = collect(&mut *provider, at(10));
        machine.write("proc/pressure/cpu", CPU.replace("total=45004128", "total=45254128"));
        let newer = collect(&mut *provider, at(11));
        let format = |id: u32| {
            let column = newer.column(id).expect("wanted");
            let counter = tachograph_perflib::registration::counter_of(newer.counter(column));
            counter.calculator().format(
                Some(&value(&older, "cpu", id)),
                &value(&newer, "cpu", id),
                &tachograph_counters::FormatOptions::default(),
            )
        };
        assert_eq!(format(SOME), Ok(25.0));
        assert!((format(SOME_AVERAGES[0]).expect("a value") - 10.04).abs() < 1e-9);
    }

    #[test]
    fn pressure_of_interrupts_has_only_full_counters() {
        let machine = Machine::new(&[("proc/pressure/irq", IRQ)]);
        let mut provider = provider(&machine.roots).expect("a provider");
        let rows = collect(&mut *provider, at(10));
        assert!(rows.info().position(SOME).is_none());
        assert_eq!(first_value(&rows, "irq", FULL), 70);
        assert_eq!(first_value(&rows, "irq", FULL_AVERAGES[0]), 7);
    }

    #[test]
    fn a_kernel_without_psi_has_no_set() {
        assert!(provider(&Machine::new(&[]).roots).is_none());
        assert!(provider(&Machine::new(&[("proc/pressure/cpu", "")]).roots).is_none());
    }

    #[test]
    fn an_old_kernel_has_no_full_for_cpu() {
        let machine = Machine::new(&[("proc/pressure/cpu", OLD_CPU)]);
        let provider = provider(&machine.roots).expect("a provider");
        assert!(provider.info().position(FULL).is_none());
        assert!(provider.info().position(SOME_AVERAGES[0]).is_some());
    }

    #[test]
    fn totals_never_decrease() {
        let machine = Machine::new(&[("proc/pressure/cpu", CPU)]);
        let mut provider = provider(&machine.roots).expect("a provider");
        collect(&mut *provider, at(10));
        machine.write("proc/pressure/cpu", CPU.replace("total=45004128", "total=45004000"));
        assert_eq!(first_value(&collect(&mut *provider, at(11)), "cpu", SOME), 450_041_280);
    }

    #[test]
    fn malformed_files_are_errors() {
        let machine = Machine::new(&[("proc/pressure/cpu", CPU)]);
        let mut provider = provider(&machine.roots).expect("a provider");
        for length in 0..CPU.len() {
            machine.write("proc/pressure/cpu", &CPU[..length]);
            let rows = collect(&mut *provider, at(11));
            let line_end = CPU.find('\n').expect("a line");
            assert_eq!(value(&rows, "cpu", SOME).status.is_good(), length > line_end, "cut at {length}");
        }
        for broken in
            ["some total=-1\n", "some total=99999999999999999999\n", "some avg10=1.5 total=\n", "\0\n"]
        {
            machine.write("proc/pressure/cpu", broken);
            let rows = collect(&mut *provider, at(12));
            assert!(!value(&rows, "cpu", SOME).status.is_good(), "{broken}");
            assert!(!value(&rows, "cpu", SOME_AVERAGES[0]).status.is_good(), "{broken}");
        }
    }

    #[test]
    fn this_machine_can_be_collected() {
        let Some(mut provider) = provider(&Roots::of_this_machine()) else { return };
        let older = collect(&mut *provider, at(1));
        let newer = collect(&mut *provider, at(2));
        for name in names(&newer) {
            if value(&newer, name, SOME).status.is_good() {
                assert!(first_value(&newer, name, SOME) >= first_value(&older, name, SOME), "{name}");
                assert!((0..=10_000).contains(&first_value(&newer, name, SOME_AVERAGES[0])), "{name}");
            }
        }
    }
}
