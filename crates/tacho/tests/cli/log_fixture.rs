//! Logs that tests generate with the project's own writer.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::path::InstanceName;
use tachograph_counters::sample::{Clocks, Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Extent, InstanceTable, TitleIndexes, has_parents};
use tachograph_counters::time_zone::TimeZone;
use tachograph_counters::{CounterType, RawValue, Status};
use tachograph_logs::LogWriter;
use tachograph_logs::blg::{BlgWriter, BlgWriterOptions};

/// 2024-03-05 09:00:00 UTC, second 0 of generated logs.
pub(crate) const START: i64 = 133_541_028_000_000_000;

/// Ticks per second in generated logs.
pub(crate) const TICKS: i64 = 10_000_000;

/// One instance's raw values, in the order of the group's counters.
pub(crate) type Row = (String, Vec<RawValue>);

/// A log to write.
pub(crate) struct LogFixture {
    machine: String,
    pub(crate) zone: TimeZone,
    pub(crate) boot_time: Option<FileTime>,
    pub(crate) buffer_bytes: usize,
    groups: Vec<(Arc<CounterSet>, InstanceTable)>,
    pub(crate) samples: Vec<Sample>,
}

pub(crate) fn raw(first: i64, second: i64) -> RawValue {
    RawValue::new(first, second)
}

/// A value that could not be read.
pub(crate) fn failed() -> RawValue {
    RawValue::error(Status::NO_DATA)
}

/// The only row of a set without instances, or of a fixed instance.
pub(crate) fn one(value: RawValue) -> Vec<Row> {
    vec![(String::new(), vec![value])]
}

/// A row for each instance.
pub(crate) fn rows<const N: usize>(rows: &[(&str, [RawValue; N])]) -> Vec<Row> {
    rows.iter().map(|(name, values)| ((*name).to_owned(), values.to_vec())).collect()
}

/// A counter with the clock frequency of generated logs.
pub(crate) fn counter(name: &str, counter_type: CounterType) -> Counter {
    Counter::new(name, counter_type, TICKS)
}

fn titled(name: u32) -> Option<TitleIndexes> {
    Some(TitleIndexes { name, help: name + 1 })
}

impl LogFixture {
    /// A log of a machine at UTC+1 without daylight saving time: second 0 is 10:00:00.
    pub(crate) fn new(machine: &str) -> Self {
        Self {
            machine: machine.to_owned(),
            zone: TimeZone::fixed("W. Europe Standard Time", -60),
            boot_time: Some(FileTime(START - 1000 * TICKS)),
            buffer_bytes: 0x10000,
            groups: Vec::new(),
            samples: Vec::new(),
        }
    }

    fn group(mut self, mut set: CounterSet) -> Self {
        let mut table = InstanceTable::default();
        if set.extent == Extent::Row {
            let label = set.instance.take().map(|instance| instance.label().to_owned()).unwrap_or_default();
            set.instance = Some(table.intern(None, &label, 0));
        }
        self.groups.push((Arc::new(set), table));
        self
    }

    /// Adds one counter of a set without instances.
    pub(crate) fn value(self, set: &str, counter: Counter) -> Self {
        let mut set = CounterSet::new(self.machine.as_str(), set, Extent::Row);
        set.has_instances = false;
        set.counters = vec![counter];
        self.group(set)
    }

    /// Adds one counter of one instance.
    pub(crate) fn value_of(self, set: &str, instance: &str, counter: Counter) -> Self {
        let mut set = CounterSet::new(self.machine.as_str(), set, Extent::Row);
        set.instance = Some(InstanceTable::default().intern(None, instance, 0));
        set.counters = vec![counter];
        self.group(set)
    }

    /// Adds one counter of all instances.
    pub(crate) fn column(self, set: &str, counter: Counter) -> Self {
        let mut set = CounterSet::new(self.machine.as_str(), set, Extent::Columns);
        set.counters = vec![counter];
        self.group(set)
    }

    /// Adds counters of all instances as a block, each with its title index.
    pub(crate) fn table<const N: usize>(
        self,
        (set, index): (&str, u32),
        counters: [(Counter, u32); N],
    ) -> Self {
        let mut set = CounterSet::new(self.machine.as_str(), set, Extent::Table);
        set.indexes = titled(index);
        set.counters = counters.map(|(counter, index)| Counter { indexes: titled(index), ..counter }).into();
        self.group(set)
    }

