//! Merging several logs into one sequence of samples.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use tachograph_counters::sample::Sample;
use tachograph_counters::set::{CounterSet, Extent};
use tachograph_logs::Mark;

use crate::logs::LogSource;
use crate::window::signature_of;
use crate::{FlowError, Source};

/// The samples of several logs in the order of their times.
///
/// Two logs can have a sample of the same machine at the same moment. If the samples have no counter in common, both
/// are returned; otherwise [`next`](Source::next) fails with an error that names both files. If one of the two is a
/// baseline (the first sample of a log that was cut out of a longer one), the baseline is dropped if the other sample
/// has the same list of counters; otherwise it is returned after the other sample.
pub struct Merge {
    inputs: Vec<Input>,
    /// The index of the input whose head was returned last. The next call reads this input's next sample.
    returned: Option<usize>,
    has_started: bool,
    /// The id for the next log or part of a log.
    next_log: u32,
    /// For each pair of inputs that had samples of the same moment: the versions ([`Input::list_version`]) of the lists of counters
    /// that were compared last, and whether these lists have a counter in common.
    compared: HashMap<[usize; 2], ([u64; 2], bool)>,
}

/// A log that is merged with others.
struct Input {
    source: LogSource,
    path: PathBuf,
    /// The next sample, unless the log has ended.
    head: Sample,
    has_ended: bool,
    /// The machines of the head's groups, in lower case.
    machines: BTreeSet<String>,
    /// The descriptions of the head's groups.
    sets: Vec<Arc<CounterSet>>,
    /// The number of times that `sets` has changed.
    list_version: u64,
    /// The part of the log that the head belongs to, as numbered by the source.
    part: Option<u32>,
    /// The id of this part, unique among the parts of all logs.
    log: u32,
    /// The position of the head.
    head_mark: Option<Mark>,
}

/// A position in the merged sequence: a position in each log.
#[derive(Clone, Debug)]
pub(crate) struct MergeMark {
    inputs: Vec<InputMark>,
    next_log: u32,
}

/// A position in one of the logs, with [`Input::part`] and [`Input::log`] of the sample there.
#[derive(Clone, Debug)]
struct InputMark {
    /// `None` if the log has ended.
    mark: Option<Mark>,
    part: Option<u32>,
    log: u32,
}

impl Merge {
    /// A source over logs. The samples of a single log are passed unchanged.
    pub fn new(sources: Vec<LogSource>) -> Self {
        let inputs = sources
            .into_iter()
            .map(|source| Input {
                path: source.report().path().to_path_buf(),
                source,
                head: Sample::default(),
                has_ended: false,
                machines: BTreeSet::new(),
                sets: Vec::new(),
                list_version: 0,
                part: None,
                log: 0,
                head_mark: None,
            })
            .collect();
        Self { inputs, returned: None, has_started: false, next_log: 0, compared: HashMap::new() }
    }

    fn start(&mut self) -> Result<(), FlowError> {
        for index in 0..self.inputs.len() {
            self.advance(index)?;
        }
        self.has_started = true;
        Ok(())
    }

