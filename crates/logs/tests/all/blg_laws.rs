//! Properties that hold for any input: samples that are written and read again are equal, for any names and numbers; no
//! bytes make a reader panic.

use crate::fixture;

use std::sync::Arc;

use fixture::rewritten::{samples_and_problems_of, samples_of, write};
use fixture::shown::try_read;
use proptest::collection::vec;
use proptest::prelude::*;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::{Clocks, Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Extent, Instance, Instances, TitleIndexes};
use tachograph_counters::time_zone::TimeZone;
use tachograph_counters::{CounterType as T, Formula, RawValue, Status};
use tachograph_logs::blg::BlgWriterOptions;
use tachograph_logs::blg::raw::Log;
use tachograph_logs::blg::raw::list::{CounterList, Entry, ListHead};
use tachograph_logs::blg::raw::record::{
    KIND_MULTI, MULTI_HEAD_BYTES, MULTI_ITEM_BYTES, Multi, MultiHead, MultiItem, RecordHead,
};

const BIAS: i32 = 60;

/// The types of a table's columns, one for each source of the second value.
const COLUMNS: [T; 8] = [
    T::LARGE_RAWCOUNT,
    T::BULK_COUNT,
    T::TIMER_100NS,
    T::ELAPSED_TIME,
    T::AVERAGE_BULK,
    T::PRECISION_100NS_TIMER,
    T::COUNTER_MULTI_TIMER,
    T::LARGE_DELTA,
];

/// Maximum difference between the clocks of machines.
const MAX_APART: i64 = 10 * 3600 * FileTime::PER_SECOND;

/// A set, with the instances that its samples can have.
#[derive(Clone, Debug)]
struct Described {
    extent: Extent,
    has_instances: bool,
    set: CounterSet,
    /// Instances that appear and disappear.
    pool: Vec<Arc<Instance>>,
}

/// The numbers from which a sample is built. `values` and `multi_counts` are repeated cyclically.
#[derive(Clone, Debug)]
struct Numbers {
    /// Bit n: whether the instances whose index in the pool is n modulo 8 are present.
    present: u8,
    values: Vec<i64>,
    multi_counts: Vec<u32>,
    status: Status,
    baseline: bool,
    /// Offset of the machine's clock from the sample's time. All samples use the offset of the first one.
    read_at: Option<i64>,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c#/ 0-9äß😀_*()]{0,9}",
        Just("a".to_owned()),
        Just("svchost".to_owned()),
        Just("Adapter #2".to_owned()),
        Just("_Total".to_owned()),
    ]
}

fn described() -> impl Strategy<Value = Described> {
    let extents = prop_oneof![Just(Extent::Row), Just(Extent::Columns), Just(Extent::Table)];
    let set_name = prop_oneof![Just("Thread".to_owned()), text()];
    let instances = vec((proptest::option::of("[a-c]{1,2}"), text(), 0u32..4), 1..8);
    let columns = vec((0..COLUMNS.len(), any::<bool>(), -4..4i32), 1..4);
    (extents, any::<bool>(), "[A-Zäß]{1,5}", set_name, columns, instances).prop_map(
        |(extent, has_instances, machine, name, columns, instances)| {
            let mut set = CounterSet::new(machine, name, extent);
            set.has_instances = has_instances || extent == Extent::Columns;
            let columns = if extent == Extent::Table { columns } else { columns[..1].to_vec() };
            if extent == Extent::Table {
                set.indexes = Some(TitleIndexes { name: 30_000, help: 30_001 });
            }
            for (number, (kind, is_32_bit, scale)) in columns.into_iter().enumerate() {
                let mut counter = Counter::new(format!("Zähler {number}"), COLUMNS[kind], 12_345);
                counter.default_scale = scale;
                if extent == Extent::Table {
                    counter.data_is_32_bit = is_32_bit;
                    let name = 20_000 + 2 * number as u32;
                    counter.indexes = Some(TitleIndexes { name, help: name + 1 });
                }
                set.counters.push(counter);
            }
            let pool = pool(&set, instances);
            if extent == Extent::Row {
                set.instance = Some(Arc::clone(&pool[0]));
            }
            Described { extent, has_instances: set.has_instances, set, pool }
        },
    )
}

