use tachograph_publish::{Counter, CounterSet, Timer};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "Requests")]
    requests: Counter,
    #[counter(name = "Avg. sec/Request", base = "Requests")]
    time: Timer,
}

fn main() {}
