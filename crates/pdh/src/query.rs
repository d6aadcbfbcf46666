//! Queries: sets of counters that are collected together.

mod blanks;
mod counter;
mod feed;
mod live_feed;
mod value_indexes;
mod values;

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;

use crate::find::{MissingInstance, find};
use crate::{CounterKind, DataSource, PdhStatus, Result};
use counter::QueryCounter;
pub use counter::{CounterId, CounterInfo};
use feed::Feed;
pub(crate) use feed::fixed_local_zone;
use value_indexes::Layout;
pub use values::{FormattedItem, RawItem};

/// A query: counters of one data source that are collected together.
///
/// For a machine, each collection takes a sample. For logs, each collection reads the next sample, with its time.
///
/// Counters such as rates are computed from two samples of an instance. Both samples must have the same instance name
/// and index and, if the source has identities (a process id and its start time), the same identity. Samples from before
/// and after a restart of the machine are never paired.
///
/// ```
/// use std::sync::Arc;
/// use tachograph_pdh::{DataSource, PdhStatus, Query};
/// use tachograph_perflib::{Clock, Registry};
///
/// let machine = DataSource::of_machine(Arc::new(Registry::new("WEB1", Clock::of_this_machine())));
/// let mut query = Query::open(&machine, 0);
/// assert_eq!(query.add_counter(r"\Memory\Available Bytes", 0), Err(PdhStatus::NO_OBJECT));
/// assert_eq!(query.collect(), Err(PdhStatus::NO_DATA));
/// ```
pub struct Query {
    source: DataSource,
    user_data: usize,
    counters: Vec<QueryCounter>,
    next_id: u64,
    /// Reads the samples.
    feed: Feed,
    /// The last sample.
    sample: Sample,
    /// The layout of the last sample.
    layout: Layout,
    /// Whether the counters' value indexes must be recomputed: counters were added, or the time range was set.
    needs_new_indexes: bool,
}

impl Query {
    /// Creates a query without counters. Dropping the query closes it.
    #[doc(alias = "PdhOpenQueryW")]
    #[doc(alias = "PdhOpenQueryA")]
    #[doc(alias = "PdhOpenQueryH")]
    #[doc(alias = "PdhCloseQuery")]
    #[must_use]
    pub fn open(source: &DataSource, user_data: usize) -> Self {
        Self {
            source: source.clone(),
            user_data,
            counters: Vec::new(),
            next_id: 0,
            feed: Feed::new(source),
            sample: Sample::default(),
            layout: Layout::default(),
            needs_new_indexes: false,
        }
    }

    /// The data source.
    #[must_use]
    pub fn source(&self) -> &DataSource {
        &self.source
    }

    /// Whether the data source is a machine, not logs.
    #[must_use]
    #[doc(alias = "PdhIsRealTimeQuery")]
    pub fn is_real_time(&self) -> bool {
        self.source.is_real_time()
    }

    /// The user data passed to [`open`](Self::open).
    #[must_use]
    pub fn user_data(&self) -> usize {
        self.user_data
    }

    /// Adds a counter. The path may contain the source's own names or English names. The instance may contain
    /// wildcards: each collection then has a value for every matching instance. Wildcards in the set or the counter
    /// must be expanded first with [`expand_wild_card_path`](DataSource::expand_wild_card_path).
    ///
    /// On a machine, the instance need not exist yet.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::NO_COUNTERNAME`] for an empty path, [`PdhStatus::BAD_COUNTERNAME`] for a malformed one,
    /// [`PdhStatus::NO_MACHINE`], [`PdhStatus::NO_OBJECT`], [`PdhStatus::NO_COUNTER`] if the source does not have the
    /// machine, set or counter. [`PdhStatus::NO_INSTANCE`] if the path names an instance and the set is
    /// single-instance, or vice versa, and for logs if no sample has the instance. Any error that occurs while a log is read.
    #[doc(alias = "PdhAddCounterW")]
    #[doc(alias = "PdhAddCounterA")]
    pub fn add_counter(&mut self, path: &str, user_data: usize) -> Result<CounterId> {
        let missing = if self.is_real_time() { MissingInstance::Allowed } else { MissingInstance::Error };
        let found = find(&self.source, path, missing)?;
        let id = CounterId(self.next_id);
        self.next_id += 1;
        self.counters.push(QueryCounter::new(id, found, user_data, self.is_real_time()));
        self.needs_new_indexes = true;
        self.feed.reset_selection();
        Ok(id)
    }

    /// Same as [`add_counter`](Self::add_counter), which accepts English names too.
    ///
    /// # Errors
    ///
    /// Same as [`add_counter`](Self::add_counter).
    #[doc(alias = "PdhAddEnglishCounterW")]
    #[doc(alias = "PdhAddEnglishCounterA")]
    pub fn add_english_counter(&mut self, path: &str, user_data: usize) -> Result<CounterId> {
        self.add_counter(path, user_data)
    }

