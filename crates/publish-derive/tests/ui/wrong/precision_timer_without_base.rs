use tachograph_publish::{Counter, CounterSet};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "% Busy", type = "perf_precision_100ns_timer")]
    busy: Counter,
}

fn main() {}
