//! The example of docs/publishing.md: a shop that answers about fifty requests a second, until it is ended.

use std::time::Duration;

use tachograph_publish::{Counter, CounterSet, Gauge, Publisher, Timer};

/// What the shop did.
#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    /// Requests that were answered.
    #[counter(name = "Requests/sec")]
    requests: Counter,
    /// Requests that wait.
    #[counter(name = "Waiting Requests")]
    waiting: Gauge,
    /// How long a request takes.
    #[counter(name = "Avg. sec/Request", base = "Requests Base")]
    time: Timer,
}

fn main() {
    let shop = Publisher::new().start_or_unpublished::<Shop>(|error| eprintln!("shop: {error}"));
    for request in 0_u64.. {
        let _time = shop.time.start(); // until the end of the block
        shop.waiting.set(request % 7);
        std::thread::sleep(Duration::from_millis(20));
        shop.requests.increment();
    }
}
