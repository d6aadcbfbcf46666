use tachograph_publish::{Counter, CounterSet};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    title: String,
    #[counter(name = "Requests/sec")]
    requests: Counter,
}

fn main() {}
