use tachograph_publish::{CounterSet, Timer};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "Avg. Bytes/Reply", type = "perf_average_bulk", base = "Replies")]
    time: Timer,
}

fn main() {}
