use tachograph_publish::CounterSet;

struct Counter;

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "Requests/sec")]
    requests: Counter,
}

fn main() {}
