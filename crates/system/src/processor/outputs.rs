//! From what is read of each processor to the rows of a set.

use std::ops::Range;
use std::sync::Arc;

use tachograph_perflib::InstanceKey;

use super::times::Processor;
use super::topology::Topology;

/// Something that is read of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Slot {
    Idle,
    User,
    Privileged,
    Dpc,
    Interrupt,
    Unimportant,
    Interrupts,
    Clock,
    Softirqs,
    C1Time,
    C2Time,
    C3Time,
    C1Entries,
    C2Entries,
    C3Entries,
    Entries,
    Mhz,
    PercentOfHighest,
    PercentLimit,
    Performance,
    PerformanceTime,
}

/// How many slots there are.
pub(super) const SLOTS: usize = Slot::PerformanceTime as usize + 1;

/// The files that slots are read from: what fails together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Origin {
    Times,
    Interrupts,
    Softirqs,
    IdleStates,
    Frequency,
    Limit,
    Performance,
}

/// How many origins there are.
pub(super) const ORIGINS: usize = Origin::Performance as usize + 1;

/// A counter and what it is made from.
pub(super) struct Output {
    pub(super) id: u32,
    pub(super) origin: Origin,
    pub(super) slot: Slot,
    pub(super) base: Option<Slot>,
    /// A total is the mean of its processors, not the sum.
    pub(super) is_mean: bool,
}

const fn mean(id: u32, origin: Origin, slot: Slot) -> Output {
    Output { id, origin, slot, base: None, is_mean: true }
}

const fn sum(id: u32, origin: Origin, slot: Slot) -> Output {
    Output { id, origin, slot, base: None, is_mean: false }
}

/// All counters of both sets; they share their ids.
pub(super) const OUTPUTS: &[Output] = &[
    mean(0, Origin::Times, Slot::Idle),
    mean(1, Origin::Times, Slot::User),
    mean(2, Origin::Times, Slot::Privileged),
    sum(3, Origin::Interrupts, Slot::Interrupts),
    mean(4, Origin::Times, Slot::Dpc),
    mean(5, Origin::Times, Slot::Interrupt),
    sum(6, Origin::Softirqs, Slot::Softirqs),
    mean(8, Origin::Times, Slot::Idle),
    mean(9, Origin::IdleStates, Slot::C1Time),
    mean(10, Origin::IdleStates, Slot::C2Time),
    mean(11, Origin::IdleStates, Slot::C3Time),
    sum(12, Origin::IdleStates, Slot::C1Entries),
    sum(13, Origin::IdleStates, Slot::C2Entries),
    sum(14, Origin::IdleStates, Slot::C3Entries),
    mean(15, Origin::Times, Slot::Unimportant),
    mean(17, Origin::Frequency, Slot::Mhz),
    mean(18, Origin::Frequency, Slot::PercentOfHighest),
    sum(20, Origin::Interrupts, Slot::Clock),
    sum(23, Origin::IdleStates, Slot::Entries),
    Output {
        id: 24,
        origin: Origin::Performance,
        slot: Slot::Performance,
        base: Some(Slot::PerformanceTime),
        is_mean: false,
    },
    mean(30, Origin::Limit, Slot::PercentLimit),
];

/// The order and the names of a set's instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// `_Total`, then for each node `node,_Total` and `node,index`.
    ByNode,
    /// `0`, `1`, ..., `_Total`.
    ByNumber,
}

/// A row: an instance and the places of the processors that it stands for.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) key: Arc<InstanceKey>,
    pub(super) members: Range<usize>,
}

/// Ids of totals, which processors do not reach; that of a node has its number added.
const NODE_TOTAL: u32 = 0x4000_0000;
const TOTAL: u32 = 0x7FFF_FFFF;

/// The lines of both sets. `members` are the processors, by node and number; `round` counts how often they changed: a
/// total over others is another total.
pub(super) fn lines(members: &[Processor], topology: &Topology, round: u32) -> [Vec<Line>; 2] {
    let identity = |id: u32, generation: u32| u64::from(id) << 32 | u64::from(generation);
    let total = |name: String, id: u32, members: Range<usize>| Line {
        key: Arc::new(InstanceKey::new(name, id, identity(id, round))),
        members,
    };
    let one = |name: String, place: usize| {
        let Processor { number, generation, .. } = members[place];
        let key = Arc::new(InstanceKey::new(name, number, identity(number, generation)));
        Line { key, members: place..place + 1 }
    };

    let mut by_node = vec![total("_Total".into(), TOTAL, 0..members.len())];
    let mut start = 0;
    while start < members.len() {
        let (node, _) = topology.place(members[start].number);
        let is_here = |processor: &&Processor| topology.place(processor.number).0 == node;
        let end = start + members[start..].iter().take_while(is_here).count();
        by_node.push(total(format!("{node},_Total"), NODE_TOTAL.wrapping_add(node), start..end));
        by_node.extend((start..end).map(|place| {
            let (_, index) = topology.place(members[place].number);
            one(format!("{node},{index}"), place)
        }));
        start = end;
    }

    let mut by_number: Vec<_> =
        (0..members.len()).map(|place| one(members[place].number.to_string(), place)).collect();
    by_number.sort_by_key(|line| line.key.id());
    by_number.push(total("_Total".into(), TOTAL, 0..members.len()));
    [by_node, by_number]
}
