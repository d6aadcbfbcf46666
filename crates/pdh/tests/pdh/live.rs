//! Queries of a machine.

use tachograph_pdh::{
    CounterId, DataSource, Format, FormattedValue, LogHandle, NoValue, PdhStatus, Query, Value, flags,
};
use tachograph_perflib::{ErrorCode, FREQUENCY};

use crate::fake_machine::Machine;

fn value(query: &Query, id: CounterId) -> Result<f64, (PdhStatus, PdhStatus)> {
    match query.formatted_value(id, Format::DOUBLE) {
        Ok(FormattedValue { status: PdhStatus::VALID_DATA, value: Value::Double(double) }) => Ok(double),
        Ok(other) => panic!("{other:?}"),
        Err(NoValue { status, value_status }) => Err((status, value_status)),
    }
}

/// Name, index, and the value or its status.
type Item = (String, u32, Result<f64, PdhStatus>);

fn array(query: &Query, id: CounterId) -> Result<Vec<Item>, PdhStatus> {
    let items = query.formatted_array(id, Format::DOUBLE)?.into_iter().map(|item| {
        let value = match item.value {
            FormattedValue { status: PdhStatus::VALID_DATA, value: Value::Double(double) } => Ok(double),
            FormattedValue { status, value } => {
                assert_eq!(value, Value::Double(0.0));
                Err(status)
            }
        };
        (item.name, item.index, value)
    });
    Ok(items.collect())
}

#[test]
fn handles_can_be_used_by_any_thread() {
    fn is_send<T: Send>() {}
    fn is_sync<T: Sync>() {}
    is_send::<Query>();
    is_send::<LogHandle>();
    is_send::<DataSource>();
    is_sync::<DataSource>();
}

/// The documented behaviour of PdhAddCounter and PdhAddEnglishCounter.
#[test]
fn adding_counters_returns_the_documented_statuses() {
    let machine = Machine::new();
    let mut query = Query::open(&machine.source, 0);
    for (path, status) in [
        (r"\System\System Down Time", PdhStatus::NO_COUNTER),
        (r"\Sistem\System Up Time", PdhStatus::NO_OBJECT),
        ("", PdhStatus::NO_COUNTERNAME),
        ("blah", PdhStatus::BAD_COUNTERNAME),
        (r"\System", PdhStatus::BAD_COUNTERNAME),
        (r"\\other\System\System Up Time", PdhStatus::NO_MACHINE),
        (r"\Process\Ticks/sec", PdhStatus::NO_INSTANCE),
        (r"\System(x)\System Up Time", PdhStatus::NO_INSTANCE),
        // Set and counter are names, not patterns.
        (r"\Process(*)\*", PdhStatus::NO_COUNTER),
        (r"\S*\System Up Time", PdhStatus::NO_OBJECT),
    ] {
        assert_eq!(query.add_counter(path, 0), Err(status), "{path}");
        assert_eq!(query.add_english_counter(path, 0), Err(status), "{path}");
    }
    assert_eq!(query.counters().count(), 0);
    // A counter of an unknown instance can be added, because the instance may appear later, as it does here.
    let late = query.add_counter(r"\Process(late)\ID Process", 0).expect("success");
    let fixed = query.add_english_counter(r"\system\system up time", 0).expect("an existing counter");
    assert_eq!(query.collect(), Ok(()));
    assert_eq!(value(&query, late), Err((PdhStatus::INVALID_DATA, PdhStatus::NO_INSTANCE)));
    assert_eq!(query.raw_value(late).expect("a raw value").status, PdhStatus::NO_INSTANCE);
    assert_eq!(query.info(late).expect("an existing counter").status, PdhStatus::NO_INSTANCE);
    assert_eq!(value(&query, fixed), Ok(42.0));
    machine.after(1, |values| values.processes.push(("late".into(), 77, 0)));
    assert_eq!(query.collect(), Ok(()));
    assert_eq!(value(&query, late), Ok(77.0));
    // A provider that fails does not prevent adding a counter.
    machine.after(1, |values| values.failure = Some(ErrorCode::NO_DATA));
    assert!(query.add_counter(r"\Process(bash)\Ticks/sec", 0).is_ok());
}

