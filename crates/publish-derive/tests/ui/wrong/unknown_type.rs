use tachograph_publish::{Counter, CounterSet};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "Requests/sec", type = "bulk_count")]
    requests: Counter,
    #[counter(name = "Replies/sec", type = "speed")]
    replies: Counter,
}

fn main() {}
