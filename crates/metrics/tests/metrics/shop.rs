//! A fake machine with the counter set `Shop`.

use std::sync::{Arc, Mutex};

use tachograph_counters::CounterType;
use tachograph_counters::civil::FileTime;
use tachograph_perflib::registration::{CounterInfo, CounterSetInfo, InstanceType};
use tachograph_perflib::{Clock, ErrorCode, Failure, Guid, InstanceKey, Provider, Registry, Rows};

struct State {
    name: String,
    requests: u64,
    fails: bool,
}

/// The state of the set, which tests change.
#[derive(Clone)]
pub(crate) struct Shop(Arc<Mutex<State>>);

impl Shop {
    /// Sets the raw value of `Requests/sec`.
    pub(crate) fn requests(&self, requests: u64) {
        self.0.lock().expect("no panic").requests = requests;
    }

    /// Sets whether collections of the set fail.
    pub(crate) fn fail(&self, fails: bool) {
        self.0.lock().expect("no panic").fails = fails;
    }

    /// Renames the instance, which is `web` at first.
    pub(crate) fn name(&self, name: &str) {
        self.0.lock().expect("no panic").name = name.to_owned();
    }
}

struct ShopProvider {
    info: Arc<CounterSetInfo>,
    shop: Shop,
}

impl Provider for ShopProvider {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let shop = self.shop.0.lock().expect("no panic");
        if shop.fails {
            return Err(Failure::new(ErrorCode::NO_DATA, "closed"));
        }
        let total = InstanceKey::new("_Total", 0, 0).reserved();
        for key in [InstanceKey::new(shop.name.as_str(), 0, 0), total] {
            if !rows.wants_instance(key.name(), 0) {
                continue;
            }
            let mut row = rows.push(&Arc::new(key));
            row.set(1, shop.requests);
            row.set_with_base(2, 25_000_000, 5);
            row.set(3, (-3_i64).cast_unsigned());
        }
        Ok(())
    }
}

/// The machine, and the state of its set.
pub(crate) fn registry() -> (Arc<Registry>, Shop) {
    let clock = Clock::new(|| (1_000_000_000, FileTime(133_000_000_000_000_000)));
    let mut registry = Registry::new("FAKE", clock);
    let mut info = CounterSetInfo::new("Shop", Guid::from_u128(7), InstanceType::Multiple);
    let mut requests = CounterInfo::new(1, "Requests/sec", CounterType::COUNTER_COUNTER);
    requests.unit = "1/s".into();
    let mut time = CounterInfo::new(2, "Avg. sec/Request", CounterType::AVERAGE_TIMER);
    time.unit = "seconds".into();
    time.base_id = Some(4);
    let baskets = CounterInfo::new(3, "Baskets", CounterType::LARGE_RAWCOUNT);
    let base = CounterInfo::new(4, "Avg. sec/Request Base", CounterType::AVERAGE_BASE);
    info.counters = vec![requests, time, baskets, base];
    let shop = Shop(Arc::new(Mutex::new(State { name: "web".to_owned(), requests: 7, fails: false })));
    let provider = ShopProvider { info: Arc::new(info), shop: shop.clone() };
    registry.register(Box::new(provider)).expect("new");
    (Arc::new(registry), shop)
}
