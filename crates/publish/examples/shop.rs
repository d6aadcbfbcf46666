//! The example of docs/publishing.md: a shop that answers about fifty requests per second, until it is ended.

use std::time::Duration;

use tachograph_publish::{Counter, CounterSet, Gauge, Publisher, Timer};

/// Activity of the shop.
#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    /// Answered requests.
    #[counter(name = "Requests/sec")]
    requests: Counter,
    /// Waiting requests.
    #[counter(name = "Waiting Requests")]
    waiting: Gauge,
    /// Average duration of a request.
    #[counter(name = "Avg. sec/Request", base = "Requests Base")]
    time: Timer,
}

fn main() {
    let shop = Publisher::new().start_or_unpublished::<Shop>(|error| eprintln!("shop: {error}"));
    for request in 0_u64.. {
        let _time = shop.time.start(); // measures until the end of the block
        shop.waiting.set(request % 7);
        std::thread::sleep(Duration::from_millis(20));
        shop.requests.increment();
    }
}
