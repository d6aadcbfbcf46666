use tachograph_publish::{Counter, CounterSet};

#[derive(CounterSet)]
#[counter_set(name = "Shop (north)")]
struct Shop {
    #[counter(name = "Requests (all)")]
    requests: Counter,
}

fn main() {}
