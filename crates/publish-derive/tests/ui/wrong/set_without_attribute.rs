use tachograph_publish::{Counter, CounterSet};

#[derive(CounterSet)]
struct Shop {
    #[counter(name = "Requests/sec")]
    requests: Counter,
}

fn main() {}
