//! The values of all processors at one moment; only requested values are read.

use std::ops::Range;
use std::sync::Arc;

use tachograph_perflib::{Failure, Reading, Row, Rows, SharedReading, Timestamps};

use super::columns::{ColumnSums, KINDS, TIMER};
use super::frequency::Frequency;
use super::idle_states::{CLASSES, IdleStates};
use super::instances::{self, Order, ProcessorInstance, in_both_orders};
use super::outputs::{OUTPUTS, Output, SOURCES, Source, TIMES, VALUES, Value};
use super::softnet::{COUNTS, Softnet};
use super::times::{Processor, ProcessorTimes};
use super::topology::Topology;
use crate::roots::Roots;
use crate::shared_file::InterruptFiles;
use crate::stat::Stat;

/// The processors of this machine.
#[derive(Debug)]
pub(super) struct Processors {
    roots: Roots,
    stat: SharedReading<Stat>,
    times: ProcessorTimes,
    topology: Topology,
    interrupts: ColumnSums,
    softirqs: ColumnSums,
    softnet: Softnet,
    /// How many times the list of processors was rebuilt.
    total_generation: u32,
    /// The processors, sorted by node and id.
    members: Vec<Member>,
    /// The instances of the two processor sets: by node and by id, as [`Order`] numbers them.
    instances: [Vec<ProcessorInstance>; 2],
    /// When each source was last read.
    read_at: [Option<Timestamps>; SOURCES],
    /// The last error of each source.
    reasons: [Option<Arc<str>>; SOURCES],
}

#[derive(Debug)]
struct Member {
    id: u32,
    /// The processor's index in `/proc/stat`.
    index: usize,
    idle_states: IdleStates,
    frequency: Frequency,
    /// Indexed by [`Value`].
    values: [u64; VALUES],
    /// Whether the last read of each source has succeeded.
    is_good: [bool; SOURCES],
}

/// The ids of the counters that this machine has.
pub(super) struct Present(Vec<u32>);

impl Present {
    pub(super) fn has_counter(&self, id: u32) -> bool {
        self.0.contains(&id)
    }
}

impl Processors {
    pub(super) fn new(roots: &Roots, stat: &SharedReading<Stat>, files: &InterruptFiles) -> Self {
        Self {
            roots: roots.clone(),
            stat: stat.clone(),
            times: ProcessorTimes::default(),
            topology: Topology::default(),
            interrupts: ColumnSums::interrupts(&files.interrupts),
            softirqs: ColumnSums::softirqs(&files.softirqs),
            softnet: Softnet::new(roots),
            total_generation: 0,
            members: Vec::new(),
            instances: [Vec::new(), Vec::new()],
            read_at: [None; SOURCES],
            reasons: [const { None }; SOURCES],
        }
    }

    /// The available counters; `None` if `/proc/stat` lists no processors.
    pub(super) fn probe(&mut self, at: Timestamps) -> Option<Present> {
        if self.members.is_empty() {
            return None;
        }
        let has_interrupts = self.interrupts.read(at).is_ok();
        let has_softirqs = self.softirqs.read(at).is_ok();
        let any_member = |has_counter: fn(&Member) -> bool| self.members.iter().any(has_counter);
        let class =
            |class: usize| self.members.iter().any(|member| member.idle_states.available_classes().0[class]);
        let online = self.times.processors().iter().map(|processor| processor.id);
        let has_softnet = self.softnet.read(online).is_ok();
        let is_present = |output: &&Output| {
            let kind = (output.value as usize).wrapping_sub(Value::SoftirqHighTasklet as usize);
            match output.value {
                Value::Interrupts => has_interrupts,
                Value::Clock => has_interrupts && self.interrupts.has_row(TIMER),
                Value::Softirqs => has_softirqs,
                Value::Backlog => has_softnet && self.softnet.has_backlog(),
                Value::C1Time | Value::C1Entries => class(0),
                Value::C2Time | Value::C2Entries => class(1),
                Value::C3Time | Value::C3Entries => class(2),
                Value::Entries => any_member(|member| member.idle_states.available_classes().1),
                Value::Mhz => any_member(|member| member.frequency.has_current()),
                Value::PercentOfHighest => any_member(|member| member.frequency.has_highest()),
                Value::PercentLimit => any_member(|member| member.frequency.has_limit()),
                Value::Performance | Value::PerformanceTime => {
                    any_member(|member| member.frequency.has_performance())
                }
                _ => match output.source {
                    Source::Softirqs => has_softirqs && self.softirqs.has_row(kind),
                    Source::Softnet => has_softnet,
                    _ => true,
                },
            }
        };
        Some(Present(OUTPUTS.iter().filter(is_present).map(|output| output.id).collect()))
    }

