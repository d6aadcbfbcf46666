use tachograph_publish::{CounterSet, Gauge};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "Open", unit = "a", unit = "b")]
    open: Gauge,
}

fn main() {}
