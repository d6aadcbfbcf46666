use tachograph_publish::{Counter, CounterSet, Publisher};

#[derive(CounterSet)]
#[counter_set(name = "Shop", instances = "multiple")]
struct Shop {
    #[counter(name = "Requests/sec")]
    requests: Counter,
}

fn main() {
    let _ = Publisher::new().start::<Shop>();
}
