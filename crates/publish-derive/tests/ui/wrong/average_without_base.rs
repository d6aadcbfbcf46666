use tachograph_publish::{Average, CounterSet};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "Avg. Bytes/Reply")]
    bytes: Average,
}

fn main() {}
