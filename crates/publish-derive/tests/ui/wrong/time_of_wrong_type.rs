use tachograph_publish::{CounterSet, Gauge};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "Up Time", type = "perf_elapsed_time", time = now, frequency = frequency)]
    up: Gauge,
    #[counter(name = "Now", type = "perf_counter_rawcount")]
    now: Gauge,
    #[counter(name = "Frequency")]
    frequency: Gauge,
}

fn main() {}
