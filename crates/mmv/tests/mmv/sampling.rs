//! Collecting samples of providers.

use tachograph_counters::civil::FileTime;
use tachograph_counters::{Calculator, FormatOptions, RawValue, Status};
use tachograph_perflib::{FREQUENCY, Failure, Provider, Rows, Timestamps};

/// The timestamps at this number of seconds after boot, on a machine that was booted at 2026-01-01 00:00:00 UTC.
pub(crate) fn at(seconds: i64) -> Timestamps {
    let ticks = seconds * FREQUENCY;
    let time = FileTime(134_116_992_000_000_000 + ticks);
    Timestamps { ticks, system_time: time, wall: time }
}

pub(crate) fn try_collect(provider: &mut dyn Provider, moment: Timestamps) -> Result<Rows, Failure> {
    let mut rows = Rows::unfiltered(provider.info().clone());
    rows.clear(moment);
    provider.collect(&mut rows).map(|()| rows)
}

pub(crate) fn collect(provider: &mut dyn Provider, moment: Timestamps) -> Rows {
    try_collect(provider, moment).expect("collected")
}

pub(crate) fn names(rows: &Rows) -> Vec<&str> {
    rows.instances().iter().map(|instance| instance.full_name()).collect()
}

pub(crate) fn raw(rows: &Rows, instance: &str, counter: &str) -> RawValue {
    let row = names(rows).iter().position(|name| *name == instance);
    let row = row.unwrap_or_else(|| panic!("no instance {instance:?} in {:?}", names(rows)));
    let column = (0..rows.width()).find(|&column| &*rows.counter(column).name == counter);
    rows.values(row)[column.unwrap_or_else(|| panic!("no counter {counter}"))]
}

/// The value of a counter that is displayed for two samples.
pub(crate) fn formatted(older: &Rows, newer: &Rows, instance: &str, counter: &str) -> Result<f64, Status> {
    let info = newer.info().counters.iter().find(|info| &*info.name == counter).expect("a counter");
    let calculator = Calculator::new(info.counter_type, FREQUENCY);
    let (older, newer) = (raw(older, instance, counter), raw(newer, instance, counter));
    calculator.format(Some(&older), &newer, &FormatOptions::default())
}

pub(crate) fn set<'a>(providers: &'a mut [Box<dyn Provider>], name: &str) -> &'a mut dyn Provider {
    let names: Vec<_> = providers.iter().map(|provider| provider.info().name.clone()).collect();
    let index = names.iter().position(|known| &**known == name);
    &mut *providers[index.unwrap_or_else(|| panic!("no set {name} in {names:?}"))]
}