    fn advance(&mut self, index: usize) -> Result<(), FlowError> {
        let input = &mut self.inputs[index];
        input.head_mark = input.source.mark();
        input.has_ended = !input.source.next(&mut input.head)?;
        if !input.has_ended {
            // Each part of each log has its own id; ids ascend with time.
            if input.part != Some(input.head.log) {
                input.part = Some(input.head.log);
                input.log = self.next_log;
                self.next_log = self.next_log.wrapping_add(1);
            }
            input.head.log = input.log;
            if !input.head.has_sets(input.sets.iter()) {
                input.sets = input.head.groups.iter().map(|group| Arc::clone(&group.set)).collect();
                input.list_version += 1;
                input.machines = machines_of(&input.head);
            }
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.inputs.len()
    }

    /// Whether samples can be read that are appended to the files later.
    pub(crate) fn follows_growth(&self) -> bool {
        self.inputs.iter().all(|input| input.source.follows_growth())
    }

    /// The position of the next sample; `None` if a log does not support positions.
    pub(crate) fn position_mark(&mut self) -> Result<Option<MergeMark>, FlowError> {
        if let [only] = self.inputs.as_mut_slice() {
            let mark = only.source.mark().map(|mark| InputMark { mark: Some(mark), part: None, log: 0 });
            return Ok(mark.map(|mark| MergeMark { inputs: vec![mark], next_log: 0 }));
        }
        self.load_heads()?;
        let mark = |input: &Input| {
            let mark = if input.has_ended { None } else { Some(input.head_mark.clone()?) };
            Some(InputMark { mark, part: input.part, log: input.log })
        };
        let inputs = self.inputs.iter().map(mark).collect::<Option<Vec<_>>>();
        Ok(inputs.map(|inputs| MergeMark { inputs, next_log: self.next_log }))
    }

    /// Seeks to a position. Returns false if a log no longer contains it.
    pub(crate) fn seek(&mut self, mark: &MergeMark) -> Result<bool, FlowError> {
        if self.inputs.len() != mark.inputs.len() {
            return Ok(false);
        }
        if let ([only], [position]) = (self.inputs.as_mut_slice(), mark.inputs.as_slice()) {
            return position.mark.as_ref().map_or(Ok(false), |position| only.source.seek_to(position));
        }
        self.load_heads()?;
        for (index, position) in mark.inputs.iter().enumerate() {
            let input = &mut self.inputs[index];
            (input.part, input.log) = (position.part, position.log);
            let Some(position) = &position.mark else {
                input.has_ended = true;
                continue;
            };
            if !input.has_ended && input.head_mark.as_ref() == Some(position) {
                input.head.log = input.log;
                continue;
            }
            if !input.source.seek_to(position)? {
                return Ok(false);
            }
            self.advance(index)?;
        }
        self.next_log = mark.next_log;
        Ok(true)
    }

    /// Ensures that the head of every log has been read.
    fn load_heads(&mut self) -> Result<(), FlowError> {
        if !self.has_started {
            self.start()?;
        }
        if let Some(returned) = self.returned.take() {
            self.advance(returned)?;
        }
        Ok(())
    }

    /// The index of the input whose head is returned next.
    fn earliest_input(&self) -> Option<usize> {
        (0..self.inputs.len()).filter(|&index| !self.inputs[index].has_ended).min_by_key(|&index| {
            // Of two samples of the same moment, the baseline comes last, since it may be redundant.
            (self.inputs[index].head.at.utc, self.inputs[index].head.is_baseline, index)
        })
    }

    /// Checks the heads of other inputs that have the same moment as the head of `first`, which is returned next. Skips
    /// redundant baselines.
    fn check_same_moment(&mut self, first: usize) -> Result<(), FlowError> {
        let at = self.inputs[first].head.at;
        for other in 0..self.inputs.len() {
            let is_same_time = |input: &Input| !input.has_ended && input.head.at.utc <= at.utc;
            if other == first || !is_same_time(&self.inputs[other]) || !self.share_machine(first, other) {
                continue;
            }
            if !self.inputs[other].head.is_baseline {
                if !self.share_counter(first, other) {
                    continue;
                }
                return Err(FlowError::SameMoment {
                    first: self.inputs[first.min(other)].path.clone(),
                    second: self.inputs[first.max(other)].path.clone(),
                    at: at.rfc3339(),
                });
            }
            if signature_of(&self.inputs[first].head) == signature_of(&self.inputs[other].head) {
                self.advance(other)?;
            }
        }
        Ok(())
    }

    /// Whether the heads of two inputs have a counter in common.
    fn share_counter(&mut self, one: usize, other: usize) -> bool {
        let (key, lists) = ([one, other], [self.inputs[one].list_version, self.inputs[other].list_version]);
        match self.compared.get(&key) {
            Some((compared, have_common)) if *compared == lists => *have_common,
            _ => {
                let have_common = have_common_counter(&self.inputs[one].sets, &self.inputs[other].sets);
                self.compared.insert(key, (lists, have_common));
                have_common
            }
        }
    }

    /// Whether the heads of two inputs have a machine in common.
    fn share_machine(&self, one: usize, other: usize) -> bool {
        !self.inputs[one].machines.is_disjoint(&self.inputs[other].machines)
    }
}

/// Whether the same counter of the same instance occurs in both lists. A wildcard includes all instances.
pub fn have_common_counter(one: &[Arc<CounterSet>], other: &[Arc<CounterSet>]) -> bool {
    let counters = |sets: &[Arc<CounterSet>]| {
        let mut counters = HashSet::new();
        for set in sets {
            let column = format!(r"\\{}\{}", set.machine, set.name).to_lowercase();
            let instance = set.instance.as_ref().filter(|_| set.extent == Extent::Row);
            for counter in &set.counters {
                let counter = format!(r"{column}\{}", counter.name.to_lowercase());
                counters.insert((counter, instance.map(|instance| instance.label().to_owned())));
            }
        }
        counters
    };
    let (one, other) = (counters(one), counters(other));
    // A wildcard includes the counter of a fixed instance.
    let columns = |list: &HashSet<(String, Option<String>)>, only_wildcards: bool| -> HashSet<String> {
        let wanted = list.iter().filter(|(_, instance)| !only_wildcards || instance.is_none());
        wanted.map(|(counter, _)| counter.clone()).collect()
    };
    !one.is_disjoint(&other)
        || !columns(&one, true).is_disjoint(&columns(&other, false))
        || !columns(&one, false).is_disjoint(&columns(&other, true))
}

/// The machines of a sample's groups, in lower case.
pub fn machines_of(sample: &Sample) -> BTreeSet<String> {
    sample.groups.iter().map(|group| group.set.machine.to_lowercase()).collect()
}

/// Groups logs that share machines, directly or through other logs. Returns the indexes of the logs of each group.
pub fn group_by_machine(machines: &[BTreeSet<String>]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(BTreeSet<String>, Vec<usize>)> = Vec::new();
    for (index, names) in machines.iter().enumerate() {
        let mut joined = (names.clone(), vec![index]);
        let (overlapping, disjoint): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|(others, _)| !others.is_disjoint(names));
        groups = disjoint;
        for (others, indexes) in overlapping {
            joined.0.extend(others);
            joined.1.extend(indexes);
        }
        groups.push(joined);
    }
    let mut indexes: Vec<_> = groups.into_iter().map(|(_, indexes)| indexes).collect();
    for group in &mut indexes {
        group.sort_unstable();
    }
    indexes.sort_unstable();
    indexes
}

impl Source for Merge {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        if let [only] = self.inputs.as_mut_slice() {
            return only.source.next(sample);
        }
        self.load_heads()?;
        let Some(first) = self.earliest_input() else { return Ok(false) };
        self.check_same_moment(first)?;
        // The next call fills the buffers that are swapped in here.
        std::mem::swap(sample, &mut self.inputs[first].head);
        self.returned = Some(first);
        Ok(true)
    }
}
