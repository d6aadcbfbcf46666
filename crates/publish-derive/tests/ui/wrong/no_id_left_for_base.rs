use tachograph_publish::{CounterSet, Timer};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "Avg. sec/Request", id = 4294967294, base = "Count")]
    time: Timer,
}

fn main() {}
