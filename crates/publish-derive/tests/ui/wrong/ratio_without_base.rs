use tachograph_publish::{CounterSet, Ratio};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "% Used")]
    used: Ratio,
}

fn main() {}
