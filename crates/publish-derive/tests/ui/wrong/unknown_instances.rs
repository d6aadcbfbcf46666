use tachograph_publish::{Counter, CounterSet};

#[derive(CounterSet)]
#[counter_set(name = "Shop", instances = "many")]
struct Shop {
    #[counter(name = "Requests/sec")]
    requests: Counter,
}

fn main() {}
