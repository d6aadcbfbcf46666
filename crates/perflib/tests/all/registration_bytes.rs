//! Registration data as bytes: the examples of the reference, invalid data, round trips.

use crate::blocks_vectors;

use blocks_vectors as vectors;
use proptest::collection::vec;
use proptest::prelude::*;
use tachograph_counters::CounterType as T;
use tachograph_perflib::block::{BlockError, Found, Rule};
use tachograph_perflib::registration::{
    Aggregate, Attributes, CounterInfo, CounterSetInfo, InstanceType, RegisteredCounter, RegisteredSet,
    Request, Text, decode_counter, decode_guid, decode_set, decode_strings, decode_text, encode, expect_guid,
};
use tachograph_perflib::{ErrorCode, Guid};

const SET: Guid = Guid::from_u128(0x1234_5678_9abc_def0_1122_3344_5566_7788);

/// The set of blocks I and J.
fn disk() -> CounterSetInfo {
    let reads = CounterInfo::new(1, "Reads/sec", T::BULK_COUNT);
    let mut bytes = CounterInfo::new(2, "Bytes/Read", T::AVERAGE_BULK);
    bytes.detail_level = 200;
    bytes.default_scale = -3;
    bytes.base_id = Some(3);
    bytes.help = "Bytes of a read.".into();
    let mut base = CounterInfo::new(3, "", T::AVERAGE_BASE);
    base.attributes = Attributes::NO_DISPLAYABLE;
    base.detail_level = 200;
    let mut info = CounterSetInfo::new("Disk ä😀", SET, InstanceType::Multiple);
    info.provider_guid = Guid::from_u128(7);
    info.provider_name = "Tachograph".into();
    info.counters = vec![reads, bytes, base];
    info
}

fn encoded(info: &CounterSetInfo, request: Request) -> Vec<u8> {
    let mut out = vec![1, 2, 3];
    encode(info, request, &mut out).unwrap_or_else(|error| panic!("{error}"));
    out
}

/// A counter after decoding.
fn registered(counter: &CounterInfo) -> RegisteredCounter {
    let mut decoded = counter.clone();
    decoded.texts_mut().into_iter().for_each(|text| *text = "".into());
    decoded
}

fn registered_set(info: &CounterSetInfo) -> RegisteredSet {
    let mut decoded = CounterSetInfo::new("", info.guid, info.instance_type);
    decoded.detail_level = info.detail_level;
    decoded.counters = info.counters.iter().map(registered).collect();
    decoded
}

#[test]
fn sets_match_the_reference() {
    let bytes = encoded(&disk(), Request::CounterSet);
    assert_eq!(bytes, vectors::bytes(vectors::I));
    let set = decode_set(&bytes).unwrap();
    assert_eq!(set, registered_set(&disk()));
    expect_guid(&set, SET).unwrap();
    let error = expect_guid(&set, Guid::from_u128(5)).unwrap_err();
    assert_eq!((error.rule, error.found), (Rule::OtherSet, Found::Guid(SET)));
    assert_eq!(error.code(), ErrorCode::INVALID_REGISTRATION);
}

#[test]
fn names_match_the_reference() {
    for request in [Request::CounterNames(0), Request::CounterNames(0x409), Request::EnglishCounterNames] {
        assert_eq!(encoded(&disk(), request), vectors::bytes(vectors::J));
    }
    let bytes = vectors::bytes(vectors::J);
    let names = decode_strings(&bytes).unwrap();
    let list: Vec<_> = names.iter().map(|(id, name)| (id, name.map(|name| name.to_string()))).collect();
    assert_eq!(list, [(1, Some("Reads/sec".into())), (2, Some("Bytes/Read".into())), (3, None)]);
    assert!(names.get(2).is_some_and(|name| name == "Bytes/Read"));
    assert!(names.get(3).is_none() && names.get(4).is_none());
    assert_eq!((names.len(), names.is_empty()), (3, false));
    let helps = encoded(&disk(), Request::CounterHelps(0));
    let helps = decode_strings(&helps).unwrap();
    assert!(helps.get(1).is_none() && helps.get(2).is_some_and(|help| help == "Bytes of a read."));
}

#[test]
fn names_help_texts_and_guids_are_encoded() {
    for (request, text) in [
        (Request::CounterSetName(0), "Disk ä😀"),
        (Request::EnglishCounterSetName, "Disk ä😀"),
        (Request::CounterSetHelp(0x809), ""),
        (Request::ProviderName, "Tachograph"),
    ] {
        let bytes = encoded(&disk(), request);
        assert!(decode_text(&bytes).unwrap() == text, "{request:?}");
    }
    let bytes = encoded(&disk(), Request::ProviderGuid);
    assert_eq!(decode_guid(&bytes), Ok(Guid::from_u128(7)));
    let bytes = encoded(&disk(), Request::Counter(2));
    assert_eq!(bytes, vectors::bytes(vectors::I)[0x50..0x80]);
    assert_eq!(decode_counter(&bytes), Ok(registered(&disk().counters[1])));
}

