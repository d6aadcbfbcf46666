use tachograph_publish::{Counter, CounterSet};

#[derive(CounterSet)]
#[counter_set(help = "Activity of the shop.")]
struct Shop {
    #[counter(name = "Requests/sec")]
    requests: Counter,
}

fn main() {}
