//! What happened beside the samples: values that could not be read, moments that were missed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tachograph_perflib::{Guid, QueriedSet};

/// Something that went wrong while collecting, said once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveTrouble {
    /// The path of the first counter that it was met at, or of the counter set.
    pub path: String,
    /// The ids of the counters that it concerns; none where it is the whole set.
    pub counters: Vec<u32>,
    /// The cause in words.
    pub reason: Arc<str>,
    /// How many values it concerns so far; of a set: how many samples.
    pub count: u64,
}

/// What a live source has to say beside its samples; readable while the source is consumed elsewhere.
#[derive(Clone, Debug, Default)]
pub struct LiveReport(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    samples: u64,
    late: u64,
    missed: u64,
    clock_steps: u64,
    troubles: Vec<LiveTrouble>,
    /// By counter set and cause: the place among `troubles`. A set that comes anew, by another process, is the same.
    places: HashMap<(Guid, Arc<str>), usize>,
    /// How many of the troubles were told.
    told: usize,
}

/// How often something went wrong so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveCounts {
    /// Samples taken more than a tenth of the interval after their moment.
    pub late: u64,
    /// Moments without a sample, because the one before took too long.
    pub missed: u64,
    /// Samples whose time is 1 ms after the one before because the wall clock had gone back.
    pub clock_steps: u64,
    /// Values that could not be read; a counter set that could not be read counts as one value per sample.
    pub unread: u64,
    /// Different causes of unread values.
    pub causes: usize,
}

/// More different causes than anybody reads.
const MAX_TROUBLES: usize = 1000;

impl LiveReport {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many samples were yielded, a baseline left out.
    pub fn samples(&self) -> u64 {
        self.lock().samples
    }

    /// How many samples were taken more than a tenth of the interval after their moment.
    pub fn late(&self) -> u64 {
        self.lock().late
    }

    /// How many moments went by without a sample, because the one before took too long.
    pub fn missed(&self) -> u64 {
        self.lock().missed
    }

    /// How many samples got a time 1 ms after the one before because the wall clock had gone back.
    pub fn clock_steps(&self) -> u64 {
        self.lock().clock_steps
    }

    /// All counts at this moment.
    pub fn counts(&self) -> LiveCounts {
        let state = self.lock();
        LiveCounts {
            late: state.late,
            missed: state.missed,
            clock_steps: state.clock_steps,
            unread: state.troubles.iter().map(|trouble| trouble.count).sum(),
            causes: state.troubles.len(),
        }
    }

    /// Everything that went wrong, with how often it did.
    pub fn troubles(&self) -> Vec<LiveTrouble> {
        self.lock().troubles.clone()
    }

    /// What went wrong for the first time since this was asked last.
    pub fn news(&self) -> Vec<LiveTrouble> {
        let mut state = self.lock();
        let all = state.troubles.len();
        let from = std::mem::replace(&mut state.told, all);
        state.troubles[from..].to_vec()
    }

    pub(super) fn note_sample(&self, late: u64, missed: u64, is_clock_step: bool, is_baseline: bool) {
        let mut state = self.lock();
        state.samples += u64::from(!is_baseline);
        state.late = late;
        state.missed = missed;
        state.clock_steps += u64::from(is_clock_step);
    }

    pub(super) fn note_troubles(&self, machine: &str, sets: &[QueriedSet]) {
        let has_none = |set: &QueriedSet| set.outcome().is_ok() && set.rows().troubles().is_empty();
        if sets.iter().all(has_none) {
            return;
        }
        let mut state = self.lock();
        for set in sets {
            let info = set.rows().info();
            let name = &info.name;
            if let Err(failure) = set.outcome() {
                let key = (info.guid, Arc::clone(&failure.reason));
                state.note(key, None, 1, || format!(r"\\{machine}\{name}"));
            }
            for trouble in set.rows().troubles() {
                let key = (info.guid, Arc::clone(&trouble.reason));
                state.note(key, Some(trouble.counter_id), trouble.count, || {
                    let counter =
                        info.position(trouble.counter_id).map_or("", |place| &info.counters[place].name);
                    let instance = match trouble.instance.full_name() {
                        "" => String::new(),
                        name => format!("({name})"),
                    };
                    format!(r"\\{machine}\{name}{instance}\{counter}")
                });
            }
        }
    }
}

impl State {
    fn note(
        &mut self,
        key: (Guid, Arc<str>),
        counter: Option<u32>,
        count: u64,
        path: impl FnOnce() -> String,
    ) {
        if let Some(&place) = self.places.get(&key) {
            let trouble = &mut self.troubles[place];
            trouble.count += count;
            // A set has a few dozen counters.
            if let Some(id) = counter
                && !trouble.counters.contains(&id)
            {
                trouble.counters.push(id);
            }
        } else if self.troubles.len() < MAX_TROUBLES {
            let reason = Arc::clone(&key.1);
            self.troubles.push(LiveTrouble {
                path: path(),
                counters: counter.into_iter().collect(),
                reason,
                count,
            });
            self.places.insert(key, self.troubles.len() - 1);
        }
    }
}
