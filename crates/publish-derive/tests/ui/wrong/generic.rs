use tachograph_publish::CounterSet;

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop<T> {
    #[counter(name = "Requests/sec")]
    requests: T,
}

fn main() {}
