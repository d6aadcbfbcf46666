//! Where a query's samples come from.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::Zoned;
use tachograph_counters::civil::{FileTime, TimeArgument};
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;
use tachograph_flow::live::{LiveOptions, LiveSource};
use tachograph_flow::{FlowError, Select, Selection, Source, Union, WindowBounds};
use tachograph_perflib::Registry;

use super::blanks::BlankCells;
use super::counter::QueryCounter;
use crate::source::{Logs, Origin};
use crate::{DataSource, PdhStatus, Result};

/// The source of a query's samples.
pub(super) enum Feed {
    Live(Box<LiveFeed>),
    Logs(Box<LogFeed>),
}

/// Samples of a machine's counters.
pub(super) struct LiveFeed {
    registry: Arc<dyn Fn() -> Arc<Registry> + Send + Sync>,
    /// Over the counters of the query.
    source: Option<LiveSource>,
    /// Whether the counters changed since the source was made.
    is_outdated: bool,
}

/// Records of logs, whole: which of their counters are wanted is decided when they are taken, so that counters may be added
/// on the way.
pub(super) struct LogFeed {
    logs: Arc<Logs>,
    bounds: WindowBounds,
    source: Option<Box<dyn Source>>,
    is_over: bool,
    chooser: Option<Chooser>,
    blanks: BlankCells,
}

/// Takes what a log that is written is to have out of whole samples.
struct Chooser {
    select: Select<Handed>,
    slot: Arc<Mutex<Option<Sample>>>,
    chosen: Sample,
}

/// A source of the one sample that was handed to it.
struct Handed(Arc<Mutex<Option<Sample>>>);

impl Source for Handed {
    fn next(&mut self, sample: &mut Sample) -> std::result::Result<bool, FlowError> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(handed) => {
                *sample = handed;
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

impl Feed {
    pub(super) fn new(source: &DataSource) -> Self {
        match source.origin() {
            Origin::Machine(registry) => {
                let registry = Arc::clone(registry);
                Self::Live(Box::new(LiveFeed { registry, source: None, is_outdated: false }))
            }
            Origin::Logs(logs) => Self::Logs(Box::new(LogFeed {
                logs: Arc::clone(logs),
                bounds: WindowBounds::default(),
                source: None,
                is_over: false,
                chooser: None,
                blanks: BlankCells::default(),
            })),
        }
    }

    /// The counters are others from now on.
    pub(super) fn forget_selection(&mut self) {
        match self {
            Self::Live(live) => live.is_outdated = true,
            Self::Logs(logs) => logs.chooser = None,
        }
    }

    /// Overwrites `sample` with the next one.
    pub(super) fn next(&mut self, counters: &[QueryCounter], sample: &mut Sample) -> Result<()> {
        match self {
            Self::Live(live) => live.next(counters, sample),
            Self::Logs(logs) => logs.next(sample),
        }
    }

    /// Begins anew with the records of a time range.
    pub(super) fn set_time_range(&mut self, start: FileTime, end: FileTime) -> Result<()> {
        let Self::Logs(logs) = self else { return Err(PdhStatus::DATA_SOURCE_IS_REAL_TIME) };
        logs.bounds = WindowBounds {
            begin: Some(TimeArgument::Local(start)),
            // The bound is the first moment after the window.
            end: Some(TimeArgument::Local(end.saturating_add(1))),
        };
        logs.source = None;
        logs.is_over = false;
        Ok(())
    }

    /// Takes the counters' part out of a sample of a log; of a machine the sample is just that.
    pub(super) fn chosen(&mut self, counters: &[QueryCounter], sample: &Sample) -> Result<()> {
        match self {
            Self::Live(_) => Ok(()),
            Self::Logs(logs) => logs.choose(counters, sample),
        }
    }

    /// What was taken out; `None` where the sample itself is it.
    pub(super) fn chosen_sample(&self) -> Option<&Sample> {
        match self {
            Self::Live(_) => None,
            Self::Logs(logs) => logs.chooser.as_ref().map(|chooser| &chooser.chosen),
        }
    }
}

fn patterns(counters: &[QueryCounter]) -> Vec<PathPattern> {
    counters.iter().map(|counter| counter.pattern().clone()).collect()
}

impl LiveFeed {
    fn next(&mut self, counters: &[QueryCounter], sample: &mut Sample) -> Result<()> {
        if self.source.is_none() || self.is_outdated {
            let registry = (self.registry)();
            let options = LiveOptions {
                bias_minutes: zone_of_now().bias_minutes,
                boot_time: registry.clock().boot_time(),
                ..LiveOptions::default()
            };
            let opened = LiveSource::open(&registry, &patterns(counters), options);
            // The source before goes when this one is there: a provider that is told of what is wanted sees no gap.
            self.source = Some(opened.map_err(|_| PdhStatus::NO_MACHINE)?.0);
            self.is_outdated = false;
        }
        let Some(source) = &mut self.source else { return Err(PdhStatus::NO_DATA) };
        source.collect(sample);
        Ok(())
    }
}

impl LogFeed {
    fn next(&mut self, sample: &mut Sample) -> Result<()> {
        if self.is_over {
            return Err(PdhStatus::NO_MORE_DATA);
        }
        if self.source.is_none() {
            self.source = Some(self.open()?);
        }
        let Some(source) = &mut self.source else { return Err(PdhStatus::NO_MORE_DATA) };
        loop {
            match source.next(sample) {
                // What lies before the window is no record of it.
                Ok(true) if sample.is_baseline => {}
                Ok(true) => {
                    self.blanks.fill(sample);
                    return Ok(());
                }
                Ok(false) => {
                    self.is_over = true;
                    return Err(PdhStatus::NO_MORE_DATA);
                }
                Err(error) => {
                    self.is_over = true;
                    return Err(self.logs.status_of(&error));
                }
            }
        }
    }

    /// All records with one fixed list of groups.
    fn open(&self) -> Result<Box<dyn Source>> {
        let scan = self.logs.scan()?;
        let mut query = self.logs.query();
        query.bounds = self.bounds;
        let opened = if scan.is_one_stretch {
            query
                .samples()
                .map(|pipeline| -> Box<dyn Source> { Box::new(Union::scanned(pipeline.source, &scan.union)) })
        } else {
            query.table(|_| Ok(())).map(|(_, pipeline)| pipeline.source)
        };
        opened.map_err(|error| self.logs.status_of(&error))
    }

    fn choose(&mut self, counters: &[QueryCounter], sample: &Sample) -> Result<()> {
        let chooser = self.chooser.get_or_insert_with(|| {
            let slot = Arc::default();
            let select = Select::new(Handed(Arc::clone(&slot)), Selection::new(patterns(counters)));
            Chooser { select, slot, chosen: Sample::default() }
        });
        *chooser.slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(sample.clone());
        match chooser.select.next(&mut chooser.chosen) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.logs.status_of(&error)),
        }
    }
}

/// The zone of this machine with the bias of now (minutes to add to local time to get UTC) and no daylight rule: local
/// times of a query rise always.
pub(crate) fn zone_of_now() -> TimeZone {
    let now = Zoned::now();
    let name = now.time_zone().iana_name().unwrap_or("local time");
    TimeZone::fixed(name, -(now.offset().seconds() / 60))
}