    /// Closes all files until the next read.
    pub(super) fn close(&mut self) {
        self.interrupts.close();
        self.softirqs.close();
        self.softnet.close();
        for member in &mut self.members {
            member.idle_states.close();
            member.frequency.close();
        }
    }

    /// Adds the rows of a set.
    pub(super) fn push_rows(&mut self, order: Order, rows: &mut Rows) {
        for output in OUTPUTS {
            // A source is read once per timestamp, so the two processor sets show the same values.
            if rows.wants(output.id) && self.read_at[output.source as usize] != Some(rows.timestamps()) {
                self.read_at[output.source as usize] = Some(rows.timestamps());
                self.read_source(output.source, rows.timestamps());
            }
        }
        let wants_all = rows.wants_all_instances();
        for ProcessorInstance { key, members } in &self.instances[order as usize] {
            if !wants_all && !rows.wants_instance(key.full_name(), key.id()) {
                continue;
            }
            let mut row = rows.push(key);
            for output in OUTPUTS {
                if row.wants(output.id) {
                    self.set_counter(&mut row, output, members);
                }
            }
        }
    }

    fn set_counter(&self, row: &mut Row<'_>, output: &Output, members: &Range<usize>) {
        let members = &self.members[members.clone()];
        if members.iter().any(|member| !member.is_good[output.source as usize]) {
            if let Some(reason) = &self.reasons[output.source as usize] {
                row.fail(output.id, reason);
            }
            return;
        }
        let sum = |value: Value| members.iter().map(|member| u128::from(member.values[value as usize])).sum();
        let count = if output.is_mean { members.len() as u128 } else { 1 };
        let value = |sum: u128| (sum / count).try_into().unwrap_or(u64::MAX);
        match output.base {
            Some(base) => row.set_with_base(output.id, value(sum(output.value)), value(sum(base))),
            None => row.set(output.id, value(sum(output.value))),
        }
    }

    fn read_source(&mut self, source: Source, at: Timestamps) {
        let Self { members, times, interrupts, softirqs, softnet, .. } = self;
        let reason = match source {
            Source::Times => return self.update_times(),
            Source::Interrupts => {
                let outcome = interrupts.read(at).map_err(str::to_owned);
                read_members(members, source, |member| {
                    outcome.clone()?;
                    let column = interrupts
                        .column_sum(member.id)
                        .ok_or("/proc/interrupts: no column of this processor")?;
                    member.values[Value::Interrupts as usize] = column.all;
                    member.values[Value::Clock as usize] = column.kinds[TIMER];
                    Ok(())
                })
            }
            Source::Softirqs => {
                let outcome = softirqs.read(at).map_err(str::to_owned);
                read_members(members, source, |member| {
                    outcome.clone()?;
                    let column = softirqs
                        .column_sum(member.id)
                        .ok_or("/proc/softirqs: no column of this processor")?;
                    member.values[Value::Softirqs as usize] = column.all;
                    member.values[Value::SoftirqHighTasklet as usize..][..KINDS]
                        .copy_from_slice(&column.kinds);
                    Ok(())
                })
            }
            Source::Softnet => {
                let outcome = softnet.read(times.processors().iter().map(|processor| processor.id));
                read_members(members, source, |member| {
                    outcome.clone()?;
                    let softnet = softnet.counts(member.id)?;
                    member.values[Value::PacketsProcessed as usize..][..COUNTS]
                        .copy_from_slice(&softnet.counts);
                    member.values[Value::Backlog as usize] = softnet.backlog;
                    Ok(())
                })
            }
            Source::IdleStates => read_members(members, source, |member| {
                let sums = member.idle_states.read()?;
                member.values[Value::C1Time as usize..][..CLASSES].copy_from_slice(&sums.times);
                member.values[Value::C1Entries as usize..][..CLASSES].copy_from_slice(&sums.entries);
                member.values[Value::Entries as usize] = sums.all_entries;
                Ok(())
            }),
            Source::Frequency => read_members(members, source, |member| {
                let khz = member.frequency.current_khz()?;
                member.values[Value::Mhz as usize] = khz / 1000;
                member.values[Value::PercentOfHighest as usize] = member.frequency.percent(khz)?;
                Ok(())
            }),
            Source::Limit => read_members(members, source, |member| {
                let khz = member.frequency.limit_khz()?;
                member.values[Value::PercentLimit as usize] = member.frequency.percent(khz)?;
                Ok(())
            }),
            Source::Performance => read_members(members, source, |member| {
                let performance = member.frequency.performance()?;
                member.values[Value::Performance as usize] = performance.weighted;
                member.values[Value::PerformanceTime as usize] = performance.time;
                Ok(())
            }),
        };
        self.set_reason(source, reason);
    }

