use tachograph_publish::{CounterSet, Gauge};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "Requests/sec", type = "perf_counter_bulk_count")]
    requests: Gauge,
}

fn main() {}
