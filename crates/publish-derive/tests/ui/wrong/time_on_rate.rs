use tachograph_publish::{Counter, CounterSet, Gauge};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "Requests/sec", time = now)]
    requests: Counter,
    #[counter(name = "Now")]
    now: Gauge,
}

fn main() {}