#[test]
fn requests_have_numbers_and_texts_only_in_english() {
    let mut out = vec![1];
    assert_eq!(encode(&disk(), Request::Counter(4), &mut out), Err(ErrorCode::ITEM_ID_NOT_FOUND));
    assert!(out.is_empty());
    for code in 1..=10 {
        let request = Request::from_number(code, 0).unwrap();
        assert_eq!(request.number(), code);
        // German, for requests with a language.
        let german = encode(&disk(), Request::from_number(code, 0x407).unwrap(), &mut out);
        let expected = match code {
            2 => Err(ErrorCode::ITEM_ID_NOT_FOUND),
            3..=6 => Err(ErrorCode::RESOURCE_LANG_NOT_FOUND),
            _ => Ok(()),
        };
        assert_eq!(german, expected, "{code}");
    }
    assert_eq!(Request::from_number(0, 0), None);
    assert_eq!(Request::from_number(11, 0), None);
}

#[track_caller]
fn with(block: &str, changes: &[(usize, u32)]) -> Vec<u8> {
    let mut bytes = vectors::bytes(block);
    for &(at, number) in changes {
        assert_ne!(bytes[at..at + 4], number.to_le_bytes(), "the change has no effect");
        bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
    }
    bytes
}

#[track_caller]
fn rejected<V: std::fmt::Debug>(result: Result<V, BlockError>, rule: Rule, offset: usize, found: Found) {
    let error = result.expect_err("the data is invalid");
    assert_eq!((error.rule, error.offset, error.found), (rule, offset, found), "{error}");
    let code =
        if rule.name().starts_with('R') { ErrorCode::INVALID_REGISTRATION } else { ErrorCode::INVALID_DATA };
    assert_eq!(error.code(), code);
}

#[test]
fn invalid_sets_are_rejected() {
    let none = u32::MAX;
    let set = vectors::bytes(vectors::I);
    rejected(decode_set(&set[..31]), Rule::RegistrationTooShort, 0, Found::Number(31));
    rejected(decode_set(&set[..175]), Rule::RegistrationLength, 0, Found::Number(175));
    rejected(decode_set(&[&set[..], &[0]].concat()), Rule::RegistrationLength, 0, Found::Number(177));
    for (changes, rule, offset, found) in [
        (&[(24, 0)][..], Rule::CounterCount, 24, 0),
        (&[(24, 65_537)], Rule::CounterCount, 24, 65_537),
        (&[(24, u32::MAX)], Rule::CounterCount, 24, u32::MAX.into()),
        (&[(24, 2)], Rule::RegistrationLength, 0, 176),
        (&[(24, 4)], Rule::RegistrationLength, 0, 176),
        (&[(28, 1)], Rule::InstanceType, 28, 1),
        (&[(28, 8)], Rule::InstanceType, 28, 8),
        (&[(20, 300)], Rule::DetailLevel, 20, 300),
        (&[(0x60, 101)], Rule::DetailLevel, 0x60, 101),
        (&[(0x50, 1)], Rule::DuplicateCounterId, 0x50, 1),
        (&[(0x20, none)], Rule::WildcardCounterId, 0x20, none.into()),
        (&[(0x64, 11)], Rule::DefaultScale, 0x64, 11),
        (&[(0x64, none - 10)], Rule::DefaultScale, 0x64, -11),
        (&[(0x68, none)], Rule::CompanionMissing, 0x68, none.into()),
        (&[(0x68, 4)], Rule::CompanionUnknown, 0x68, 4),
        (&[(0x68, 2)], Rule::CompanionIsItself, 0x68, 2),
        (&[(0x3C, 1)], Rule::CompanionIsItself, 0x3C, 1),
        (&[(0x40, 9)], Rule::CompanionUnknown, 0x40, 9),
        (&[(0x44, 9)], Rule::CompanionUnknown, 0x44, 9),
        // An elapsed time without its time counters.
        (&[(0x24, T::ELAPSED_TIME.0)], Rule::CompanionMissing, 0x3C, none.into()),
    ] {
        rejected(decode_set(&with(vectors::I, changes)), rule, offset, Found::Number(found));
    }
    let wrong = with(vectors::I, &[(0x68, 1)]);
    rejected(decode_set(&wrong), Rule::CompanionType, 0x68, Found::Type(T::BULK_COUNT));
    // Accepted: a `set_type` other than 0, reserved fields, future aggregates, a superfluous companion.
    let odd = with(vectors::I, &[(16, 5), (0x48, 9), (0x4C, 1), (0x38, 2)]);
    let decoded = decode_set(&odd).unwrap();
    assert_eq!((decoded.counters[0].aggregate, decoded.counters[0].base_id), (Aggregate::Undefined, Some(2)));

    let counter = &set[0x50..0x80];
    rejected(decode_counter(&counter[..47]), Rule::RegistrationTooShort, 0, Found::Number(47));
    rejected(decode_counter(&set[0x50..0x81]), Rule::RegistrationLength, 48, Found::Number(1));
    rejected(
        decode_counter(&with(vectors::I, &[(0x68, 2)])[0x50..0x80]),
        Rule::CompanionIsItself,
        24,
        Found::Number(2),
    );
    rejected(
        decode_counter(&with(vectors::I, &[(0x50, none)])[0x50..0x80]),
        Rule::WildcardCounterId,
        0,
        Found::Number(none.into()),
    );
}

