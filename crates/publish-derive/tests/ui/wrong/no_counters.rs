use tachograph_publish::CounterSet;

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {}

fn main() {}
