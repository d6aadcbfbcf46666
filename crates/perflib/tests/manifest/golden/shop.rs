// Counter sets of shop.man. Generated: changes are lost.

/// What the shop did & what it has.
#[derive(::tachograph_publish::CounterSet)]
#[counter_set(
    name = "Shop",
    guid = "{6a1f5d0c-3b2e-4c57-9d3a-0f2c8d1e7a41}",
    provider_guid = "{6a1f5d0c-3b2e-4c57-9d3a-0f2c8d1e7a40}",
    provider = "Shop",
    instances = "single",
)]
pub struct Shop {
    /// Requests that were answered.
    #[counter(name = "Requests/sec", id = 1, scale = -2)]
    pub requests: ::tachograph_publish::Counter,
    /// Orders that are neither paid nor cancelled.
    #[counter(name = "Open Orders", id = 2, detail = "advanced", aggregate = "sum", display = "real")]
    pub open_orders: ::tachograph_publish::Gauge,
    /// Time from a request to its answer.
    #[counter(name = "Avg. sec/Request", id = 3, base = "Avg. sec/Request Base", base_id = 4)]
    pub request_time: ::tachograph_publish::Timer,
    /// Lookups that found something.
    #[counter(name = "% Cache Hits", id = 16, base = "Lookups Base", base_id = 17)]
    pub percent_cache_hits: ::tachograph_publish::Fraction,
    /// Bits: 1 open, 2 busy.
    #[counter(name = "State", id = 18, type = "perf_counter_rawcount_hex", display = "no_grouping")]
    pub state: ::tachograph_publish::Gauge,
}

/// Carts by kind.
#[derive(::tachograph_publish::CounterSet)]
#[counter_set(
    name = "Shop Carts",
    guid = "{6a1f5d0c-3b2e-4c57-9d3a-0f2c8d1e7a42}",
    provider_guid = "{6a1f5d0c-3b2e-4c57-9d3a-0f2c8d1e7a40}",
    provider = "Shop",
    instances = "multiple_aggregate",
)]
pub struct Carts {
    /// Size of a cart.
    #[counter(
        name = "Avg. Bytes/Cart",
        id = 0,
        base = "Avg. Bytes/Cart Base",
        base_id = 1,
        aggregate = "sum",
    )]
    pub bytes: ::tachograph_publish::Average,
    /// Time with work.
    #[counter(
        name = "% Busy",
        id = 2,
        type = "perf_obj_time_timer",
        time = counter_5,
        frequency = counter_6,
        aggregate = "avg",
    )]
    pub busy: ::tachograph_publish::Counter,
    /// Time with work, over all workers.
    #[counter(
        name = "% Workers Busy",
        id = 3,
        type = "perf_counter_multi_timer",
        multiplier = worker_count,
        aggregate = "max",
    )]
    pub workers: ::tachograph_publish::Counter,
    /// How many workers there are.
    #[counter(name = "Workers", id = 4, type = "perf_counter_rawcount", aggregate = "min")]
    pub worker_count: ::tachograph_publish::Gauge,
    /// Counter 5
    #[counter(name = "Counter 5", id = 5, no_display, help = "")]
    pub counter_5: ::tachograph_publish::Gauge,
    /// Counter 6
    #[counter(name = "Counter 6", id = 6, no_display, help = "")]
    pub counter_6: ::tachograph_publish::Gauge,
}
