//! Several logs as one stretch of time.

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
/// Logs of one machine are one stretch: two of its samples of the same moment that have a counter in common are an error
/// that names both files. Those of two collectors with different counters follow each other. A sample that only opens a
/// window (a log that was cut with its baseline) is left out where the other has the same counters, and comes after it
/// where it has others.
pub struct Merge {
    inputs: Vec<Input>,
    /// The input whose sample was given out last: it is read on at the next call.
    taken: Option<usize>,
    started: bool,
    /// The number for the next log or part of a log that comes.
    next_log: u32,
    /// Of two inputs that had samples of one moment: the lists of counters that were compared last, and whether they have
    /// a counter in common.
    compared: HashMap<[usize; 2], ([u64; 2], bool)>,
}

struct Input {
    source: LogSource,
    path: PathBuf,
    /// The next sample, where there is one.
    head: Sample,
    ended: bool,
    /// Machines of the groups met, in lower case.
    machines: BTreeSet<String>,
    /// The descriptions of the head's groups, which the machines were taken from, and how often they changed.
    sets: Vec<Arc<CounterSet>>,
    list: u64,
    /// The part of the log that the head is from, and its number among those of all logs.
    part: Option<u32>,
    log: u32,
    /// Where the head begins.
    head_mark: Option<Mark>,
}

/// A place in several logs: where each one's head begins.
#[derive(Clone, Debug)]
pub(crate) struct MergeMark {
    inputs: Vec<InputMark>,
    next_log: u32,
}

#[derive(Clone, Debug)]
struct InputMark {
    /// `None` where the log has ended.
    mark: Option<Mark>,
    part: Option<u32>,
    log: u32,
}

impl Merge {
    /// Over the given logs; one log passes through.
    pub fn new(sources: Vec<LogSource>) -> Self {
        let inputs = sources
            .into_iter()
            .map(|source| Input {
                path: source.report().path().to_path_buf(),
                source,
                head: Sample::default(),
                ended: false,
                machines: BTreeSet::new(),
                sets: Vec::new(),
                list: 0,
                part: None,
                log: 0,
                head_mark: None,
            })
            .collect();
        Self { inputs, taken: None, started: false, next_log: 0, compared: HashMap::new() }
    }

    fn start(&mut self) -> Result<(), FlowError> {
        for number in 0..self.inputs.len() {
            self.advance(number)?;
        }
        self.started = true;
        Ok(())
    }

    fn advance(&mut self, number: usize) -> Result<(), FlowError> {
        let input = &mut self.inputs[number];
        input.head_mark = input.source.mark();
        input.ended = !input.source.next(&mut input.head)?;
        if !input.ended {
            // A log's own parts stay apart, and apart from those of other logs. Numbers rise with time.
            if input.part != Some(input.head.log) {
                input.part = Some(input.head.log);
                input.log = self.next_log;
                self.next_log = self.next_log.wrapping_add(1);
            }
            input.head.log = input.log;
            let same = input.sets.len() == input.head.groups.len()
                && input.sets.iter().zip(&input.head.groups).all(|(set, group)| Arc::ptr_eq(set, &group.set));
            if !same {
                input.sets = input.head.groups.iter().map(|group| Arc::clone(&group.set)).collect();
                input.list += 1;
                input.machines = machines_of(&input.head);
            }
        }
        Ok(())
    }

    /// How many logs there are.
    pub(crate) fn len(&self) -> usize {
        self.inputs.len()
    }

    /// Whether samples that are appended to the files are read on.
    pub(crate) fn follows_growth(&self) -> bool {
        self.inputs.iter().all(|input| input.source.follows_growth())
    }

    /// Where the next sample begins; `None` where a log cannot tell.
    pub(crate) fn mark(&mut self) -> Result<Option<MergeMark>, FlowError> {
        if let [only] = self.inputs.as_mut_slice() {
            let mark = only.source.mark().map(|mark| InputMark { mark: Some(mark), part: None, log: 0 });
            return Ok(mark.map(|mark| MergeMark { inputs: vec![mark], next_log: 0 }));
        }
        self.settle()?;
        let mark = |input: &Input| {
            let mark = if input.ended { None } else { Some(input.head_mark.clone()?) };
            Some(InputMark { mark, part: input.part, log: input.log })
        };
        let inputs = self.inputs.iter().map(mark).collect::<Option<Vec<_>>>();
        Ok(inputs.map(|inputs| MergeMark { inputs, next_log: self.next_log }))
    }

    /// Goes to a place, of these logs; false where one of them has lost it.
    pub(crate) fn go_to(&mut self, mark: &MergeMark) -> Result<bool, FlowError> {
        if self.inputs.len() != mark.inputs.len() {
            return Ok(false);
        }
        if let ([only], [place]) = (self.inputs.as_mut_slice(), mark.inputs.as_slice()) {
            return place.mark.as_ref().map_or(Ok(false), |place| only.source.go_to(place));
        }
        self.settle()?;
        for (number, place) in mark.inputs.iter().enumerate() {
            let input = &mut self.inputs[number];
            (input.part, input.log) = (place.part, place.log);
            let Some(place) = &place.mark else {
                input.ended = true;
                continue;
            };
            if !input.ended && input.head_mark.as_ref() == Some(place) {
                input.head.log = input.log;
                continue;
            }
            if !input.source.go_to(place)? {
                return Ok(false);
            }
            self.advance(number)?;
        }
        self.next_log = mark.next_log;
        Ok(true)
    }

