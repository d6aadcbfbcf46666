//! The reducers of a live board, which are reused from one reduction to the next.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::CounterSet;
use tachograph_counters::{Statistics, Status};
use tachograph_flow::FlowError;

use crate::reduced::{Reduced, ReducedSeries, Reduction, rank_of};
use crate::reducer::Reducer;
use crate::series::{SeriesId, SeriesInfo, SeriesTable};

/// The maximum number of reducers. A screen has one for its charts and one for each table.
const MAX_REDUCERS: usize = 8;

/// One reducer for each list of paths.
///
/// Successive reductions of a live board differ by one sample, in which most instances are the same as before. A reused
/// reducer has looked up their series already, so it only has to add their values; new instances cost more.
#[derive(Default)]
pub(super) struct Reducers {
    /// The least recently used one first.
    list: Vec<KeptReducer>,
}

/// A reducer for the counters that a list of paths selects.
pub(super) struct KeptReducer {
    paths: Vec<PathPattern>,
    reducer: Reducer,
    /// The [rank](rank_of) of each series; `None` if no path selects the series.
    ranks: HashMap<SeriesId, Option<usize>>,
    /// The rank and description of each series, by its index in the reducer; `None` if no path selects the series. Used only
    /// for reductions without columns.
    ranked: Vec<Option<(usize, Arc<SeriesInfo>)>>,
    /// The set of each group of the latest sample, and whether a path selects any of its counters.
    sets: Vec<(Arc<CounterSet>, bool)>,
}

impl Reducers {
    /// Drops all reducers. Required after series have been dropped from the board's table, because reducers hold their ids.
    pub(super) fn clear(&mut self) {
        self.list.clear();
    }

    /// The reducer for these paths, ready for the first sample.
    pub(super) fn reducer_for(&mut self, paths: &[PathPattern]) -> &mut KeptReducer {
        let found = self.list.iter().position(|kept| kept.paths == paths);
        let kept = match found {
            Some(index) => {
                let mut kept = self.list.remove(index);
                kept.reducer.rewind();
                kept
            }
            None => KeptReducer::new(paths),
        };
        if self.list.len() == MAX_REDUCERS {
            self.list.remove(0);
        }
        self.list.push(kept);
        let last = self.list.len() - 1;
        &mut self.list[last]
    }
}

impl KeptReducer {
    pub(super) fn new(paths: &[PathPattern]) -> Self {
        Self {
            paths: paths.to_vec(),
            reducer: Reducer::default(),
            ranks: HashMap::new(),
            ranked: Vec::new(),
            sets: Vec::new(),
        }
    }

    /// The number of series known from earlier reductions.
    pub(super) fn series(&self) -> usize {
        self.ranks.len()
    }

    /// Adds the next sample; see [`Reducer::push`]. Skips groups in which no path selects a counter.
    pub(super) fn push(
        &mut self,
        sample: &mut Sample,
        reduction: &mut Reduction,
        table: &mut SeriesTable,
    ) -> Result<(), FlowError> {
        self.update_sets(&sample.groups);
        let statuses: Vec<_> = sample.groups.iter().map(|group| group.status).collect();
        for (group, (_, is_selected)) in sample.groups.iter_mut().zip(&self.sets) {
            if !is_selected {
                // The sink skips groups with this status.
                group.status = Status::ITEM_NOT_VALIDATED;
            }
        }
        let pushed = self.reducer.push(sample, reduction, table);
        sample.groups.iter_mut().zip(statuses).for_each(|(group, status)| group.status = status);
        pushed
    }

    fn update_sets(&mut self, groups: &[Group]) {
        let is_known = self.sets.len() == groups.len()
            && self.sets.iter().zip(groups).all(|((known, _), group)| Arc::ptr_eq(known, &group.set));
        if !is_known {
            let is_selected =
                |set: &CounterSet| self.paths.is_empty() || self.paths.iter().any(|path| selects(path, set));
            self.sets =
                groups.iter().map(|group| (Arc::clone(&group.set), is_selected(&group.set))).collect();
        }
    }

    /// Finishes the reduction.
    pub(super) fn finish(&mut self, mut reduction: Reduction, table: &mut SeriesTable) -> Reduced {
        if let Some(reduced) = self.finish_without_columns(&reduction, table) {
            return reduced;
        }
        self.reducer.cut(&mut reduction, table);
        let Self { ranks, paths, .. } = self;
        reduction.finish_ranked(table, |info| *ranks.entry(info.id).or_insert_with(|| rank_of(info, paths)))
    }

    /// Finishes a reduction without columns, the kind that tables use for all cells. The reducer already has the statistics of
    /// the whole span, so they are read in place instead of being moved into the reduction. `None` if the reduction has columns
    /// or earlier statistics, or if statistics have to be merged.
    fn finish_without_columns(&mut self, reduction: &Reduction, table: &mut SeriesTable) -> Option<Reduced> {
        if reduction.has_columns() || !reduction.is_empty() {
            return None;
        }
        let Self { reducer, ranked, paths, .. } = self;
        for id in &reducer.ids(table)[ranked.len()..] {
            let info = table.get(*id);
            ranked.push(info.and_then(|info| Some((rank_of(info, paths)?, Arc::clone(info)))));
        }
        let states = reducer.column_states();
        let mut found: Vec<_> = states
            .filter_map(|(index, state)| {
                let (rank, info) = ranked.get(index)?.as_ref()?;
                Some((*rank, info, state))
            })
            .collect();
        found.sort_unstable_by_key(|(rank, info, _)| (*rank, info.id));
        // Series with the same id have to be merged, which happens when they are moved into the reduction.
        if found.windows(2).any(|pair| pair[0].1.id == pair[1].1.id) {
            return None;
        }
        let finished = |(_, info, state): (_, &Arc<SeriesInfo>, &Statistics)| ReducedSeries {
            info: Arc::clone(info),
            summary: state.summary(),
            columns: Vec::new(),
        };
        let series = found.into_iter().map(finished).collect();
        Some(Reduced { span: *reduction.span(), columns: 0, series })
    }
}

/// Whether a path selects any counter of a set; instances are not examined.
fn selects(path: &PathPattern, set: &CounterSet) -> bool {
    let is_named = |name: &str, english: &Option<Arc<str>>, test: &dyn Fn(&str) -> bool| {
        test(name) || english.as_deref().is_some_and(test)
    };
    path.matches_machine(&set.machine)
        && is_named(&set.name, &set.english_name, &|name| path.matches_set(name, set.has_instances))
        && set
            .counters
            .iter()
            .any(|counter| is_named(&counter.name, &counter.english_name, &|name| path.matches_counter(name)))
}