/// Before the first collection there are no values; after it, only one-sample types have values.
#[test]
fn two_sample_types_have_values_after_two_collections() {
    let machine = Machine::new();
    let (mut query, ids) = machine.query(&[
        r"\System\Context Switches/sec",
        r"\System\System Up Time",
        r"\LogicalDisk(/home)\% Free Space",
        r"\Processor(0)\% Processor Time",
        r"\Process(*)\Ticks/sec",
    ]);
    let [switches, up, free, busy, ticks] = ids[..] else { panic!("five") };
    for id in [switches, up, free, busy] {
        let not_yet = PdhStatus::ITEM_NOT_VALIDATED;
        assert_eq!(value(&query, id), Err((PdhStatus::INVALID_DATA, not_yet)));
        assert_eq!(query.raw_value(id).expect("a raw value").status, not_yet);
        assert_eq!(query.info(id).expect("an existing counter").status, not_yet);
    }
    assert_eq!(query.formatted_array(ticks, Format::DOUBLE), Err(PdhStatus::INVALID_DATA));
    assert_eq!(query.raw_array(ticks), Err(PdhStatus::INVALID_DATA));

    let time = query.collect_with_time().expect("values");
    let no_value = Err((PdhStatus::INVALID_DATA, PdhStatus::CSTATUS_INVALID_DATA));
    assert_eq!(value(&query, switches), no_value);
    assert_eq!(value(&query, busy), no_value);
    assert_eq!((value(&query, up), value(&query, free)), (Ok(42.0), Ok(50.0)));
    assert_eq!(array(&query, ticks), Err(PdhStatus::INVALID_DATA));
    assert_eq!(query.raw_array(ticks).expect("raw values").len(), 3);
    let raw = query.raw_value(switches).expect("a raw value");
    assert_eq!((raw.status, raw.first, raw.time_stamp), (PdhStatus::VALID_DATA, 1000, time));
    assert_eq!(raw.second, 100 * FREQUENCY);

    machine.after(2, |values| {
        values.switches += 10;
        values.busy[0] += 5_000_000;
    });
    let later = query.collect_with_time().expect("values");
    assert_eq!(later.since(time), 2 * FREQUENCY);
    assert_eq!((value(&query, switches), value(&query, busy)), (Ok(5.0), Ok(25.0)));
    // Formatting the raw values returns the same value.
    let newer = query.raw_value(switches).expect("a raw value");
    let kind = query.kind(switches).expect("an existing counter");
    let again =
        tachograph_pdh::calculate_from_raw(&kind, Format::DOUBLE, &newer, Some(&raw)).expect("a value");
    assert_eq!(again.value, Value::Double(5.0));
    // Values are unchanged until the next collection.
    assert_eq!(value(&query, switches), Ok(5.0));
}

#[test]
fn counters_that_go_backwards_are_errors() {
    let machine = Machine::new();
    let (mut query, ids) = machine.query(&[r"\System\Context Switches/sec"]);
    query.collect().expect("a value");
    machine.after(1, |values| values.switches = 1);
    query.collect().expect("a value");
    let negative = Err((PdhStatus::NEGATIVE_VALUE, PdhStatus::CSTATUS_INVALID_DATA));
    assert_eq!(value(&query, ids[0]), negative);
    // If neither the time nor the count has changed, the value is 0.
    query.collect().expect("a value");
    assert_eq!(value(&query, ids[0]), Ok(0.0));
}

