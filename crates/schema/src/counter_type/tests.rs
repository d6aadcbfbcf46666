use super::*;

#[test]
fn table_is_sorted_and_names_round_trip() {
    assert!(NAMED_TYPES.windows(2).all(|pair| pair[0].word <= pair[1].word));
    for named in NAMED_TYPES {
        assert_eq!(CounterType::from_name(named.name), Some(CounterType(named.word)));
        if let Some(dot_net) = named.dot_net_name {
            assert_eq!(CounterType::from_name(dot_net), Some(CounterType(named.word)));
            assert_eq!(CounterType(named.word).dot_net_name(), Some(dot_net));
        }
    }
    assert_eq!(NAMED_TYPES.len(), 41);
    assert_eq!(CounterType::all().count(), 40, "LARGE_RAW_BASE and PRECISION_TIMESTAMP are one word");
}

#[test]
fn accessors_return_the_fields_of_a_word() {
    use CounterType as T;
    let fields = |kind: T| (kind.size(), kind.class(), kind.subtype(), kind.time_base(), kind.suffix());
    assert_eq!(
        fields(T::MULTI_TIMER_INV_100NS),
        (Size::Large, Class::Counter, Subtype::Rate, TimeBase::HundredNs, Suffix::Percent)
    );
    assert!(T::MULTI_TIMER_INV_100NS.is_multi() && T::MULTI_TIMER_INV_100NS.is_inverse());
    assert_eq!(
        fields(T::ELAPSED_TIME),
        (Size::Large, Class::Counter, Subtype::Elapsed, TimeBase::Object, Suffix::Seconds)
    );
    assert_eq!(
        fields(T::TEXT),
        (Size::VariableLength, Class::Text, Subtype::Unicode, TimeBase::Tick, Suffix::None)
    );
    assert_eq!(
        fields(T::SAMPLE_BASE),
        (Size::Dword, Class::Counter, Subtype::Base, TimeBase::Tick, Suffix::NoShow)
    );
    assert!(T::SAMPLE_FRACTION.is_delta() && T::SAMPLE_FRACTION.is_delta_base());
    assert!(T::SAMPLE_BASE.is_base() && !T::SAMPLE_BASE.is_shown());
    assert!(T::RAWCOUNT_HEX.is_hexadecimal() && !T::RAWCOUNT.is_hexadecimal());
    assert!(!T::NO_DATA.is_shown() && T::AVERAGE_BULK.is_shown());
}

#[test]
fn averages_need_two_samples_although_their_delta_bit_is_clear() {
    let types: Vec<_> = CounterType::all().filter(|kind| kind.needs_two_samples()).collect();
    assert_eq!(types.len(), 24);
    for kind in [CounterType::AVERAGE_TIMER, CounterType::AVERAGE_BULK] {
        assert!(!kind.is_delta() && kind.needs_two_samples());
    }
}

#[test]
fn unknown_words_are_preserved() {
    let odd = CounterType(0x20C2_0500);
    assert!(!odd.is_known() && odd.name().is_none() && odd.formula().is_none());
    assert_eq!(odd.to_string(), "0x20c20500");
    assert_eq!(CounterType(0x4003_0503).name(), Some("PERF_LARGE_RAW_BASE"));
}
