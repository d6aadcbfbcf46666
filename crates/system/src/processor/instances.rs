//! The names and the order of the instances of processor sets.

use std::ops::Range;
use std::sync::Arc;

use tachograph_perflib::InstanceKey;

use super::topology::Topology;
use crate::roots::Roots;

/// The order and the names of a set's instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// `_Total`, then `node,_Total` and `node,index` for each node.
    ByNode,
    /// `0`, `1`, ..., `_Total`.
    ById,
}

/// An instance of a processor set: one processor, or the total of several.
#[derive(Clone, Debug)]
pub struct ProcessorInstance {
    /// The name and id.
    pub key: Arc<InstanceKey>,
    /// The indexes of this instance's processors in the list from which the instances were created.
    pub members: Range<usize>,
}

/// A processor, which has an instance while it is online.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) id: u32,
    /// How many times the processor's counts have restarted.
    pub(super) generation: u32,
    /// Whether the processor has an instance of its own. Totals include it in any case.
    pub(super) is_online: bool,
}

/// Ids of totals, which are above the ids of processors. The total of a node has `NODE_TOTAL` plus the node's id.
const NODE_TOTAL: u32 = 0x4000_0000;
const TOTAL: u32 = 0x7FFF_FFFF;

/// The instances in both orders. `members` are the processors, sorted by node and id. `total_generation`
/// is part of the identity of totals; it must change whenever the members of totals change.
pub(super) fn in_both_orders(
    members: &[Member],
    topology: &Topology,
    total_generation: u32,
) -> [Vec<ProcessorInstance>; 2] {
    [by_node(members, topology, total_generation), by_id(members, total_generation)]
}

fn by_node(members: &[Member], topology: &Topology, total_generation: u32) -> Vec<ProcessorInstance> {
    let mut instances = vec![total_instance("_Total".into(), TOTAL, 0..members.len(), total_generation)];
    let mut start = 0;
    while start < members.len() {
        let (node, _) = topology.position(members[start].id);
        let is_in_node = |member: &&Member| topology.position(member.id).0 == node;
        let end = start + members[start..].iter().take_while(is_in_node).count();
        if members[start..end].iter().any(|member| member.is_online) {
            let id = NODE_TOTAL.wrapping_add(node);
            instances.push(total_instance(format!("{node},_Total"), id, start..end, total_generation));
        }
        instances.extend((start..end).filter(|&index| members[index].is_online).map(|index| {
            let (_, node_index) = topology.position(members[index].id);
            processor_instance(format!("{node},{node_index}"), members, index)
        }));
        start = end;
    }
    instances
}

fn by_id(members: &[Member], total_generation: u32) -> Vec<ProcessorInstance> {
    let online = (0..members.len()).filter(|&index| members[index].is_online);
    let mut instances: Vec<_> =
        online.map(|index| processor_instance(members[index].id.to_string(), members, index)).collect();
    instances.sort_by_key(|instance| instance.key.id());
    instances.push(total_instance("_Total".into(), TOTAL, 0..members.len(), total_generation));
    instances
}

fn processor_instance(name: String, members: &[Member], index: usize) -> ProcessorInstance {
    let Member { id, generation, .. } = members[index];
    let key = Arc::new(InstanceKey::new(name, id, identity(id, generation)));
    ProcessorInstance { key, members: index..index + 1 }
}

fn total_instance(name: String, id: u32, members: Range<usize>, total_generation: u32) -> ProcessorInstance {
    ProcessorInstance {
        key: Arc::new(InstanceKey::new(name, id, identity(id, total_generation)).reserved()),
        members,
    }
}

fn identity(id: u32, generation: u32) -> u64 {
    u64::from(id) << 32 | u64::from(generation)
}

/// Instances named as in `Processor Information`: `_Total`, then `node,_Total` and `node,index` for each NUMA node that has
/// processors.
///
/// Intended for sets that keep the values of a processor while it is offline. An offline processor has no instance, but
/// totals still include it. When it is online again, it has the same instance as before.
#[derive(Debug, Default)]
pub struct ProcessorInstances {
    topology: Topology,
    online: Vec<u32>,
    processors: Vec<u32>,
    instances: Vec<ProcessorInstance>,
}

impl ProcessorInstances {
    /// Updates the instances. `online` is the sorted list of the ids of the online processors. Does nothing if the list is
    /// unchanged.
    pub fn update(&mut self, roots: &Roots, online: &[u32]) {
        if self.online == online && !self.instances.is_empty() {
            return;
        }
        self.online.clear();
        self.online.extend_from_slice(online);
        self.topology.update(roots, online.iter().copied());
        for id in online {
            if !self.processors.contains(id) {
                self.processors.push(*id);
            }
        }
        self.processors.sort_by_key(|&id| (self.topology.position(id).0, id));
        let member =
            |&id: &u32| Member { id, generation: 0, is_online: self.online.binary_search(&id).is_ok() };
        let members: Vec<Member> = self.processors.iter().map(member).collect();
        self.instances = by_node(&members, &self.topology, 0);
    }

    /// The current instances, in order.
    pub fn instances(&self) -> &[ProcessorInstance] {
        &self.instances
    }

    /// The ids of all processors that were ever online, by node and id. [`ProcessorInstance::members`] indexes this
    /// list.
    pub fn processors(&self) -> &[u32] {
        &self.processors
    }
}