/// The documented behaviour of PdhCollectQueryData.
#[test]
fn collect_returns_no_data_without_values() {
    let machine = Machine::new();
    let mut query = Query::open(&machine.source, 0);
    assert_eq!(query.collect(), Err(PdhStatus::NO_DATA));
    let nobody = query.add_counter(r"\Process(nobody)\Ticks/sec", 0).expect("success");
    let empty = query.add_counter(r"\Empty(*)\Count", 0).expect("success");
    assert_eq!(query.collect(), Err(PdhStatus::NO_DATA));
    assert_eq!(query.raw_value(nobody).expect("a raw value").status, PdhStatus::NO_INSTANCE);
    assert_eq!(array(&query, empty), Err(PdhStatus::NO_DATA));
    assert_eq!(query.raw_array(empty), Err(PdhStatus::NO_DATA));
    // One value is enough.
    let up = query.add_counter(r"\System\System Up Time", 0).expect("an existing counter");
    assert_eq!(query.collect(), Ok(()));
    // If a set cannot be read, only its own counters have errors.
    let bash = query.add_counter(r"\Process(bash)\ID Process", 0).expect("an existing counter");
    let all = query.add_counter(r"\Process(*)\ID Process", 0).expect("an existing counter");
    machine.after(1, |values| values.failure = Some(ErrorCode::NO_DATA));
    assert_eq!(query.collect(), Ok(()));
    assert_eq!(value(&query, bash), Err((PdhStatus::INVALID_DATA, PdhStatus::CSTATUS_INVALID_DATA)));
    assert_eq!(array(&query, all), Err(PdhStatus::NO_DATA));
    assert_eq!(query.info(all).expect("an existing counter").status, PdhStatus::NO_DATA);
    assert_eq!(value(&query, up), Ok(42.0));
    query.remove_counter(up).expect("an existing counter");
    assert_eq!(query.collect(), Err(PdhStatus::NO_DATA));
}

#[test]
fn arrays_have_one_item_per_instance() {
    let machine = Machine::new();
    let (mut query, ids) = machine.query(&[
        r"\Process(*)\Ticks/sec",
        r"\Process(b*)\ID Process",
        r"\Process(BASH)\ID Process",
        r"\Thread(*)\ID Thread",
        r"\Process(absent)\Ticks/sec",
        r"\System\System Up Time",
    ]);
    query.collect().expect("values");
    machine.after(1, |values| {
        values.processes[0].2 += 5;
        values.processes[1].2 += 7;
        // An instance is inserted before the others, and one disappears.
        values.processes.remove(2);
        values.processes.insert(0, ("awk".into(), 9, 1));
    });
    query.collect().expect("values");
    // Instances with the same name have equal names here and different indexes; a new one has no value yet.
    let no_value = Err(PdhStatus::CSTATUS_INVALID_DATA);
    let expected = vec![
        ("awk".to_owned(), 0, no_value),
        ("bash".to_owned(), 0, Ok(5.0)),
        ("bash".to_owned(), 1, Ok(7.0)),
    ];
    assert_eq!(array(&query, ids[0]), Ok(expected));
    let names: Vec<_> =
        query.raw_array(ids[0]).expect("values").into_iter().map(|item| (item.name, item.index)).collect();
    assert_eq!(names, [("awk".to_owned(), 0), ("bash".to_owned(), 0), ("bash".to_owned(), 1)]);
    // Instances that only another path selects are not included, whether they are present or not.
    let ids_of = vec![("bash".to_owned(), 0, Ok(1.0)), ("bash".to_owned(), 1, Ok(2.0))];
    assert_eq!(array(&query, ids[1]), Ok(ids_of));
    let parents: Vec<_> =
        query.raw_array(ids[3]).expect("values").into_iter().map(|item| item.name).collect();
    assert_eq!(parents, ["bash/0", "bash/1"]);
    // With one instance, the array has one item; with several, there is no single value.
    assert_eq!(value(&query, ids[2]), Ok(1.0));
    assert_eq!(array(&query, ids[2]), Ok(vec![("BASH".to_owned(), 0, Ok(1.0))]));
    assert_eq!(array(&query, ids[5]), Ok(vec![(String::new(), 0, Ok(42.0))]));
    let several = Err((PdhStatus::INVALID_ARGUMENT, PdhStatus::CSTATUS_INVALID_DATA));
    assert_eq!(value(&query, ids[0]), several);
    assert_eq!(query.raw_value(ids[0]), Err(PdhStatus::INVALID_ARGUMENT));
    // An instance that reappears has no previous value.
    machine.after(1, |values| values.processes.retain(|(name, ..)| name != "awk"));
    query.collect().expect("values");
    machine.after(1, |values| values.processes.push(("awk".into(), 9, 100)));
    query.collect().expect("values");
    assert!(array(&query, ids[0]).expect("values").contains(&("awk".to_owned(), 0, no_value)));
}

