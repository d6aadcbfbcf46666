use tachograph_publish::{CounterSet, StripedCounter};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "Requests/sec", striped = 65)]
    requests: StripedCounter,
}

fn main() {}
