use tachograph_publish::{CounterSet, Gauge};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = 7, id = "one", no_display = 1)]
    open: Gauge,
}

fn main() {}
