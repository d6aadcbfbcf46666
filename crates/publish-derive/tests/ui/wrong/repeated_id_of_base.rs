use tachograph_publish::{CounterSet, Timer};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "Avg. sec/Request", base = "Count", base_id = 1)]
    time: Timer,
}

fn main() {}
