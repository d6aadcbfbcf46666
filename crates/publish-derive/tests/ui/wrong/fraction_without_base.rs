use tachograph_publish::{CounterSet, Fraction};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "% Hits")]
    hits: Fraction,
}

fn main() {}