#[test]
fn an_elapsed_time_needs_a_time_and_a_frequency() {
    // The other types are covered by the test of the registration check, which uses the same table of types.
    let mut info = disk();
    info.counters[0] = CounterInfo::new(1, "Up", T::ELAPSED_TIME);
    info.counters.push(CounterInfo::new(4, "Time", T::LARGE_RAWCOUNT));
    info.counters.push(CounterInfo::new(5, "Frequency", T::LARGE_RAWCOUNT));
    info.counters[0].time_id = Some(4);
    rejected(
        decode_set(&encoded(&info, Request::CounterSet)),
        Rule::CompanionMissing,
        0x40,
        Found::Number(u32::MAX.into()),
    );
    info.counters[0].frequency_id = Some(5);
    assert_eq!(decode_set(&encoded(&info, Request::CounterSet)), Ok(registered_set(&info)));
    info.counters[4].counter_type = T::RAWCOUNT;
    rejected(
        decode_set(&encoded(&info, Request::CounterSet)),
        Rule::CompanionType,
        0x40,
        Found::Type(T::RAWCOUNT),
    );
}

#[test]
fn invalid_string_blocks_are_rejected() {
    let bytes = vectors::bytes(vectors::J);
    rejected(decode_strings(&bytes[..7]), Rule::StringBlockTooShort, 0, Found::Number(7));
    rejected(decode_strings(&bytes[..79]), Rule::StringBlockSizeTooLarge, 0, Found::Number(80));
    for (changes, rule, offset, found) in [
        (&[(0, 7)][..], Rule::StringBlockTooShort, 0, 7),
        (&[(0, 81)], Rule::StringBlockSizeTooLarge, 0, 81),
        (&[(0, 31)], Rule::StringBlockSizeTooSmall, 4, 3),
        (&[(4, 10)], Rule::StringBlockSizeTooSmall, 4, 10),
        (&[(4, 0x2000_0001)], Rule::StringBlockSizeTooSmall, 4, 0x2000_0001),
        (&[(4, u32::MAX)], Rule::StringBlockSizeTooSmall, 4, u32::MAX.into()),
        (&[(0x0C, 0x21)], Rule::StringOffsetOdd, 0x0C, 0x21),
        (&[(0x0C, 80)], Rule::StringOffsetOutside, 0x0C, 80),
        (&[(0x0C, 0xFFFF_FFFE)], Rule::StringOffsetOutside, 0x0C, 0xFFFF_FFFE),
        // If the first offset is taken as relative to the end of the headers, the second one is outside the block.
        (&[(0x0C, 0), (0x14, 0x30)], Rule::StringOffsetOutside, 0x14, 0x30),
        (&[(0x0C, 0x1F)], Rule::StringOffsetOdd, 0x0C, 0x1F),
        // The block ends before the NUL of the second text.
        (&[(0, 0x48)], Rule::StringUnterminated, 0x14, 0x34),
    ] {
        rejected(decode_strings(&with(vectors::J, changes)), rule, offset, Found::Number(found));
    }
    // Trailing bytes, an odd size and counters without a text are accepted.
    let longer = [&bytes[..], &[0xFF; 3]].concat();
    assert_eq!(decode_strings(&longer).unwrap().len(), 3);
    let mut odd = bytes.clone();
    odd[0] = 0x4B;
    assert!(decode_strings(&odd).unwrap().get(2).is_some_and(|name| name == "Bytes/Read"));
    assert!(decode_strings(&[8, 0, 0, 0, 0, 0, 0, 0]).unwrap().is_empty());
    let bare = [16, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 255, 255, 255, 255];
    assert!(decode_strings(&bare).unwrap().iter().eq([(9, None)]));
}

