use tachograph_publish::{CounterSet, Gauge};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "Up Time", type = "perf_elapsed_time")]
    up: Gauge,
}

fn main() {}