    /// Adds a sample `second` seconds after the start: the rows of each group.
    pub(crate) fn at(&mut self, second: i64, groups: Vec<Vec<Row>>) -> &mut Self {
        let utc = FileTime(START + second * TICKS);
        let at = self.zone.utc_to_moment(utc);
        self.at_moment(at, groups)
    }

    pub(crate) fn at_moment(&mut self, at: Moment, groups: Vec<Vec<Row>>) -> &mut Self {
        assert_eq!(groups.len(), self.groups.len());
        let groups = groups.into_iter().zip(&mut self.groups).map(|(rows, (set, table))| {
            let mut group = Group::new(Arc::clone(set));
            let clock = at.utc.since(FileTime(START));
            group.clocks = Clocks {
                ticks: clock,
                frequency: TICKS,
                system_time: at.utc,
                object_time: clock,
                object_frequency: TICKS,
            };
            let instances = rows.iter().map(|(label, _)| match &set.instance {
                Some(instance) => Arc::clone(instance),
                None => {
                    let name = InstanceName::from(label.as_str());
                    let (parent, name, index) = name.split(has_parents(&set.name));
                    table.intern(parent, name, index)
                }
            });
            group.instances = instances.collect();
            group.values = rows.into_iter().flat_map(|(_, values)| values).collect();
            group
        });
        let sample = Sample {
            at,
            groups: groups.collect(),
            boot_time: self.boot_time.unwrap_or_default(),
            ..Sample::default()
        };
        self.samples.push(sample);
        self
    }

    /// Writes the log.
    #[track_caller]
    pub(crate) fn write(&self, path: &Path) {
        let mut writer = self.writer(path);
        for sample in &self.samples {
            writer.write(sample).expect("write sample");
        }
        writer.finish().expect("written");
    }

    /// A writer for samples that are written one by one.
    #[track_caller]
    pub(crate) fn writer(&self, path: &Path) -> BlgWriter<File> {
        let file = File::create(path).expect("create file");
        let options = BlgWriterOptions {
            boot_time: self.boot_time,
            buffer_bytes: self.buffer_bytes,
            ..BlgWriterOptions::new(self.zone.clone())
        };
        BlgWriter::new(file, options).expect("a new log")
    }
}

/// Counters of every kind, one sample per second for `seconds` seconds starting at `from`. Instantaneous values rise and fall.
///
/// `\Memory\Available Bytes` (a count), `\Memory\% Committed Bytes In Use` (a fraction), `\System\Context Switches/sec`
/// (a rate), `\PhysicalDisk(0 C:)\Avg. Disk sec/Read` (an average), `\Processor(*)\% Processor Time` (an inverse timer of
/// `0`, `1` and `_Total`).
pub(crate) fn mixed(machine: &str, from: i64, seconds: i64) -> LogFixture {
    let mut log = LogFixture::new(machine)
        .value("Memory", counter("Available Bytes", CounterType::LARGE_RAWCOUNT))
        .value("Memory", counter("% Committed Bytes In Use", CounterType::RAW_FRACTION))
        .value("System", counter("Context Switches/sec", CounterType::COUNTER_COUNTER))
        .value_of("PhysicalDisk", "0 C:", counter("Avg. Disk sec/Read", CounterType::AVERAGE_TIMER))
        .column("Processor", counter("% Processor Time", CounterType::TIMER_INV_100NS));
    for second in from..from + seconds {
        let uneven = second * second % 7;
        let idle = |share: i64| raw(share * (second * TICKS / 10 + uneven * 1000), START + second * TICKS);
        log.at(
            second,
            vec![
                one(raw(4_000_000 + uneven * 1024, 0)),
                one(raw(30 + uneven, 97)),
                one(raw(1000 * second + uneven, second * TICKS)),
                one(raw(second * 70_000 + uneven, second * 3 + uneven / 3)),
                rows(&[("0", [idle(3)]), ("1", [idle(8)]), ("_Total", [idle(5)])]),
            ],
        );
    }
    log
}
