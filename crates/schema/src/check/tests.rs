use crate::{CounterInfo, CounterSetInfo, CounterType as T, Guid, InstanceType};

fn set(counters: Vec<CounterInfo>) -> CounterSetInfo {
    CounterSetInfo { counters, ..CounterSetInfo::new("Disk", Guid::from_u128(1), InstanceType::Multiple) }
}

fn counter(id: u32, counter_type: T) -> CounterInfo {
    CounterInfo::new(id, format!("C{id}"), counter_type)
}

#[track_caller]
fn refused(info: &CounterSetInfo, words: &str) {
    let error = info.check().expect_err("a set that cannot be registered");
    assert_eq!(error.to_string(), words);
}

#[test]
fn sets() {
    refused(&set(vec![]), "counter set 'Disk': it has 0 counters, not 1 to 65536");
    let mut info = set(vec![counter(1, T::RAWCOUNT)]);
    info.check().unwrap();
    info.detail_level = 300;
    refused(&info, "counter set 'Disk': its detail level is 300, not 100 or 200");
    info.detail_level = 200;
    info.name = "ä".repeat(1023).into();
    info.check().unwrap();
    info.name = "ä".repeat(1024).into();
    assert!(info.check().is_err());
}

#[test]
fn counters() {
    let head = "counter set 'Disk', counter";
    let with = |change: fn(&mut CounterInfo)| {
        let mut info = set(vec![counter(1, T::RAWCOUNT), counter(2, T::RAWCOUNT)]);
        change(&mut info.counters[1]);
        info
    };
    refused(&with(|c| c.id = 1), &format!("{head} 1 'C2': another counter has its id"));
    refused(&with(|c| c.id = u32::MAX), &format!("{head} 4294967295 'C2': its id stands for all counters"));
    refused(&with(|c| c.name = "c1".into()), &format!("{head} 2 'c1': another counter has its name"));
    refused(&with(|c| c.detail_level = 0), &format!("{head} 2 'C2': its detail level is 0, not 100 or 200"));
    refused(
        &with(|c| c.default_scale = 11),
        &format!("{head} 2 'C2': its default scale is 11, not -10 to 10"),
    );
    refused(
        &with(|c| c.default_scale = -11),
        &format!("{head} 2 'C2': its default scale is -11, not -10 to 10"),
    );
    refused(
        &with(|c| c.base_id = Some(3)),
        &format!("{head} 2 'C2': its base is counter 3, which is not in the set"),
    );
    refused(&with(|c| c.time_id = Some(2)), &format!("{head} 2 'C2': it is its own time"));
    with(|c| c.default_scale = -10).check().unwrap();
    // A companion that the type does not need can have any type.
    with(|c| c.base_id = Some(1)).check().unwrap();
    assert_eq!(with(|c| c.id = 1).check().unwrap_err().counter_id(), Some(1));
    // Several counters can have an empty name.
    let mut info = set(vec![counter(1, T::RAWCOUNT), counter(2, T::RAWCOUNT)]);
    info.counters.iter_mut().for_each(|counter| counter.name = "".into());
    info.check().unwrap();
}

/// Each type that needs companions, and the companions. Source: \[MS-PCQ\] 2.2.4.2.
#[test]
fn companions() {
    let base = |t| [Some(t), None, None, None];
    let time = [None, Some(T::LARGE_RAWCOUNT), Some(T::LARGE_RAWCOUNT), None];
    let multiplier = [None, None, None, Some(T::RAWCOUNT)];
    let table = [
        (T::AVERAGE_TIMER, base(T::AVERAGE_BASE)),
        (T::AVERAGE_BULK, base(T::AVERAGE_BASE)),
        (T::RAW_FRACTION, base(T::RAW_BASE)),
        (T::LARGE_RAW_FRACTION, base(T::LARGE_RAW_BASE)),
        (T::SAMPLE_FRACTION, base(T::SAMPLE_BASE)),
        (T::PRECISION_SYSTEM_TIMER, base(T::LARGE_RAW_BASE)),
        (T::PRECISION_100NS_TIMER, base(T(0x4003_0503))),
        (T::OBJ_TIME_TIMER, time),
        (T::OBJ_TIME_QUEUELEN, time),
        (T::ELAPSED_TIME, time),
        (T::PRECISION_OBJECT_TIMER, time),
        (T::COUNTER_MULTI_TIMER, multiplier),
        (T::COUNTER_MULTI_TIMER_INV, multiplier),
        (T::MULTI_TIMER_100NS, multiplier),
        (T::MULTI_TIMER_INV_100NS, multiplier),
    ];
    fn slot(counter: &mut CounterInfo, role: usize) -> &mut Option<u32> {
        match role {
            0 => &mut counter.base_id,
            1 => &mut counter.time_id,
            2 => &mut counter.frequency_id,
            _ => &mut counter.multiplier_id,
        }
    }
    for (counter_type, needed) in table {
        let mut info = set(vec![counter(9, counter_type)]);
        for (role, needed) in needed.into_iter().enumerate() {
            let Some(needed) = needed else { continue };
            let id = 10 + role as u32;
            info.counters.push(counter(id, needed));
            *slot(&mut info.counters[0], role) = Some(id);
        }
        info.check().unwrap_or_else(|error| panic!("{error}"));
        for role in (0..4).filter(|&role| needed[role].is_some()) {
            let mut lacking = info.clone();
            *slot(&mut lacking.counters[0], role) = None;
            assert!(lacking.check().unwrap_err().to_string().contains("its type needs a "), "{counter_type}");
            let mut wrong = info.clone();
            let of = wrong.counters.iter_mut().find(|c| c.id == 10 + role as u32).expect("there");
            of.counter_type = T::RAWCOUNT_HEX;
            let words = wrong.check().unwrap_err().to_string();
            assert!(words.contains("is of type PERF_COUNTER_RAWCOUNT_HEX, not "), "{words}");
        }
    }
    // No other types need companions.
    for counter_type in T::all().filter(|t| table.iter().all(|(other, _)| other != t)) {
        set(vec![counter(1, counter_type)]).check().unwrap_or_else(|error| panic!("{error}"));
    }
}