/// The offsets of \[MS-PCQ\], relative to the end of the headers.
#[test]
fn offsets_relative_to_the_end_of_the_headers_are_accepted() {
    let bytes = with(vectors::J, &[(0x0C, 0), (0x14, 0x14)]);
    let names = decode_strings(&bytes).unwrap();
    assert!(names.get(1).is_some_and(|name| name == "Reads/sec"));
    assert!(names.get(2).is_some_and(|name| name == "Bytes/Read"));
}

#[test]
fn invalid_strings_are_rejected() {
    rejected(decode_text(&[]), Rule::TextUnterminated, 0, Found::Number(0));
    rejected(decode_text(&[0]), Rule::TextLengthOdd, 0, Found::Number(1));
    rejected(decode_text(&[65, 0]), Rule::TextUnterminated, 0, Found::Number(2));
    rejected(decode_text(&[65, 0, 0]), Rule::TextLengthOdd, 0, Found::Number(3));
    rejected(decode_text(&[65, 0, 0, 0, 66, 0, 0, 0]), Rule::NulInText, 2, Found::Number(1));
    // Two zero bytes of different characters are not a NUL.
    assert!(decode_text(&[0, 65, 0, 0]).unwrap() == "\u{4100}");
    assert!(decode_text(&[0, 0]).unwrap().is_empty());
    rejected(decode_guid(&[0; 15]), Rule::GuidLength, 0, Found::Number(15));
    rejected(decode_guid(&[0; 17]), Rule::GuidLength, 0, Found::Number(17));
}

/// A set of counters with arbitrary fields and the companions that they need.
fn sets() -> impl Strategy<Value = CounterSetInfo> {
    let types: Vec<T> = T::all().collect();
    let counter = (
        proptest::sample::select(types),
        "[A-Za-zäß😀 /%]{0,12}",
        "[a-zß .]{0,20}",
        any::<u64>(),
        prop_oneof![Just(100u32), Just(200)],
        -10..=10i32,
        0..5u32,
    );
    let instance_types = proptest::sample::select(vec![0u32, 2, 4, 6, 12, 22]);
    (any::<(u128, u128)>(), instance_types, vec(counter, 1..12)).prop_map(
        |(guids, instance_type, counters)| {
            let companions = [
                T::AVERAGE_BASE,
                T::RAW_BASE,
                T::SAMPLE_BASE,
                T::LARGE_RAW_BASE,
                T::LARGE_RAWCOUNT,
                T::RAWCOUNT,
            ];
            let id_of =
                |t: T| companions.iter().position(|other| *other == t).map(|index| 1_000_000 + index as u32);
            let mut info = disk();
            info.guid = Guid::from_u128(guids.0);
            info.provider_guid = Guid::from_u128(guids.1);
            info.instance_type = InstanceType::from_number(instance_type).expect("an instance type");
            info.counters =
                companions.map(|t| CounterInfo::new(id_of(t).expect("a type"), format!("{t}"), t)).into();
            for (number, (counter_type, name, help, attributes, detail_level, scale, aggregate)) in
                (0..).zip(counters)
            {
                let name = if name.is_empty() { String::new() } else { format!("{name} {number}") };
                let mut counter = CounterInfo::new(number * 3, name, counter_type);
                counter.help = help.into();
                counter.attributes = Attributes(attributes);
                counter.detail_level = detail_level;
                counter.default_scale = scale;
                counter.aggregate = Aggregate::from_number(aggregate).expect("an aggregate");
                counter.base_id = counter_type.base().and_then(id_of);
                counter.time_id = id_of(T::LARGE_RAWCOUNT);
                counter.frequency_id = id_of(T::LARGE_RAWCOUNT);
                counter.multiplier_id = id_of(T::RAWCOUNT);
                info.counters.push(counter);
            }
            info
        },
    )
}

proptest! {
    #[test]
    fn registrations_round_trip(info in sets()) {
        prop_assert_eq!(info.check(), Ok(()));
        prop_assert_eq!(decode_set(&encoded(&info, Request::CounterSet)), Ok(registered_set(&info)));
        for (request, text) in [
            (Request::CounterNames(0), (|c| &c.name) as fn(&CounterInfo) -> &Text),
            (Request::CounterHelps(9), |c| &c.help),
            (Request::EnglishCounterNames, |c| &c.name),
        ] {
            let bytes = encoded(&info, request);
            let strings = decode_strings(&bytes).unwrap();
            prop_assert_eq!(bytes.len() % 8, 0);
            prop_assert_eq!(strings.len(), info.counters.len());
            for (counter, (id, read)) in info.counters.iter().zip(strings.iter()) {
                prop_assert_eq!(id, counter.id);
                let read = read.map(|text| text.to_string()).unwrap_or_default();
                prop_assert_eq!(&*read, &**text(counter));
            }
        }
        for counter in &info.counters {
            prop_assert_eq!(decode_counter(&encoded(&info, Request::Counter(counter.id))), Ok(registered(counter)));
        }
    }
}