/// Instances with distinct labels, as a source could have them.
fn pool(set: &CounterSet, parts: Vec<(Option<String>, String, u32)>) -> Vec<Arc<Instance>> {
    if !set.has_instances {
        return vec![Arc::new(Instance::none())];
    }
    let mut pool: Vec<Arc<Instance>> = Vec::new();
    for (parent, name, index) in parts {
        // In a block, `name#n` stands for `name` with index n, so names that end like this are ambiguous.
        let ends_in_number = name.rsplit_once('#').is_some_and(|(_, end)| end.parse::<u32>().is_ok());
        if set.extent == Extent::Table && ends_in_number {
            continue;
        }
        let instance = Instance::new(parent.as_deref(), &name, index);
        if pool.iter().all(|other| other.label() != instance.label()) {
            pool.push(Arc::new(instance));
        }
    }
    if pool.is_empty() {
        pool.push(Arc::new(Instance::new(None, "only", 0)));
    }
    pool
}

fn numbers() -> impl Strategy<Value = Numbers> {
    let status = prop_oneof![4 => Just(Status::VALID_DATA), 1 => Just(Status::NO_MACHINE), 1 => Just(Status::NEW_DATA)];
    (
        any::<u8>(),
        vec(any::<i64>(), 16),
        vec(any::<u32>(), 5),
        status,
        any::<bool>(),
        proptest::option::of(-MAX_APART..MAX_APART),
    )
        .prop_map(|(present, values, multi_counts, status, baseline, read_at)| Numbers {
            present,
            values,
            multi_counts,
            status,
            baseline,
            read_at,
        })
}

fn sample(sets: &[(Described, Arc<CounterSet>)], number: usize, numbers: &Numbers) -> Sample {
    let local = FileTime(fixture::local(number as i64));
    let mut values = numbers.values.iter().copied().cycle();
    let mut value = || values.next().expect("a cycle");
    let groups = sets.iter().map(|(described, set)| {
        let clocks = Clocks {
            ticks: value(),
            frequency: value(),
            system_time: FileTime(value()),
            object_time: value(),
            object_frequency: value(),
        };
        let mut group = Group::new(Arc::clone(set));
        match described.extent {
            Extent::Table => group.clocks = clocks,
            _ => {
                group.status = numbers.status;
                group.read_at = local.saturating_add(numbers.read_at.unwrap_or(0));
            }
        }
        let rows = described.pool.iter().enumerate().filter(|(row, _)| {
            described.extent == Extent::Row
                || !described.has_instances
                || numbers.present & 1 << (row % 8) != 0
        });
        let rows = rows.map(|(_, instance)| Arc::clone(instance));
        group.instances =
            if described.extent == Extent::Row { rows.take(1).collect() } else { rows.collect() };
        for row in 0..group.instances.len() {
            for counter in &set.counters {
                let mut raw = RawValue::new(value(), value());
                if described.extent == Extent::Table {
                    raw.second = match counter.counter_type {
                        T::BULK_COUNT | T::COUNTER_MULTI_TIMER => clocks.ticks,
                        T::TIMER_100NS => clocks.system_time.0,
                        T::ELAPSED_TIME => clocks.object_time,
                        T::LARGE_RAWCOUNT | T::LARGE_DELTA => 0,
                        _ => raw.second,
                    };
                    if counter.data_is_32_bit {
                        raw.first &= 0xFFFF_FFFF;
                    }
                } else {
                    raw.status = numbers.status;
                }
                if described.extent != Extent::Table || counter.counter_type.is_multi() {
                    raw.multi_count = numbers.multi_counts[row % 5];
                }
                group.values.push(raw);
            }
        }
        group
    });
    Sample {
        at: Moment::from_local(local, BIAS),
        groups: groups.collect(),
        is_baseline: numbers.baseline,
        ..Sample::default()
    }
}

