use tachograph_publish::{Counter, CounterSet, Gauge};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "% Busy", type = "perf_counter_multi_timer", multiplier = threads)]
    busy: Counter,
    #[counter(name = "Threads")]
    threads: Gauge,
}

fn main() {}
