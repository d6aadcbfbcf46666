use tachograph_publish::{CounterSet, Timer};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "Avg. sec/Request")]
    time: Timer,
}

fn main() {}