/// Two values are paired only if they are of the same instance. Adding a counter between two samples does not change which
/// values are paired.
#[test]
fn only_samples_of_the_same_instance_are_paired() {
    let machine = Machine::new();
    let (mut query, ids) = machine.query(&[r"\Process(bash)\Ticks/sec"]);
    machine.after(1, |values| {
        values.processes = vec![("bash".into(), 1, 20), ("bash".into(), 2, 1000)];
    });
    query.collect().expect("a value");
    machine.after(1, |values| {
        values.processes = vec![("bash".into(), 2, 1500)];
    });
    // Adding a counter changes the indexes of the instances.
    query.add_counter(r"\Process(bash)\ID Process", 0).expect("an existing counter");
    query.collect().expect("a value");
    let got = value(&query, ids[0]);
    assert!(got.is_err(), "1480 would be a pair of two processes: {got:?}");
    machine.after(1, |values| values.processes[0].2 = 2000);
    query.collect().expect("a value");
    assert_eq!(value(&query, ids[0]), Ok(500.0));
}

#[test]
fn counters_report_their_properties() {
    let machine = Machine::new();
    let mut query = Query::open(&machine.source, 11);
    assert!(query.is_real_time() && query.source().log_paths().is_empty());
    let id = query.add_counter(r"\logicaldisk(/HOME)\% free space", 22).expect("an existing counter");
    let info = query.info(id).expect("an existing counter");
    assert_eq!((info.user_data, info.query_user_data, query.user_data()), (22, 11, 11));
    assert_eq!((info.scale, info.default_scale, info.version), (0, -1, 0));
    assert_eq!(info.counter_type.name(), Some("PERF_RAW_FRACTION"));
    assert_eq!(info.full_path, r"\\FAKE\LogicalDisk(/HOME)\% Free Space");
    assert_eq!(info.elements.machine.as_deref(), Some("FAKE"));
    assert_eq!((info.elements.instance.as_deref(), info.elements.parent.as_deref()), (Some("/HOME"), None));
    let up = query.add_counter(r"\System\System Up Time", 0).expect("an existing counter");
    assert_eq!(query.info(up).expect("an existing counter").explain_text, "Seconds since the start.");
    assert_eq!(query.time_base(id), Ok(FREQUENCY));

    // Scale factors can be -7 to 7.
    for wrong in [-8, 8, 1000, i32::MIN, i32::MAX] {
        assert_eq!(query.set_scale_factor(id, wrong), Err(PdhStatus::INVALID_ARGUMENT), "{wrong}");
    }
    query.set_scale_factor(id, -7).expect("in range");
    query.set_scale_factor(id, 2).expect("in range");
    query.collect().expect("a value");
    let large = |bits| {
        let format = Format::from_flags(flags::LARGE | bits).expect("a format");
        query.formatted_value(id, format).expect("a value").value
    };
    assert_eq!((large(0), large(flags::NOSCALE)), (Value::Large(5000), Value::Large(50)));
    assert_eq!(query.info(id).expect("an existing counter").scale, 2);

    // All functions reject a removed counter.
    query.remove_counter(id).expect("an existing counter");
    assert_eq!(query.remove_counter(id), Err(PdhStatus::INVALID_HANDLE));
    assert_eq!(query.info(id).err(), Some(PdhStatus::INVALID_HANDLE));
    assert_eq!(query.kind(id), Err(PdhStatus::INVALID_HANDLE));
    assert_eq!(query.raw_value(id), Err(PdhStatus::INVALID_HANDLE));
    assert_eq!(query.raw_array(id), Err(PdhStatus::INVALID_HANDLE));
    assert_eq!(query.formatted_array(id, Format::DOUBLE), Err(PdhStatus::INVALID_HANDLE));
    assert_eq!(value(&query, id).expect_err("the counter was removed").0, PdhStatus::INVALID_HANDLE);
    assert_eq!(query.set_scale_factor(id, 0), Err(PdhStatus::INVALID_HANDLE));
    // Its id is not reused.
    let other = query.add_counter(r"\System\System Up Time", 0).expect("an existing counter");
    assert!(other != id && other != up);
    assert_eq!(query.counters().collect::<Vec<_>>(), [up, other]);

    // Functions that require a log fail.
    use tachograph_counters::civil::FileTime;
    let real_time = PdhStatus::DATA_SOURCE_IS_REAL_TIME;
    assert_eq!(query.set_time_range(FileTime(0), FileTime(1)), Err(real_time));
    assert_eq!(machine.source.time_range(), Err(real_time));
    assert_eq!(machine.source.file_bytes(), Err(real_time));
    assert_eq!(machine.source.read_raw_log_record(FileTime(0)), Err(real_time));
}

