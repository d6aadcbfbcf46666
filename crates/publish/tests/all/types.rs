//! The derive macro supports the counter types of winperf.h.

use tachograph_publish::{Counter, CounterSet, Gauge};

macro_rules! types {
    ($($field:ident $name:literal $(, $key:ident = $companion:ident)*;)*) => {
        #[derive(CounterSet)]
        #[counter_set(name = "All Types")]
        #[allow(dead_code, reason = "the test uses only the description")]
        struct AllTypes {
            #[counter(name = "base: raw", type = "perf_raw_base")]
            raw: Gauge,
            #[counter(name = "base: large", type = "perf_large_raw_base")]
            large: Gauge,
            #[counter(name = "base: sample", type = "perf_sample_base")]
            sample: Counter,
            #[counter(name = "base: average", type = "perf_average_base")]
            average: Counter,
            #[counter(name = "base: multi", type = "perf_counter_multi_base")]
            multi: Counter,
            #[counter(name = "time")]
            time: Gauge,
            #[counter(name = "factor", type = "perf_counter_rawcount")]
            factor: Gauge,
            $(#[counter(name = $name, type = $name $(, $key = $companion)*)]
            $field: Counter,)*
        }
    };
}

types! {
    a01 "perf_counter_counter";
    a02 "perf_counter_bulk_count";
    a03 "perf_counter_delta";
    a04 "perf_counter_large_delta";
    a05 "perf_sample_counter";
    a06 "perf_counter_queuelen_type";
    a07 "perf_counter_large_queuelen_type";
    a08 "perf_counter_100ns_queuelen_type";
    a09 "perf_counter_obj_time_queuelen_type", time = time, frequency = time;
    a10 "perf_counter_timer";
    a11 "perf_counter_timer_inv";
    a12 "perf_100nsec_timer";
    a13 "perf_100nsec_timer_inv";
    a14 "perf_obj_time_timer", time = time, frequency = time;
    a15 "perf_precision_system_timer", base = large;
    a16 "perf_precision_100ns_timer", base = large;
    a17 "perf_precision_object_timer", time = time, frequency = time;
    a18 "perf_counter_multi_timer", multiplier = factor;
    a19 "perf_counter_multi_timer_inv", multiplier = factor, base = multi;
    a20 "perf_100nsec_multi_timer", multiplier = factor;
    a21 "perf_100nsec_multi_timer_inv", multiplier = factor;
    a22 "perf_average_timer", base = average;
    a23 "perf_average_bulk", base = average;
    a24 "perf_sample_fraction", base = sample;
    a25 "perf_raw_fraction", base = raw;
    a26 "perf_large_raw_fraction", base = large;
    a27 "perf_counter_rawcount";
    a28 "perf_counter_large_rawcount";
    a29 "perf_counter_rawcount_hex";
    a30 "perf_counter_large_rawcount_hex";
    a31 "perf_elapsed_time", time = time, frequency = time;
}

#[test]
fn all_types_of_winperf_can_be_named_in_attributes() {
    let set = AllTypes::description();
    for counter in &set.counters[7..] {
        let known = counter.counter_type.name();
        assert_eq!(known.map(str::to_lowercase).as_deref(), Some(counter.name.as_ref()));
    }
    let bases = [
        "PERF_RAW_BASE",
        "PERF_LARGE_RAW_BASE",
        "PERF_SAMPLE_BASE",
        "PERF_AVERAGE_BASE",
        "PERF_COUNTER_MULTI_BASE",
    ];
    for (counter, name) in set.counters.iter().zip(bases) {
        assert_eq!(counter.counter_type.name(), Some(name));
    }
    assert_eq!(set.counters.len(), 7 + 31);
}