/// Any type of a counter that has a column. Types of Windows, and types that differ from them in one bit, are more frequent.
fn counter_type() -> impl Strategy<Value = T> {
    let named = proptest::sample::select(T::all().collect::<Vec<_>>());
    prop_oneof![
        any::<u32>().prop_map(T),
        named.clone(),
        (named, 0u32..32).prop_map(|(named, bit)| T(named.0 ^ (1u32 << bit))),
    ]
    .prop_filter("not a base, nor formatted already", |kind| !kind.is_base() && *kind != T::DOUBLE_RAW)
}

fn labels(instances: &Instances) -> Vec<&str> {
    instances.iter().map(|instance| instance.label()).collect()
}

/// A counter, without its time base if it is in a block, which stores the frequencies of its clocks instead.
fn counter(counter: &Counter, extent: Extent) -> Counter {
    let time_base = if extent == Extent::Table { 0 } else { counter.time_base };
    Counter { time_base, ..counter.clone() }
}

fn options() -> BlgWriterOptions {
    BlgWriterOptions {
        buffer_bytes: 1024,
        ..BlgWriterOptions::new(TimeZone::fixed("W. Europe Standard Time", BIAS))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn written_samples_read_back_equal(sets in vec(described(), 1..5), mut numbers in vec(numbers(), 1..8)) {
        let read_at = numbers[0].read_at;
        numbers.iter_mut().for_each(|numbers| numbers.read_at = read_at);
        let mut sets: Vec<_> = sets.into_iter().map(|described| (described.clone(), Arc::new(described.set))).collect();
        // Blocks of a machine share its name table, so each index must have one name.
        for (number, (described, set)) in sets.iter_mut().enumerate() {
            let mut own = CounterSet::clone(set);
            for indexes in own.indexes.iter_mut().chain(own.counters.iter_mut().filter_map(|counter| counter.indexes.as_mut())) {
                indexes.name += 100 * number as u32;
                indexes.help += 100 * number as u32;
            }
            *set = Arc::new(own.clone());
            described.set = own;
        }
        let samples: Vec<_> = numbers.iter().enumerate().map(|(number, numbers)| sample(&sets, number, numbers)).collect();
        let read = samples_of(&write(&samples, options()));
        prop_assert_eq!(read.len(), samples.len());
        for (read, sample) in read.iter().zip(&samples) {
            prop_assert_eq!(read.at, sample.at);
            prop_assert_eq!(read.is_baseline, sample.is_baseline);
            prop_assert_eq!(read.groups.len(), sample.groups.len());
            for (read, group) in read.groups.iter().zip(&sample.groups) {
                let extent = group.set.extent;
                prop_assert_eq!(read.set.extent, extent);
                prop_assert_eq!((&read.set.machine, &read.set.name), (&group.set.machine, &group.set.name));
                prop_assert_eq!(read.set.has_instances, group.set.has_instances);
                let counters = |set: &CounterSet| set.counters.iter().map(|c| counter(c, extent)).collect::<Vec<_>>();
                prop_assert_eq!(counters(&read.set), counters(&group.set));
                prop_assert_eq!(labels(&read.instances), labels(&group.instances));
                prop_assert_eq!(&read.values, &group.values);
                prop_assert_eq!(read.read_at, group.read_at);
                prop_assert_eq!(read.clocks, group.clocks);
            }
        }
    }

    #[test]
    fn blocks_of_any_counter_types_read_back_equal(columns in vec((counter_type(), any::<bool>(), any::<i64>(), any::<i64>(), any::<u32>()), 1..7), rows in 1usize..3) {
        let mut set = CounterSet::new("M", "Set", Extent::Table);
        set.indexes = Some(TitleIndexes { name: 30_000, help: 30_001 });
        for (number, (counter_type, is_32_bit, ..)) in columns.iter().enumerate() {
            let name = 20_000 + 2 * number as u32;
            let indexes = Some(TitleIndexes { name, help: name + 1 });
            set.counters.push(Counter { data_is_32_bit: *is_32_bit, indexes, ..Counter::new("counter", *counter_type, 1) });
        }
        let mut group = Group::new(Arc::new(set));
        group.instances = (0..rows).map(|row| Arc::new(Instance::new(None, "i", row as u32))).collect();
        group.clocks = Clocks { ticks: 1, frequency: 2, system_time: FileTime(3), object_time: 4, object_frequency: 5 };
        for _ in 0..rows {
            group.values.extend(columns.iter().map(|&(counter_type, is_32_bit, first, second, multi_count)| RawValue {
                first: if is_32_bit { i64::from(first as u32) } else { first },
                second,
                multi_count: if counter_type.is_multi() { multi_count } else { 1 },
                status: Status::VALID_DATA,
            }));
        }
        let sample = Sample { at: Moment::from_local(FileTime(fixture::local(0)), BIAS), groups: vec![group], ..Sample::default() };
        let (read, problems) = samples_and_problems_of(&write(std::slice::from_ref(&sample), options()));
        let is_known = columns.iter().all(|(counter_type, ..)| counter_type.is_known());
        prop_assert_eq!(problems.len(), usize::from(!is_known), "{:?}", problems);
        let (group, read_group) = (&sample.groups[0], &read[0].groups[0]);
        prop_assert_eq!(read_group.values.len(), group.values.len());
        for ((value, read), number) in group.values.iter().zip(&read_group.values).zip((0..columns.len()).cycle()) {
            let counter_type = columns[number].0;
            prop_assert_eq!((read.first, read.status), (value.first, value.status));
            let is_multi = counter_type.formula().is_some_and(Formula::uses_multiplier);
            if is_multi {
                prop_assert_eq!(read.multi_count, value.multi_count);
            } else if counter_type.base().is_some() {
                prop_assert_eq!(read.second, value.second);
            }
        }
        // Further rewrites change nothing.
        let (again, _) = samples_and_problems_of(&write(&read, options()));
        fixture::rewritten::assert_same(&again, &read);
    }

    #[test]
    fn failed_values_do_not_affect_others(failed in any::<u8>()) {
        let mut set = CounterSet::new("M", "Set", Extent::Columns);
        set.counters.push(Counter::new("Counter", T::BULK_COUNT, 1));
        let mut group = Group::new(Arc::new(set));
        group.instances = (0..8).map(|n| Arc::new(Instance::new(None, &n.to_string(), 0))).collect();
        group.values = (0..8)
            .map(|n| if failed >> n & 1 != 0 { RawValue::error(Status::NO_DATA) } else { RawValue::new(n, n) })
            .collect();
        let sample = Sample { groups: vec![group], ..Sample::default() };
        let read = samples_of(&write(std::slice::from_ref(&sample), options()));
        let group = &read[0].groups[0];
        let good: Vec<_> = (0..8).filter(|n| failed >> n & 1 == 0).collect();
        if good.is_empty() {
            prop_assert!(group.values.iter().all(|raw| raw.status == Status::NO_DATA));
        } else {
            prop_assert_eq!(group.values.iter().map(|raw| raw.first).collect::<Vec<_>>(), good);
            prop_assert!(group.values.iter().all(|raw| raw.status.is_good()));
        }
    }

    #[test]
    fn raw_multi_records_round_trip(names in vec("[a-z#äß😀]{0,9}", 0..9), gap in 0usize..40, status in any::<u32>()) {
        let mut at = MULTI_HEAD_BYTES - 8 + MULTI_ITEM_BYTES * names.len();
        let items: Vec<_> = names.iter().map(|name| {
            let item = MultiItem { name_offset: (at as u32).into(), multi_count: 7.into(), ..MultiItem::default() };
            at += 2 * (name.encode_utf16().count() + 1);
            item
        }).collect();
        let size = (at + 8 + gap).next_multiple_of(8);
        let head = MultiHead {
            head: RecordHead::new(KIND_MULTI, size),
            inner_size: (size as u32 - 8).into(),
            count: (names.len() as u32).into(),
            status: status.into(),
            ..MultiHead::default()
        };
        let multi = Multi { head, items, names };
        let mut bytes = Vec::new();
        multi.encode(&mut bytes);
        prop_assert_eq!(bytes.len(), size);
        prop_assert_eq!(Multi::decode(&bytes), Some(multi));
    }

    #[test]
    fn raw_lists_round_trip(names in vec(vec(proptest::option::of("[a-z#\\\\äß😀]{0,9}"), 5), 0..6)) {
        let entries = names.into_iter().map(|mut names| {
            let mut next = || names.pop().flatten();
            let mut entry = Entry { machine: next(), object: next(), instance: next(), parent: next(), counter: next(), ..Entry::default() };
            entry.pack();
            entry
        });
        let list = CounterList { head: ListHead::usual(), entries: entries.collect() };
        let mut bytes = Vec::new();
        list.encode(&mut bytes);
        prop_assert_eq!(CounterList::decode(&bytes, 0), Ok((list, None)));
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in vec(any::<u8>(), 0..4000), size in 2usize..5) {
        // Random bytes alone are not a log, but random bytes within buffers are.
        let _ = try_read(&bytes);
        let _ = Log::decode(&bytes);
        let mut builder = fixture::LogBuilder::new(512 * size);
        builder.list(&[fixture::Entry::multi("Set", "Counter"), fixture::Entry::block("Set")]);
        let mut bytes = bytes.as_slice();
        while let Some((chunk, rest)) = bytes.split_at_checked(64) {
            builder.sample(1, &[fixture::record(2, chunk), fixture::record(5, rest.get(..100).unwrap_or_default())]);
            bytes = rest;
        }
        let file = builder.file();
        let _ = try_read(&file);
        let _ = Log::decode(&file);
    }

    #[test]
    fn no_change_makes_a_reader_panic(changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..20), cut in any::<prop::sample::Index>()) {
        let file = changed(&changes);
        let _ = try_read(&file);
        let _ = try_read(&file[..cut.index(file.len())]);
        if let Ok(log) = Log::decode(&file) {
            prop_assert_eq!(Log::decode(&log.encode()), Ok(log));
        }
    }
}

/// A log with blocks, parents and multi records, some bytes of which are changed.
fn changed(changes: &[(prop::sample::Index, u8)]) -> Vec<u8> {
    use fixture::block::{Block, Counter, Instance, Object};
    let count = Counter { name_index: 6, counter_type: 0x1_0100, bytes: 8 };
    let process = Object::new(230, &[count], &[Instance::new("a", &[1]), Instance::new("b", &[2])]);
    let thread = Object::new(232, &[count], &[Instance::new("0", &[1]).with_parent(230, 1)]);
    let mut builder = fixture::LogBuilder::new(1024);
    builder.names(r"\\MADE", &[(230, "Process"), (232, "Thread"), (6, "Time")]);
    builder.list(&[fixture::Entry::block("Thread"), fixture::Entry::multi("Disk", "Reads")]);
    for n in 0..4 {
        let block = Block::new(n, &[process.clone(), thread.clone()]).record();
        builder.sample(n, &[block, fixture::multi(n, &[("x", 1, 2), ("y", 3, 4)])]);
    }
    let mut file = builder.file();
    for (at, byte) in changes {
        let at = at.index(file.len());
        file[at] = *byte;
    }
    file
}
