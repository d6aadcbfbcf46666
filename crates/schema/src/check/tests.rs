use crate::{CounterInfo, CounterSetInfo, CounterType as T, Guid, InstanceType};

fn set(counters: Vec<CounterInfo>) -> CounterSetInfo {
    CounterSetInfo { counters, ..CounterSetInfo::new("Disk", Guid::from_u128(1), InstanceType::Multiple) }
}

fn counter(id: u32, counter_type: T) -> CounterInfo {
    CounterInfo::new(id, format!("C{id}"), counter_type)
}

#[track_caller]
fn assert_rejected(info: &CounterSetInfo, message: &str) {
    let error = info.check().expect_err("a set that cannot be registered");
    assert_eq!(error.to_string(), message);
}

#[test]
fn invalid_sets_are_rejected() {
    assert_rejected(&set(vec![]), "counter set 'Disk': it has 0 counters, not 1 to 65536");
    let mut info = set(vec![counter(1, T::RAWCOUNT)]);
    info.check().unwrap();
    info.detail_level = 300;
    assert_rejected(&info, "counter set 'Disk': its detail level is 300, not 100 or 200");
    info.detail_level = 200;
    info.name = "ä".repeat(1023).into();
    info.check().unwrap();
    info.name = "ä".repeat(1024).into();
    assert!(info.check().is_err());
}

#[test]
fn invalid_counters_are_rejected() {
    let head = "counter set 'Disk', counter";
    let set_with = |change: fn(&mut CounterInfo)| {
        let mut info = set(vec![counter(1, T::RAWCOUNT), counter(2, T::RAWCOUNT)]);
        change(&mut info.counters[1]);
        info
    };
    assert_rejected(&set_with(|c| c.id = 1), &format!("{head} 1 'C2': another counter has its id"));
    assert_rejected(
        &set_with(|c| c.id = u32::MAX),
        &format!("{head} 4294967295 'C2': its id is reserved: it means all counters"),
    );
    assert_rejected(
        &set_with(|c| c.name = "c1".into()),
        &format!("{head} 2 'c1': another counter has its name"),
    );
    assert_rejected(
        &set_with(|c| c.detail_level = 0),
        &format!("{head} 2 'C2': its detail level is 0, not 100 or 200"),
    );
    assert_rejected(
        &set_with(|c| c.default_scale = 11),
        &format!("{head} 2 'C2': its default scale is 11, not -10 to 10"),
    );
    assert_rejected(
        &set_with(|c| c.default_scale = -11),
        &format!("{head} 2 'C2': its default scale is -11, not -10 to 10"),
    );
    assert_rejected(
        &set_with(|c| c.base_id = Some(3)),
        &format!("{head} 2 'C2': its base is counter 3, which is not in the set"),
    );
    assert_rejected(&set_with(|c| c.time_id = Some(2)), &format!("{head} 2 'C2': it is its own time"));
    set_with(|c| c.default_scale = -10).check().unwrap();
    // A companion that the type does not need can have any type.
    set_with(|c| c.base_id = Some(1)).check().unwrap();
    assert_eq!(set_with(|c| c.id = 1).check().unwrap_err().counter_id(), Some(1));
    // Several counters can have an empty name.
    let mut info = set(vec![counter(1, T::RAWCOUNT), counter(2, T::RAWCOUNT)]);
    info.counters.iter_mut().for_each(|counter| counter.name = "".into());
    info.check().unwrap();
}

/// The table lists each type that needs companions, with the types of these companions. Source: \[MS-PCQ\] 2.2.4.2.
#[test]
fn needed_companions_must_exist_and_have_the_needed_type() {
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
    fn companion_id(counter: &mut CounterInfo, role: usize) -> &mut Option<u32> {
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
            *companion_id(&mut info.counters[0], role) = Some(id);
        }
        info.check().unwrap_or_else(|error| panic!("{error}"));
        for role in (0..4).filter(|&role| needed[role].is_some()) {
            let mut incomplete = info.clone();
            *companion_id(&mut incomplete.counters[0], role) = None;
            assert!(
                incomplete.check().unwrap_err().to_string().contains("its type needs a "),
                "{counter_type}"
            );
            let mut wrong = info.clone();
            let companion =
                wrong.counters.iter_mut().find(|c| c.id == 10 + role as u32).expect("the companion");
            companion.counter_type = T::RAWCOUNT_HEX;
            let message = wrong.check().unwrap_err().to_string();
            assert!(message.contains("is of type PERF_COUNTER_RAWCOUNT_HEX, not "), "{message}");
        }
    }
    // No other types need companions.
    for counter_type in T::all().filter(|t| table.iter().all(|(other, _)| other != t)) {
        set(vec![counter(1, counter_type)]).check().unwrap_or_else(|error| panic!("{error}"));
    }
}
