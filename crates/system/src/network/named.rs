//! Sets without instances whose counters are numbers that are found by name in files, or sums of such numbers.

use std::ops::Range;
use std::sync::Arc;

use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{Failure, InstanceKey, Provider, Rows, SharedReading};

use super::counts::{Counts, Files, Location};
use crate::table::SetTable;

/// A set with the sources of its counters.
pub(super) struct NamedSet {
    pub(super) table: &'static SetTable,
    pub(super) sources: &'static [CounterSource],
}

/// The source of a counter.
pub(super) struct CounterSource {
    pub(super) id: u32,
    /// The numbers to add up, such as `net/snmp: Tcp InSegs`.
    pub(super) terms: &'static [&'static str],
    /// Whether the numbers are in pages and must be converted to bytes.
    pub(super) in_pages: bool,
}

/// Defines the counters of a set and their sources, one line per counter.
macro_rules! named {
    ($rows:ident, $sources:ident; $(
        $id:literal $name:literal $type:ident $unit:literal $scale:literal
        [$first:literal $(+ $more:literal)*] $($pages:ident)? $help:literal;
    )*) => {
        const $rows: &[$crate::table::CounterInfo] = &[$(
            $crate::table::CounterInfo::row(
                $id, $name, tachograph_counters::CounterType::$type, $unit, $scale,
                concat!("/proc/", $first $(, " + ", $more)*), $help,
            ),
        )*];
        pub(super) const $sources: &[$crate::network::named::CounterSource] = &[$(
            $crate::network::named::CounterSource {
                id: $id,
                terms: &[$first $(, $more)*],
                in_pages: $crate::network::named::named!(@pages $($pages)?),
            },
        )*];
    };
    (@pages) => { false };
    (@pages pages) => { true };
}
pub(super) use named;

/// The provider of a set; `None` if this machine has none of its counters.
pub(super) fn provider(set: &NamedSet, files: &Files) -> Option<Box<dyn Provider>> {
    let mut terms = Vec::new();
    let mut sums = Vec::new();
    for source in set.sources {
        let locations: Option<Vec<Location>> = source.terms.iter().map(|term| files.locate(term)).collect();
        let Some(locations) = locations else { continue };
        terms.extend(locations.into_iter().map(|location| Term { sum: sums.len(), location }));
        let factor = if source.in_pages { files.page_bytes } else { 1 };
        let missing = format!("/proc/{}: missing or not a number", source.terms.join(" + ")).into();
        sums.push(Sum { id: source.id, factor, value: Ok(0), missing });
    }
    if sums.is_empty() {
        return None;
    }
    terms.sort_by_key(|term: &Term| term.location.file);
    let files = files.all().into_iter().enumerate().filter_map(|(index, file)| {
        let start = terms.partition_point(|term| term.location.file < index);
        let end = terms.partition_point(|term| term.location.file <= index);
        (start < end).then_some(TermsOfFile { file, terms: start..end })
    });
    let files = files.collect();
    let has_counter = |id| sums.iter().any(|sum| sum.id == id);
    Some(Box::new(NamedProvider {
        info: set.table.info_of(has_counter),
        instance: Arc::default(),
        files,
        terms,
        sums,
    }))
}

/// The provider of a [`NamedSet`].
struct NamedProvider {
    info: Arc<CounterSetInfo>,
    instance: Arc<InstanceKey>,
    files: Vec<TermsOfFile>,
    /// In the order of the files.
    terms: Vec<Term>,
    /// One for each counter.
    sums: Vec<Sum>,
}

/// A file, and the indexes of the terms that it contains.
struct TermsOfFile {
    file: SharedReading<Counts>,
    terms: Range<usize>,
}

/// A number that is added to a sum.
struct Term {
    /// The index of the sum.
    sum: usize,
    location: Location,
}

/// The value of a counter: a sum of numbers, multiplied by a factor.
struct Sum {
    /// The id of the counter.
    id: u32,
    factor: u64,
    /// The value in the current sample, or the reason why it is missing.
    value: Result<u64, Arc<str>>,
    /// The reason if a number is missing.
    missing: Arc<str>,
}

impl Provider for NamedProvider {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let at = rows.timestamps();
        let sums = &mut self.sums;
        sums.iter_mut().for_each(|sum| sum.value = Ok(0));
        for TermsOfFile { file, terms } in &self.files {
            let terms = &self.terms[terms.clone()];
            if !terms.iter().any(|term| rows.wants(sums[term.sum].id)) {
                continue;
            }
            let read = file.at(at, |counts| {
                for term in terms {
                    let sum = &mut sums[term.sum];
                    match (counts.value(term.location.entry), &mut sum.value) {
                        (Some(value), Ok(sum)) => *sum = sum.wrapping_add(value),
                        (None, _) => sum.value = Err(Arc::clone(&sum.missing)),
                        (Some(_), Err(_)) => {}
                    }
                }
            });
            if let Err(failure) = read {
                for term in terms {
                    sums[term.sum].value = Err(Arc::clone(&failure.reason));
                }
            }
        }
        let mut row = rows.push(&self.instance);
        for sum in &self.sums {
            match &sum.value {
                Ok(value) => row.set(sum.id, value.wrapping_mul(sum.factor)),
                Err(reason) => row.fail(sum.id, reason),
            }
        }
        Ok(())
    }
}
