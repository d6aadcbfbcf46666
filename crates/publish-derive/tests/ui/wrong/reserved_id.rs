use tachograph_publish::{Counter, CounterSet};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "Requests/sec", id = 4294967295)]
    requests: Counter,
    #[counter(name = "Errors/sec", id = -1)]
    errors: Counter,
}

fn main() {}
