//! What is known of all processors at one moment, read as far as it is asked for.

use std::ops::Range;
use std::sync::Arc;

use tachograph_perflib::{Failure, Moments, Row, Rows};

use super::columns::ColumnSums;
use super::frequency::Frequency;
use super::idle_states::{CLASSES, IdleStates};
use super::instances::{self, Order, ProcessorInstance, in_both_orders};
use super::outputs::{ORIGINS, OUTPUTS, Origin, Output, SLOTS, Slot};
use super::times::{Processor, ProcessorTimes};
use super::topology::Topology;
use crate::Roots;
use crate::shared::{Reading, Shared};
use crate::stat::Stat;

/// The processors of this machine.
#[derive(Debug)]
pub(super) struct Processors {
    roots: Roots,
    stat: Shared<Stat>,
    times: ProcessorTimes,
    topology: Topology,
    interrupts: ColumnSums,
    softirqs: ColumnSums,
    round: u32,
    /// By node and number.
    members: Vec<Member>,
    /// By order.
    instances: [Vec<ProcessorInstance>; 2],
    /// By origin: when it was read.
    read_at: [Option<Moments>; ORIGINS],
    /// By origin: why it could not be read.
    reasons: [Option<Arc<str>>; ORIGINS],
}

#[derive(Debug)]
struct Member {
    number: u32,
    /// Its place in the order of `/proc/stat`.
    place: usize,
    idle_states: IdleStates,
    frequency: Frequency,
    values: [u64; SLOTS],
    is_good: [bool; ORIGINS],
}

/// Which counters this machine can give.
pub(super) struct Present([bool; 32]);

impl Present {
    pub(super) fn has(&self, id: u32) -> bool {
        self.0.get(id as usize).copied().unwrap_or_default()
    }
}

impl Processors {
    pub(super) fn new(roots: &Roots, stat: &Shared<Stat>) -> Self {
        Self {
            roots: roots.clone(),
            stat: stat.clone(),
            times: ProcessorTimes::default(),
            topology: Topology::default(),
            interrupts: ColumnSums::new(roots.proc.join("interrupts")),
            softirqs: ColumnSums::new(roots.proc.join("softirqs")),
            round: 0,
            members: Vec::new(),
            instances: [Vec::new(), Vec::new()],
            read_at: [None; ORIGINS],
            reasons: [const { None }; ORIGINS],
        }
    }

    /// What this machine has; `None` if `/proc/stat` names no processor.
    pub(super) fn probe(&mut self, at: Moments) -> Option<Present> {
        if self.members.is_empty() {
            return None;
        }
        let has_interrupts = self.interrupts.read(at).is_ok();
        let has_softirqs = self.softirqs.read(at).is_ok();
        let any = |has: fn(&Member) -> bool| self.members.iter().any(has);
        let class = |class: usize| self.members.iter().any(|member| member.idle_states.has().0[class]);
        let mut present = Present([false; 32]);
        for output in OUTPUTS {
            present.0[output.id as usize] = match output.slot {
                Slot::Idle | Slot::User | Slot::Privileged => true,
                Slot::Dpc | Slot::Interrupt | Slot::Unimportant => true,
                Slot::Interrupts => has_interrupts,
                Slot::Clock => has_interrupts && self.interrupts.has_clock(),
                Slot::Softirqs => has_softirqs,
                Slot::C1Time | Slot::C1Entries => class(0),
                Slot::C2Time | Slot::C2Entries => class(1),
                Slot::C3Time | Slot::C3Entries => class(2),
                Slot::Entries => any(|member| member.idle_states.has().1),
                Slot::Mhz => any(|member| member.frequency.has_current()),
                Slot::PercentOfHighest => any(|member| member.frequency.has_highest()),
                Slot::PercentLimit => any(|member| member.frequency.has_limit()),
                Slot::Performance | Slot::PerformanceTime => any(|member| member.frequency.has_performance()),
            };
        }
        Some(present)
    }