/// In a set that each process publishes with a single instance, a path without an instance selects the only process.
#[test]
fn the_instance_can_be_omitted_for_sets_published_by_one_process() {
    let machine = Machine::new();
    let (mut query, ids) = machine.query(&[r"\Shop\Sales", r"\Shop(shop)\Sales", r"\System\System Up Time"]);
    query.collect().expect("values");
    assert_eq!((value(&query, ids[0]), value(&query, ids[1])), (Ok(3.0), Ok(3.0)));
    assert_eq!(query.raw_value(ids[0]).expect("a raw value").first, 3);
    assert_eq!(array(&query, ids[0]), Ok(vec![("shop".to_owned(), 0, Ok(3.0))]));
    // With two processes, there is no single value.
    machine.after(1, |values| values.shops.push(("other".into(), 4)));
    query.collect().expect("values");
    let several = Err((PdhStatus::INVALID_INSTANCE, PdhStatus::CSTATUS_INVALID_DATA));
    assert_eq!((value(&query, ids[0]), value(&query, ids[1])), (several, Ok(3.0)));
    assert_eq!(array(&query, ids[0]).map(|items| items.len()), Ok(2));
    machine.after(1, |values| values.shops.clear());
    query.collect().expect("values");
    let gone = Err((PdhStatus::INVALID_DATA, PdhStatus::NO_INSTANCE));
    assert_eq!((value(&query, ids[0]), value(&query, ids[1])), (gone, gone));
}

#[test]
fn sets_can_appear_and_disappear() {
    let machine = Machine::new();
    machine.without(&["Shop"]);
    let mut query = Query::open(&machine.source, 0);
    assert_eq!(query.add_counter(r"\Shop\Sales", 0), Err(PdhStatus::NO_OBJECT));
    let up = query.add_counter(r"\System\System Up Time", 0).expect("an existing counter");
    query.collect().expect("values");
    machine.without(&[]);
    assert!(machine.source.objects(None, 400).expect("names").contains(&"Shop".to_owned()));
    let sales = query.add_counter(r"\Shop(shop)\Sales", 0).expect("an existing counter");
    query.collect().expect("values");
    assert_eq!((value(&query, sales), value(&query, up)), (Ok(3.0), Ok(42.0)));
    // The removal of a set takes effect when the next counter is looked up, here by `add_counter`.
    machine.without(&["Shop"]);
    query.collect().expect("values");
    assert_eq!(value(&query, sales), Ok(3.0));
    query.add_counter(r"\Process(init)\ID Process", 0).expect("an existing counter");
    query.collect().expect("values");
    assert_eq!(value(&query, sales), Err((PdhStatus::INVALID_DATA, PdhStatus::NO_OBJECT)));
    assert_eq!(value(&query, up), Ok(42.0));
}

/// Wildcards are expanded for every sample.
#[test]
fn instances_that_appear_later_get_values() {
    let machine = Machine::new();
    let (mut query, ids) = machine.query(&[r"\Process(*)\ID Process"]);
    for count in 3..20 {
        query.collect().expect("values");
        assert_eq!(query.raw_array(ids[0]).expect("values").len(), count);
        machine.after(1, |values| values.processes.push((format!("p{count}"), 100 + count as u32, 0)));
    }
}
