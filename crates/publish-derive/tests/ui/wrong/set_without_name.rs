use tachograph_publish::{Counter, CounterSet};

#[derive(CounterSet)]
#[counter_set(help = "What the shop did.")]
struct Shop {
    #[counter(name = "Requests/sec")]
    requests: Counter,
}

fn main() {}
