use tachograph_publish::{Counter, CounterSet};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "Requests/sec")]
    requests: Counter,
    #[counter(name = "requests/SEC")]
    errors: Counter,
}

fn main() {}
