use tachograph_publish::{Counter, CounterSet, Publisher};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "Requests/sec")]
    requests: Counter,
}

fn main() {
    let _ = Publisher::new().start_set::<Shop>();
}