    /// Removes a counter.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_HANDLE`] if the query does not have the counter.
    #[doc(alias = "PdhRemoveCounter")]
    pub fn remove_counter(&mut self, id: CounterId) -> Result<()> {
        let index = self.index_of(id)?;
        self.counters.remove(index);
        self.feed.reset_selection();
        Ok(())
    }

    /// The counters, in the order in which they were added.
    pub fn counters(&self) -> impl Iterator<Item = CounterId> {
        self.counters.iter().map(QueryCounter::id)
    }

    /// Samples all counters, or reads the next sample of the logs.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::NO_DATA`] for a query without counters, and for a machine if no counter has a raw value; the status
    /// of each value gives the cause. [`PdhStatus::NO_MORE_DATA`] after the last sample of the logs; the values are
    /// unchanged. Any error that occurs while a log is read.
    #[doc(alias = "PdhCollectQueryData")]
    pub fn collect(&mut self) -> Result<()> {
        self.collect_with_time().map(|_| ())
    }

    /// Like [`collect`](Self::collect), and returns the sample's local time.
    ///
    /// # Errors
    ///
    /// Same as [`collect`](Self::collect).
    #[doc(alias = "PdhCollectQueryDataWithTime")]
    pub fn collect_with_time(&mut self) -> Result<FileTime> {
        if self.counters.is_empty() {
            return Err(PdhStatus::NO_DATA);
        }
        self.feed.next(&self.counters, &mut self.sample)?;
        let mut change = self.layout.update(&self.sample);
        if std::mem::take(&mut self.needs_new_indexes) {
            change = self.layout.as_change();
        }
        for counter in &mut self.counters {
            counter.push(&self.sample, change);
        }
        // For logs, a sample without values for these counters is not an error.
        if self.is_real_time() && !self.counters.iter().any(QueryCounter::has_value) {
            return Err(PdhStatus::NO_DATA);
        }
        Ok(self.sample.at.local())
    }

    /// Restricts a query of logs to the samples between the local times `start` and `end`, both inclusive, and rewinds
    /// it to the first of them. Values already collected are discarded.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::DATA_SOURCE_IS_REAL_TIME`] for a machine, [`PdhStatus::INVALID_ARGUMENT`] if the end is before the
    /// start.
    #[doc(alias = "PdhSetQueryTimeRange")]
    pub fn set_time_range(&mut self, start: FileTime, end: FileTime) -> Result<()> {
        if end < start {
            return Err(PdhStatus::INVALID_ARGUMENT);
        }
        self.feed.set_time_range(start, end)?;
        self.counters.iter_mut().for_each(QueryCounter::reset);
        self.needs_new_indexes = true;
        Ok(())
    }

    /// The type, time base and scale of a counter.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_HANDLE`] if the query does not have the counter.
    pub fn kind(&self, id: CounterId) -> Result<CounterKind> {
        Ok(self.counter(id)?.kind())
    }

    /// A description of a counter.
    ///
    /// # Errors
    ///
    /// Same as [`kind`](Self::kind).
    #[doc(alias = "PdhGetCounterInfoW")]
    #[doc(alias = "PdhGetCounterInfoA")]
    pub fn info(&self, id: CounterId) -> Result<CounterInfo> {
        Ok(self.counter(id)?.info(self.user_data))
    }

    /// The ticks per second of a counter's clock.
    ///
    /// # Errors
    ///
    /// Same as [`kind`](Self::kind).
    #[doc(alias = "PdhGetCounterTimeBase")]
    pub fn time_base(&self, id: CounterId) -> Result<i64> {
        Ok(self.kind(id)?.time_base)
    }

    /// Multiplies a counter's formatted values by 10 to the power of `factor`, from -7 to 7, unless the format has
    /// [`flags::NOSCALE`](crate::flags::NOSCALE). The default is 0.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_ARGUMENT`] for a factor out of range; otherwise the same as [`kind`](Self::kind).
    #[doc(alias = "PdhSetCounterScaleFactor")]
    pub fn set_scale_factor(&mut self, id: CounterId, factor: i32) -> Result<()> {
        let index = self.index_of(id)?;
        match i8::try_from(factor) {
            Ok(factor @ -7..=7) => {
                self.counters[index].set_scale(factor);
                Ok(())
            }
            _ => Err(PdhStatus::INVALID_ARGUMENT),
        }
    }

    /// The last sample, reduced to the query's counters.
    pub(crate) fn sample_for_log(&mut self) -> Result<&Sample> {
        self.feed.select(&self.counters, &self.sample)?;
        Ok(self.feed.selected_sample().unwrap_or(&self.sample))
    }

    fn index_of(&self, id: CounterId) -> Result<usize> {
        // Ids are assigned in ascending order.
        self.counters.binary_search_by_key(&id, QueryCounter::id).map_err(|_| PdhStatus::INVALID_HANDLE)
    }

    fn counter(&self, id: CounterId) -> Result<&QueryCounter> {
        self.index_of(id).map(|index| &self.counters[index])
    }
}

impl std::fmt::Debug for Query {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Query")
            .field("source", &self.source)
            .field("counters", &self.counters.len())
            .finish_non_exhaustive()
    }
}
