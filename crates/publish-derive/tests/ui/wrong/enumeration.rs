use tachograph_publish::CounterSet;

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
enum Shop {
    Open,
}

fn main() {}
