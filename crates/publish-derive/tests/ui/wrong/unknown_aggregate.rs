use tachograph_publish::{CounterSet, Gauge};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "Open", aggregate = "mean")]
    open: Gauge,
}

fn main() {}
