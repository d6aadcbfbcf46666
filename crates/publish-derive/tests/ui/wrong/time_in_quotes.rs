use tachograph_publish::{CounterSet, Gauge};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "Up Time", type = "perf_elapsed_time", time = "now", frequency = now)]
    up: Gauge,
    #[counter(name = "Now")]
    now: Gauge,
}

fn main() {}