    /// Adds the rows of a set.
    pub(super) fn tell(&mut self, order: Order, rows: &mut Rows) {
        for output in OUTPUTS {
            // Slots of one origin are read together, so that both sets have the same values.
            if rows.wants(output.id) && self.read_at[output.origin as usize] != Some(rows.at()) {
                self.read_at[output.origin as usize] = Some(rows.at());
                self.read_origin(output.origin, rows.at());
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
                    self.set(&mut row, output, members);
                }
            }
        }
    }

    fn set(&self, row: &mut Row<'_>, output: &Output, members: &Range<usize>) {
        let members = &self.members[members.clone()];
        if members.iter().any(|member| !member.is_good[output.origin as usize]) {
            if let Some(reason) = &self.reasons[output.origin as usize] {
                row.fail(output.id, reason);
            }
            return;
        }
        let sum = |slot: Slot| members.iter().map(|member| u128::from(member.values[slot as usize])).sum();
        let count = if output.is_mean { members.len() as u128 } else { 1 };
        let value = |sum: u128| (sum / count).try_into().unwrap_or(u64::MAX);
        match output.base {
            Some(base) => row.set_with_base(output.id, value(sum(output.slot)), value(sum(base))),
            None => row.set(output.id, value(sum(output.slot))),
        }
    }

    fn read_origin(&mut self, origin: Origin, at: Moments) {
        let Self { members, interrupts, softirqs, .. } = self;
        let reason = match origin {
            Origin::Times => return self.take_times(),
            Origin::Interrupts => {
                let outcome = interrupts.read(at).map_err(str::to_owned);
                take(members, origin, |member| {
                    outcome.clone()?;
                    let column = interrupts.of(member.number).ok_or("/proc/interrupts: no such column")?;
                    member.values[Slot::Interrupts as usize] = column.all;
                    member.values[Slot::Clock as usize] = column.clock;
                    Ok(())
                })
            }
            Origin::Softirqs => {
                let outcome = softirqs.read(at).map_err(str::to_owned);
                take(members, origin, |member| {
                    outcome.clone()?;
                    let column = softirqs.of(member.number).ok_or("/proc/softirqs: no such column")?;
                    member.values[Slot::Softirqs as usize] = column.all;
                    Ok(())
                })
            }
            Origin::IdleStates => take(members, origin, |member| {
                let sums = member.idle_states.read()?;
                member.values[Slot::C1Time as usize..][..CLASSES].copy_from_slice(&sums.times);
                member.values[Slot::C1Entries as usize..][..CLASSES].copy_from_slice(&sums.entries);
                member.values[Slot::Entries as usize] = sums.all_entries;
                Ok(())
            }),
            Origin::Frequency => take(members, origin, |member| {
                let khz = member.frequency.current_khz()?;
                member.values[Slot::Mhz as usize] = khz / 1000;
                member.values[Slot::PercentOfHighest as usize] = member.frequency.percent(khz)?;
                Ok(())
            }),
            Origin::Limit => take(members, origin, |member| {
                let khz = member.frequency.limit_khz()?;
                member.values[Slot::PercentLimit as usize] = member.frequency.percent(khz)?;
                Ok(())
            }),
            Origin::Performance => take(members, origin, |member| {
                let performance = member.frequency.performance()?;
                member.values[Slot::Performance as usize] = performance.weighted;
                member.values[Slot::PerformanceTime as usize] = performance.time;
                Ok(())
            }),
        };
        self.keep(origin, reason);
    }

    fn keep(&mut self, origin: Origin, reason: Option<String>) {
        let Some(reason) = reason else { return };
        let kept = &mut self.reasons[origin as usize];
        if kept.as_deref() != Some(reason.as_str()) {
            *kept = Some(reason.into());
        }
    }

    fn take_times(&mut self) {
        let mut is_broken = false;
        for member in &mut self.members {
            let times = self.times.processors().get(member.place).and_then(|processor| processor.times);
            member.is_good[Origin::Times as usize] = times.is_some();
            let Some(times) = times else {
                is_broken = true;
                continue;
            };
            for (slot, value) in [
                (Slot::Idle, times.idle),
                (Slot::User, times.user),
                (Slot::Privileged, times.privileged),
                (Slot::Dpc, times.dpc),
                (Slot::Interrupt, times.interrupt),
                (Slot::Unimportant, times.unimportant),
            ] {
                member.values[slot as usize] = value;
            }
        }
        if is_broken {
            let path = self.roots.proc.join("stat");
            self.keep(Origin::Times, Some(format!("{}: the line of a processor is broken", path.display())));
        }
    }

    /// Looks at the machine anew: which processors there are, where they are, and what files they have.
    fn rebuild(&mut self) {
        self.round = self.round.wrapping_add(1);
        let processors = self.times.processors();
        self.topology.look(&self.roots, processors.iter().map(|processor| processor.number));
        let mut order: Vec<(usize, Processor)> = processors.iter().copied().enumerate().collect();
        order.sort_by_key(|(_, processor)| (self.topology.place(processor.number).0, processor.number));
        let member = |&(place, processor): &(usize, Processor)| Member {
            number: processor.number,
            place,
            idle_states: IdleStates::new(&self.roots, processor.number),
            frequency: Frequency::new(&self.roots, processor.number),
            values: [0; SLOTS],
            is_good: [false; ORIGINS],
        };
        self.members = order.iter().map(member).collect();
        let online = order.into_iter().map(|(_, Processor { number, generation, .. })| instances::Member {
            number,
            generation,
            is_online: true,
        });
        // A total over others is another total.
        self.instances = in_both_orders(&online.collect::<Vec<_>>(), &self.topology, self.round);
        // What was read of this moment belongs to the processors before.
        self.read_at = [None; ORIGINS];
    }
}

/// Reads something of every processor; the first reason for which that failed.
fn take(
    members: &mut [Member],
    origin: Origin,
    mut read: impl FnMut(&mut Member) -> Result<(), String>,
) -> Option<String> {
    let mut first = None;
    for member in members {
        let outcome = read(member);
        member.is_good[origin as usize] = outcome.is_ok();
        if let Err(reason) = outcome {
            first.get_or_insert(reason);
        }
    }
    first
}

impl Reading for Processors {
    fn read(&mut self, at: Moments) -> Result<(), Failure> {
        let Self { stat, times, roots, .. } = self;
        let has_changed = stat.at(at, |stat| times.update(stat.processors(), roots))?;
        if has_changed {
            self.rebuild();
        }
        Ok(())
    }
}
