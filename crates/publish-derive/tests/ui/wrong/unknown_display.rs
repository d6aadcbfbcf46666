use tachograph_publish::{CounterSet, Gauge};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "Open", display = "hex, octal")]
    open: Gauge,
}

fn main() {}
