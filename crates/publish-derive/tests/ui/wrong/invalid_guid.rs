use tachograph_publish::{Counter, CounterSet};

#[derive(CounterSet)]
#[counter_set(name = "Shop", guid = "{1234}")]
struct Shop {
    #[counter(name = "Requests/sec")]
    requests: Counter,
}

fn main() {}
