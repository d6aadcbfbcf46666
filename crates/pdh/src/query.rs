//! Queries: counters that are collected together.

mod blanks;
mod counter;
mod feed;
mod places;
mod values;

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;

use crate::find::{MissingInstance, find};
use crate::{CounterKind, DataSource, PdhStatus, Result};
use counter::QueryCounter;
pub use counter::{CounterId, CounterInfo};
use feed::Feed;
pub(crate) use feed::zone_of_now;
use places::Layout;
pub use values::{FormattedItem, RawItem};

/// A query: counters of one data source that are collected at one moment each time.
///
/// Over a machine a collection is a sample of now. Over logs it is the next record, with the record's time.
///
/// Two samples of an instance make a pair where they are of the same instance: the same name and number, and where the
/// source knows more (a process id with its start), that too. No pair reaches across a start of the machine.
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
    feed: Feed,
    sample: Sample,
    /// The layout for which the counters know their places.
    layout: Layout,
    /// Whether counters came since, which know no places.
    has_new: bool,
}

impl Query {
    /// A query without counters.
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
            has_new: false,
        }
    }

    /// Where the counters come from.
    #[must_use]
    pub fn source(&self) -> &DataSource {
        &self.source
    }

    /// Whether the counters are those of a machine.
    #[must_use]
    #[doc(alias = "PdhIsRealTimeQuery")]
    pub fn is_real_time(&self) -> bool {
        self.source.is_real_time()
    }

    /// What the caller attached to the query.
    #[must_use]
    pub fn user_data(&self) -> usize {
        self.user_data
    }

    /// Adds a counter. Names may be the source's own or English ones. The instance may have wildcards: then the values are
    /// those of all instances that it takes, anew at each collection. Set and counter are names, never patterns:
    /// [`expand_wild_card_path`](DataSource::expand_wild_card_path) makes paths of those.
    ///
    /// An instance of a machine need not be there (yet).
    ///
    /// # Errors
    ///
    /// [`PdhStatus::NO_COUNTERNAME`] for no text, [`PdhStatus::BAD_COUNTERNAME`] for what is no path,
    /// [`PdhStatus::NO_MACHINE`], [`PdhStatus::NO_OBJECT`], [`PdhStatus::NO_COUNTER`]. [`PdhStatus::NO_INSTANCE`] for an
    /// instance of a set that has none or the other way round, and over logs for one that is in no sample. What reading a log
    /// fails with.
    #[doc(alias = "PdhAddCounterW")]
    #[doc(alias = "PdhAddCounterA")]
    pub fn add_counter(&mut self, path: &str, user_data: usize) -> Result<CounterId> {
        let missing = if self.is_real_time() { MissingInstance::Allowed } else { MissingInstance::Refused };
        let found = find(&self.source, path, missing)?;
        let id = CounterId(self.next_id);
        self.next_id += 1;
        self.counters.push(QueryCounter::new(id, found, user_data, self.is_real_time()));
        self.has_new = true;
        self.feed.forget_selection();
        Ok(id)
    }

    /// As [`add_counter`](Self::add_counter), by English names. Both take either, so that a program runs in every language.
    ///
    /// # Errors
    ///
    /// As [`add_counter`](Self::add_counter).
    #[doc(alias = "PdhAddEnglishCounterW")]
    #[doc(alias = "PdhAddEnglishCounterA")]
    pub fn add_english_counter(&mut self, path: &str, user_data: usize) -> Result<CounterId> {
        self.add_counter(path, user_data)
    }

    /// Takes a counter out.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_HANDLE`] where the query does not have it.
    #[doc(alias = "PdhRemoveCounter")]
    pub fn remove_counter(&mut self, id: CounterId) -> Result<()> {
        let place = self.place(id)?;
        self.counters.remove(place);
        self.feed.forget_selection();
        Ok(())
    }

    /// The counters, in the order in which they were added.
    pub fn counters(&self) -> impl Iterator<Item = CounterId> {
        self.counters.iter().map(QueryCounter::id)
    }

    /// Takes a sample of all counters, or reads the next record of the logs.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::NO_DATA`] for a query without counters, and where no counter of a machine has a raw value; the counters'
    /// own statuses say why. [`PdhStatus::NO_MORE_DATA`] after the last record of the logs; values stay as they were. What
    /// reading a log fails with.
    #[doc(alias = "PdhCollectQueryData")]
    pub fn collect(&mut self) -> Result<()> {
        self.collect_with_time().map(|_| ())
    }

    /// As [`collect`](Self::collect); gives the sample's local time.
    ///
    /// # Errors
    ///
    /// As [`collect`](Self::collect).
    #[doc(alias = "PdhCollectQueryDataWithTime")]
    pub fn collect_with_time(&mut self) -> Result<FileTime> {
        if self.counters.is_empty() {
            return Err(PdhStatus::NO_DATA);
        }
        self.feed.next(&self.counters, &mut self.sample)?;
        let mut change = self.layout.follow(&self.sample);
        if std::mem::take(&mut self.has_new) {
            change = self.layout.anew();
        }
        for counter in &mut self.counters {
            counter.take(&self.sample, change);
        }
        // A record of a log was read, whatever it has of these counters.
        if self.is_real_time() && !self.counters.iter().any(QueryCounter::has_value) {
            return Err(PdhStatus::NO_DATA);
        }
        Ok(self.sample.at.local())
    }

    /// Reads only the records of the logs from `start` to `end`, local times, both included; the next collection is the
    /// first of them. Values collected before are forgotten.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::DATA_SOURCE_IS_REAL_TIME`] for a machine, [`PdhStatus::INVALID_ARGUMENT`] where the end is before the
    /// start.
    #[doc(alias = "PdhSetQueryTimeRange")]
    pub fn set_time_range(&mut self, start: FileTime, end: FileTime) -> Result<()> {
        if end < start {
            return Err(PdhStatus::INVALID_ARGUMENT);
        }
        self.feed.set_time_range(start, end)?;
        self.counters.iter_mut().for_each(QueryCounter::forget);
        self.has_new = true;
        Ok(())
    }

    /// What formatting raw values of a counter takes.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_HANDLE`] where the query does not have the counter.
    pub fn kind(&self, id: CounterId) -> Result<CounterKind> {
        Ok(self.counter(id)?.kind())
    }

    /// What a counter is.
    ///
    /// # Errors
    ///
    /// As [`kind`](Self::kind).
    #[doc(alias = "PdhGetCounterInfoW")]
    #[doc(alias = "PdhGetCounterInfoA")]
    pub fn info(&self, id: CounterId) -> Result<CounterInfo> {
        Ok(self.counter(id)?.info(self.user_data))
    }

    /// Units of a counter's second raw value in one second.
    ///
    /// # Errors
    ///
    /// As [`kind`](Self::kind).
    #[doc(alias = "PdhGetCounterTimeBase")]
    pub fn time_base(&self, id: CounterId) -> Result<i64> {
        Ok(self.kind(id)?.time_base)
    }

    /// Multiplies a counter's formatted values by 10 to the power of `factor`, from -7 to 7, unless the format says
    /// otherwise. 0 for a new counter.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_ARGUMENT`] for a factor out of range; as [`kind`](Self::kind).
    #[doc(alias = "PdhSetCounterScaleFactor")]
    pub fn set_scale_factor(&mut self, id: CounterId, factor: i32) -> Result<()> {
        let place = self.place(id)?;
        match i8::try_from(factor) {
            Ok(factor @ -7..=7) => {
                self.counters[place].set_scale(factor);
                Ok(())
            }
            _ => Err(PdhStatus::INVALID_ARGUMENT),
        }
    }

    /// The sample of the last collection as a log takes it: only what the counters are.
    pub(crate) fn sample_for_log(&mut self) -> Result<&Sample> {
        self.feed.chosen(&self.counters, &self.sample)?;
        Ok(self.feed.chosen_sample().unwrap_or(&self.sample))
    }

    fn place(&self, id: CounterId) -> Result<usize> {
        // They are in the order of their numbers, which only rise.
        self.counters.binary_search_by_key(&id, QueryCounter::id).map_err(|_| PdhStatus::INVALID_HANDLE)
    }

    fn counter(&self, id: CounterId) -> Result<&QueryCounter> {
        self.place(id).map(|place| &self.counters[place])
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
