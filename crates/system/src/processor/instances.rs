//! Names and order of the instances of sets that tell of processors.

use std::ops::Range;
use std::sync::Arc;

use tachograph_perflib::InstanceKey;

use super::topology::Topology;
use crate::Roots;

/// The order and the names of a set's instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// `_Total`, then for each node `node,_Total` and `node,index`.
    ByNode,
    /// `0`, `1`, ..., `_Total`.
    ByNumber,
}

/// An instance of a set that tells of processors: one of them, or the total of several.
#[derive(Clone, Debug)]
pub struct ProcessorInstance {
    /// Its name and id.
    pub key: Arc<InstanceKey>,
    /// The places of the processors that it stands for, in the list of those that the instances were made of.
    pub members: Range<usize>,
}

/// A processor that instances are made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) number: u32,
    /// How often its counts have begun anew.
    pub(super) generation: u32,
    /// Whether it has an instance of its own, beside being part of totals.
    pub(super) is_online: bool,
}

/// Ids of totals, which processors do not reach; that of a node has its number added.
const NODE_TOTAL: u32 = 0x4000_0000;
const TOTAL: u32 = 0x7FFF_FFFF;

/// The instances in both orders. `members` are the processors, by node and number; `round` counts how often totals have
/// become others.
pub(super) fn in_both_orders(
    members: &[Member],
    topology: &Topology,
    round: u32,
) -> [Vec<ProcessorInstance>; 2] {
    [by_node(members, topology, round), by_number(members, round)]
}

fn by_node(members: &[Member], topology: &Topology, round: u32) -> Vec<ProcessorInstance> {
    let mut instances = vec![total("_Total".into(), TOTAL, 0..members.len(), round)];
    let mut start = 0;
    while start < members.len() {
        let (node, _) = topology.place(members[start].number);
        let is_here = |member: &&Member| topology.place(member.number).0 == node;
        let end = start + members[start..].iter().take_while(is_here).count();
        if members[start..end].iter().any(|member| member.is_online) {
            let id = NODE_TOTAL.wrapping_add(node);
            instances.push(total(format!("{node},_Total"), id, start..end, round));
        }
        instances.extend((start..end).filter(|&place| members[place].is_online).map(|place| {
            let (_, index) = topology.place(members[place].number);
            one(format!("{node},{index}"), members, place)
        }));
        start = end;
    }
    instances
}

fn by_number(members: &[Member], round: u32) -> Vec<ProcessorInstance> {
    let online = (0..members.len()).filter(|&place| members[place].is_online);
    let mut instances: Vec<_> =
        online.map(|place| one(members[place].number.to_string(), members, place)).collect();
    instances.sort_by_key(|instance| instance.key.id());
    instances.push(total("_Total".into(), TOTAL, 0..members.len(), round));
    instances
}

fn one(name: String, members: &[Member], place: usize) -> ProcessorInstance {
    let Member { number, generation, .. } = members[place];
    let key = Arc::new(InstanceKey::new(name, number, identity(number, generation)));
    ProcessorInstance { key, members: place..place + 1 }
}

fn total(name: String, id: u32, members: Range<usize>, round: u32) -> ProcessorInstance {
    ProcessorInstance { key: Arc::new(InstanceKey::new(name, id, identity(id, round)).reserved()), members }
}

fn identity(id: u32, generation: u32) -> u64 {
    u64::from(id) << 32 | u64::from(generation)
}

/// The instances of a set that tells of processors as `Processor Information` does: `_Total`, then for each NUMA node with
/// processors `node,_Total` and `node,index`.
///
/// For sets whose values never begin anew: a processor that went offline has no instance, stays part of its totals, and is
/// the same instance when it comes back.
#[derive(Debug, Default)]
pub struct ProcessorInstances {
    topology: Topology,
    online: Vec<u32>,
    processors: Vec<u32>,
    instances: Vec<ProcessorInstance>,
}

impl ProcessorInstances {
    /// Takes the processors that are online now, their numbers rising. Where they are the same as before, nothing is done.
    pub fn update(&mut self, roots: &Roots, online: &[u32]) {
        if self.online == online && !self.instances.is_empty() {
            return;
        }
        self.online.clear();
        self.online.extend_from_slice(online);
        self.topology.look(roots, online.iter().copied());
        for number in online {
            if !self.processors.contains(number) {
                self.processors.push(*number);
            }
        }
        self.processors.sort_by_key(|&number| (self.topology.place(number).0, number));
        let member = |&number: &u32| Member {
            number,
            generation: 0,
            is_online: self.online.binary_search(&number).is_ok(),
        };
        let members: Vec<Member> = self.processors.iter().map(member).collect();
        self.instances = by_node(&members, &self.topology, 0);
    }

    /// The instances that there are now, in order.
    pub fn instances(&self) -> &[ProcessorInstance] {
        &self.instances
    }

    /// The numbers of all processors that were ever online, by node and number: what the instances were made of.
    pub fn processors(&self) -> &[u32] {
        &self.processors
    }
}
