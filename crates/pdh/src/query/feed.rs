//! Reads the samples of a query: from a machine, or from logs.

use std::sync::{Arc, Mutex};

use jiff::Zoned;
use tachograph_counters::IgnorePoison;
use tachograph_counters::civil::{FileTime, TimeArgument};
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;
use tachograph_flow::{FlowError, Select, Selection, Source, Union, WindowBounds};

use super::blanks::BlankCells;
use super::counter::QueryCounter;
use super::live_feed::LiveFeed;
use crate::source::{Logs, Origin};
use crate::{DataSource, PdhStatus, Result};

/// The source of a query's samples.
pub(super) enum Feed {
    Live(Box<LiveFeed>),
    Logs(Box<LogFeed>),
}

/// Samples of logs with all their counters. The query's counters are selected later, so counters can be added at any
/// time.
pub(super) struct LogFeed {
    logs: Arc<Logs>,
    bounds: WindowBounds,
    source: Option<Box<dyn Source>>,
    is_at_end: bool,
    /// `None` before the first use, and after counters were added or removed.
    selector: Option<Selector>,
    /// Restores the instances whose cells in a text log are blank.
    blanks: BlankCells,
}

/// Reduces complete samples to the query's counters, for writing them to a log.
struct Selector {
    select: Select<OneSampleSource>,
    input: Arc<Mutex<Option<Sample>>>,
    selected_sample: Sample,
}

/// A source that returns one sample, which [`LogFeed::select`] stores for it.
struct OneSampleSource(Arc<Mutex<Option<Sample>>>);

impl Source for OneSampleSource {
    fn next(&mut self, sample: &mut Sample) -> std::result::Result<bool, FlowError> {
        match self.0.lock().ignore_poison().take() {
            Some(stored) => {
                *sample = stored;
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
                Self::Live(Box::new(LiveFeed::new(registry)))
            }
            Origin::Logs(logs) => Self::Logs(Box::new(LogFeed {
                logs: Arc::clone(logs),
                bounds: WindowBounds::default(),
                source: None,
                is_at_end: false,
                selector: None,
                blanks: BlankCells::default(),
            })),
        }
    }

    /// Must be called after adding or removing counters.
    pub(super) fn reset_selection(&mut self) {
        match self {
            Self::Live(live) => live.reset_selection(),
            Self::Logs(logs) => logs.selector = None,
        }
    }

    /// Reads the next sample into `sample`.
    pub(super) fn next(&mut self, counters: &[QueryCounter], sample: &mut Sample) -> Result<()> {
        match self {
            Self::Live(live) => live.next(counters, sample),
            Self::Logs(logs) => logs.next(sample),
        }
    }

    /// Rewinds to the first sample of a time range, and restricts the feed to it.
    pub(super) fn set_time_range(&mut self, start: FileTime, end: FileTime) -> Result<()> {
        let Self::Logs(logs) = self else { return Err(PdhStatus::DATA_SOURCE_IS_REAL_TIME) };
        logs.bounds = WindowBounds {
            begin: Some(TimeArgument::Local(start)),
            // `end` is inclusive, but the bound is exclusive.
            end: Some(TimeArgument::Local(end.saturating_add(1))),
        };
        logs.source = None;
        logs.is_at_end = false;
        Ok(())
    }

    /// Reduces a sample to the query's counters. A machine's samples contain no other counters.
    pub(super) fn select(&mut self, counters: &[QueryCounter], sample: &Sample) -> Result<()> {
        match self {
            Self::Live(_) => Ok(()),
            Self::Logs(logs) => logs.select(counters, sample),
        }
    }

    /// The result of [`select`](Self::select); `None` if the sample needed no reduction.
    pub(super) fn selected_sample(&self) -> Option<&Sample> {
        match self {
            Self::Live(_) => None,
            Self::Logs(logs) => logs.selector.as_ref().map(|selector| &selector.selected_sample),
        }
    }
}

fn patterns(counters: &[QueryCounter]) -> Vec<PathPattern> {
    counters.iter().map(|counter| counter.pattern().clone()).collect()
}

impl LogFeed {
    fn next(&mut self, sample: &mut Sample) -> Result<()> {
        if self.is_at_end {
            return Err(PdhStatus::NO_MORE_DATA);
        }
        if self.source.is_none() {
            self.source = Some(self.open()?);
        }
        let Some(source) = &mut self.source else { return Err(PdhStatus::NO_MORE_DATA) };
        loop {
            match source.next(sample) {
                // A baseline sample is from before the time range.
                Ok(true) if sample.is_baseline => {}
                Ok(true) => {
                    self.blanks.fill(sample);
                    return Ok(());
                }
                Ok(false) => {
                    self.is_at_end = true;
                    return Err(PdhStatus::NO_MORE_DATA);
                }
                Err(error) => {
                    self.is_at_end = true;
                    return Err(self.logs.status_of(&error));
                }
            }
        }
    }

    /// Opens the logs so that all samples have the same list of groups.
    fn open(&self) -> Result<Box<dyn Source>> {
        let scan = self.logs.scan()?;
        let mut query = self.logs.query();
        query.bounds = self.bounds;
        let opened = if scan.is_one_machine {
            query
                .samples()
                .map(|pipeline| -> Box<dyn Source> { Box::new(Union::scanned(pipeline.source, &scan.union)) })
        } else {
            query.table(|_| Ok(())).map(|(_, pipeline)| pipeline.source)
        };
        opened.map_err(|error| self.logs.status_of(&error))
    }

    fn select(&mut self, counters: &[QueryCounter], sample: &Sample) -> Result<()> {
        let selector = self.selector.get_or_insert_with(|| {
            let input = Arc::default();
            let select = Select::new(OneSampleSource(Arc::clone(&input)), Selection::new(patterns(counters)));
            Selector { select, input, selected_sample: Sample::default() }
        });
        *selector.input.lock().ignore_poison() = Some(sample.clone());
        match selector.select.next(&mut selector.selected_sample) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.logs.status_of(&error)),
        }
    }
}

/// This machine's time zone, fixed at its current UTC offset. Without daylight saving rules, the local times of a query
/// never go backwards.
pub(crate) fn fixed_local_zone() -> TimeZone {
    let now = Zoned::now();
    let name = now.time_zone().iana_name().unwrap_or("local time");
    TimeZone::fixed(name, -(now.offset().seconds() / 60))
}
