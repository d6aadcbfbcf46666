use tachograph_publish::{Counter, CounterSet};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "Avg. Bytes/Reply", type = "perf_average_bulk", base = replies)]
    bytes: Counter,
    #[counter(name = "Replies", type = "perf_sample_base")]
    replies: Counter,
}

fn main() {}
