use tachograph_publish::{Counter, CounterSet};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "Avg. Bytes/Reply", type = "perf_average_bulk", base = replies)]
    bytes: Counter,
}

fn main() {}
