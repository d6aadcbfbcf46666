use tachograph_publish::{Counter, CounterSet};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "Title", type = "perf_counter_text")]
    title: Counter,
}

fn main() {}
