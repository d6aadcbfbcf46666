//! Chooses the events for a machine.

use crate::event::{Event, Excluded, HARDWARE};
use crate::group::Plan;
use crate::instance::Events;
use crate::kernel::{CoreUnit, Kernel};

/// The events for a machine: one plan per kind of core.
#[derive(Debug)]
pub(crate) struct Plans {
    /// The units, if there are several kinds of cores.
    units: Vec<CoreUnit>,
    events: Events,
    /// The time stamp counter, as an event of a thread (x86).
    tsc: Option<Event>,
    /// Events for a processor's unhalted reference cycles, in order of preference.
    unhalted: Vec<Event>,
}

impl Plans {
    pub(crate) fn new(kernel: &dyn Kernel, events: Events) -> Self {
        let mut units = kernel.core_units();
        if units.len() < 2 || events == Events::Software {
            units.clear();
        }
        let msr = |name| kernel.msr_event(name).map(|(kind, config)| Event::for_unit(name, kind, config));
        let mut unhalted = Vec::new();
        if kernel.clock_counts_cycles() && events == Events::Hardware {
            unhalted.extend(msr("mperf"));
            unhalted.push(Event::REFERENCE_CYCLES);
        }
        let tsc = if kernel.clock_counts_cycles() && events == Events::Hardware { msr("tsc") } else { None };
        Self { units, events, tsc, unhalted }
    }

    /// The number of files per processor.
    pub(crate) fn files_each(&self) -> usize {
        if self.unhalted.is_empty() { 2 } else { 3 }
    }

    /// The events that are counted on a thread: cycles and instructions, or their substitutes.
    fn pair(&self) -> (Event, Event) {
        match self.events {
            Events::Hardware => (Event::CYCLES, Event::INSTRUCTIONS),
            Events::Software => (Event::TASK_CLOCK, Event::PAGE_FAULTS),
        }
    }

    /// The plans for a thread: one per kind of core, since an event counts on one kind only.
    pub(crate) fn for_thread(&self, change: impl Fn(Event) -> Event) -> Vec<Plan> {
        let (cycles, instructions) = self.pair();
        let plan = |unit: Option<&CoreUnit>| {
            let on = |event: Event| change(unit.map_or(event, |unit| event.on_unit(unit.kind)));
            Plan {
                cycles: on(cycles),
                instructions: on(instructions),
                reference_cycles: self.tsc.map(&change),
                user_reads: unit.is_none() && !change(cycles).inherit && self.events == Events::Hardware,
            }
        };
        match self.units.as_slice() {
            [] => vec![plan(None)],
            units => units.iter().map(|unit| plan(Some(unit))).collect(),
        }
    }

    /// The plans for a processor, the most informative first. If the event for reference cycles is refused or does not fit into
    /// the group, the next plan is tried.
    pub(crate) fn for_processor(&self, id: u32, excluded: Excluded) -> Vec<Plan> {
        let (cycles, instructions) = match self.events {
            Events::Hardware => (Event::CYCLES, Event::INSTRUCTIONS),
            Events::Software => (Event::CPU_CLOCK, Event::PAGE_FAULTS),
        };
        let unit = self.units.iter().find(|unit| unit.processors.contains(&id));
        let on = |event: Event| unit.map_or(event, |unit| event.on_unit(unit.kind));
        let plan = |reference_cycles: Option<Event>| Plan {
            cycles: on(cycles),
            instructions: on(instructions),
            reference_cycles,
            user_reads: false,
        };
        // Unhalted cycles of user code alone are not busy time.
        let is_usable = |event: &&Event| excluded == Excluded::Nothing || event.kind != HARDWARE;
        let unhalted = self.unhalted.iter().filter(is_usable).copied();
        let on_its_unit = |event: Event| if event.kind == HARDWARE { on(event) } else { event };
        let mut plans: Vec<Plan> =
            unhalted.map(|event| plan(Some(on_its_unit(event)))).chain([plan(None)]).collect();
        if unit.is_some() {
            // Kernels before 5.14 do not support units in generic events; they choose the processor's own unit.
            plans.push(Plan { cycles, instructions, reference_cycles: None, user_reads: false });
        }
        plans
    }
}
