use tachograph_publish::{Counter, CounterSet, Timer};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "Avg. Bytes/Reply", type = "perf_average_bulk", base = time)]
    bytes: Counter,
    #[counter(name = "Avg. sec/Reply", base = "Replies")]
    time: Timer,
}

fn main() {}