    /// Reads what the next sample is chosen from.
    fn settle(&mut self) -> Result<(), FlowError> {
        if !self.started {
            self.start()?;
        }
        if let Some(taken) = self.taken.take() {
            self.advance(taken)?;
        }
        Ok(())
    }

    fn first(&self) -> Option<usize> {
        (0..self.inputs.len()).filter(|&number| !self.inputs[number].ended).min_by_key(|&number| {
            // Of two samples of one moment a baseline comes last: the other one makes it needless.
            (self.inputs[number].head.at.utc, self.inputs[number].head.is_baseline, number)
        })
    }

    /// Checks the heads of the other inputs against the sample of `first`, which is about to be given out.
    fn settle_same_moment(&mut self, first: usize) -> Result<(), FlowError> {
        let at = self.inputs[first].head.at;
        for other in 0..self.inputs.len() {
            let same = |input: &Input| !input.ended && input.head.at.utc <= at.utc;
            if other == first || !same(&self.inputs[other]) || !self.share_machine(first, other) {
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

    fn share_counter(&mut self, one: usize, other: usize) -> bool {
        let (key, lists) = ([one, other], [self.inputs[one].list, self.inputs[other].list]);
        match self.compared.get(&key) {
            Some((compared, have_common)) if *compared == lists => *have_common,
            _ => {
                let have_common = have_common_counter(&self.inputs[one].sets, &self.inputs[other].sets);
                self.compared.insert(key, (lists, have_common));
                have_common
            }
        }
    }

    fn share_machine(&self, one: usize, other: usize) -> bool {
        !self.inputs[one].machines.is_disjoint(&self.inputs[other].machines)
    }
}

/// Whether two lists of descriptions have a counter of an instance in common. A wildcard has those of all instances.
fn have_common_counter(one: &[Arc<CounterSet>], other: &[Arc<CounterSet>]) -> bool {
    let counters = |sets: &[Arc<CounterSet>]| {
        let mut counters = HashSet::new();
        for set in sets {
            let column = format!(r"\\{}\{}", set.machine, set.name).to_lowercase();
            let instance = set.instance.as_ref().filter(|_| set.extent == Extent::Value);
            for counter in &set.counters {
                let counter = format!(r"{column}\{}", counter.name.to_lowercase());
                counters.insert((counter, instance.map(|instance| instance.label().to_owned())));
            }
        }
        counters
    };
    let (one, other) = (counters(one), counters(other));
    // Of a wildcard and an instance of it, the wildcard has the instance's counter.
    let columns = |these: &HashSet<(String, Option<String>)>, of_all: bool| -> HashSet<String> {
        let wanted = these.iter().filter(|(_, instance)| !of_all || instance.is_none());
        wanted.map(|(counter, _)| counter.clone()).collect()
    };
    !one.is_disjoint(&other)
        || !columns(&one, true).is_disjoint(&columns(&other, false))
        || !columns(&one, false).is_disjoint(&columns(&other, true))
}

/// The machines of a sample's groups, in lower case.
pub(crate) fn machines_of(sample: &Sample) -> BTreeSet<String> {
    sample.groups.iter().map(|group| group.set.machine.to_lowercase()).collect()
}

/// Groups logs by the machines they share: each result holds the numbers of the logs of one stretch.
pub fn machines_overlap(machines: &[BTreeSet<String>]) -> Vec<Vec<usize>> {
    let mut stretches: Vec<(BTreeSet<String>, Vec<usize>)> = Vec::new();
    for (number, names) in machines.iter().enumerate() {
        let mut joined = (names.clone(), vec![number]);
        let (touching, apart): (Vec<_>, Vec<_>) =
            stretches.into_iter().partition(|(others, _)| !others.is_disjoint(names));
        stretches = apart;
        for (others, numbers) in touching {
            joined.0.extend(others);
            joined.1.extend(numbers);
        }
        stretches.push(joined);
    }
    let mut numbers: Vec<_> = stretches.into_iter().map(|(_, numbers)| numbers).collect();
    for stretch in &mut numbers {
        stretch.sort_unstable();
    }
    numbers.sort_unstable();
    numbers
}

impl Source for Merge {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        if let [only] = self.inputs.as_mut_slice() {
            return only.source.next(sample);
        }
        self.settle()?;
        let Some(first) = self.first() else { return Ok(false) };
        self.settle_same_moment(first)?;
        // The buffers change hands; the input fills the others at the next call.
        std::mem::swap(sample, &mut self.inputs[first].head);
        self.taken = Some(first);
        Ok(true)
    }
}