    fn set_reason(&mut self, source: Source, reason: Option<String>) {
        let Some(reason) = reason else { return };
        let last = &mut self.reasons[source as usize];
        if last.as_deref() != Some(reason.as_str()) {
            *last = Some(reason.into());
        }
    }

    fn update_times(&mut self) {
        let mut is_malformed = false;
        for member in &mut self.members {
            let times = self.times.processors().get(member.index).and_then(|processor| processor.times);
            member.is_good[Source::Times as usize] = times.is_some();
            let Some(times) = times else {
                is_malformed = true;
                continue;
            };
            member.values[..TIMES].copy_from_slice(&times.0);
        }
        if is_malformed {
            let path = self.roots.proc.join("stat");
            self.set_reason(
                Source::Times,
                Some(format!("{}: a processor's line is malformed", path.display())),
            );
        }
    }

    /// Rebuilds the list of online processors, with their nodes and files.
    fn rebuild(&mut self) {
        self.total_generation = self.total_generation.wrapping_add(1);
        let processors = self.times.processors();
        self.topology.update(&self.roots, processors.iter().map(|processor| processor.id));
        let mut order: Vec<(usize, Processor)> = processors.iter().copied().enumerate().collect();
        order.sort_by_key(|(_, processor)| (self.topology.position(processor.id).0, processor.id));
        let member = |&(index, processor): &(usize, Processor)| Member {
            id: processor.id,
            index,
            idle_states: IdleStates::new(&self.roots, processor.id),
            frequency: Frequency::new(&self.roots, processor.id),
            values: [0; VALUES],
            is_good: [false; SOURCES],
        };
        self.members = order.iter().map(member).collect();
        let online = order.into_iter().map(|(_, Processor { id, generation, .. })| instances::Member {
            id,
            generation,
            is_online: true,
        });
        // `total_generation` changes the identity of totals, because sums over different processors must not be subtracted.
        self.instances = in_both_orders(&online.collect::<Vec<_>>(), &self.topology, self.total_generation);
        // The values already read at this timestamp belong to the previous members.
        self.read_at = [None; SOURCES];
    }
}

/// Reads a source for every processor; returns the first error.
fn read_members(
    members: &mut [Member],
    source: Source,
    mut read: impl FnMut(&mut Member) -> Result<(), String>,
) -> Option<String> {
    let mut first = None;
    for member in members {
        let outcome = read(member);
        member.is_good[source as usize] = outcome.is_ok();
        if let Err(reason) = outcome {
            first.get_or_insert(reason);
        }
    }
    first
}

impl Reading for Processors {
    fn read(&mut self, at: Timestamps) -> Result<(), Failure> {
        let Self { stat, times, roots, .. } = self;
        let has_changed = stat.at(at, |stat| times.update(stat.processors(), roots))?;
        if has_changed {
            self.rebuild();
        }
        Ok(())
    }
}
