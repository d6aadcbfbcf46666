use tachograph_publish::{Counter, CounterSet, Timer};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "Avg. sec/Request", base = count)]
    time: Timer,
    #[counter(name = "Count", type = "perf_average_base")]
    count: Counter,
}

fn main() {}
