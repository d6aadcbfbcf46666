//! Network interfaces, protocols, sockets, tracked connections, neighbors, bonds and queueing disciplines.

mod bonding;
mod connections;
mod counts;
mod diagnostics;
mod icmp;
mod interface;
mod interface_table;
mod interfaces;
mod ip;
mod named;
mod nodes;
mod per_processor;
mod qdisc;
mod qdisc_message;
mod socket;
mod speed;
mod tcp;
mod udp;

#[cfg(test)]
mod tests;

use tachograph_perflib::Provider;

use crate::roots::Roots;
use crate::table::SetTable;
use counts::Files;
use named::{NamedSet, provider};

/// The tables of these sets.
pub(crate) const TABLES: &[&SetTable] = &[
    &interface_table::TABLE,
    &tcp::TABLE_V4,
    &tcp::TABLE_V6,
    &udp::TABLE_V4,
    &udp::TABLE_V6,
    &ip::TABLE_V4,
    &ip::TABLE_V6,
    &icmp::TABLE_V4,
    &icmp::TABLE_V6,
    &socket::TABLE,
    &per_processor::CONNECTION_TRACKING,
    &per_processor::NEIGHBOR_CACHE,
    &bonding::TABLE,
    &qdisc::TABLE,
];

/// The sets whose counters are numbers that are found by name in files such as `/proc/net/snmp`.
const NAMED: &[NamedSet] = &[
    NamedSet { table: &tcp::TABLE_V4, sources: tcp::COUNTS_V4 },
    NamedSet { table: &udp::TABLE_V4, sources: udp::COUNTS_V4 },
    NamedSet { table: &udp::TABLE_V6, sources: udp::COUNTS_V6 },
    NamedSet { table: &ip::TABLE_V4, sources: ip::COUNTS_V4 },
    NamedSet { table: &ip::TABLE_V6, sources: ip::COUNTS_V6 },
    NamedSet { table: &icmp::TABLE_V4, sources: icmp::COUNTS_V4 },
    NamedSet { table: &icmp::TABLE_V6, sources: icmp::COUNTS_V6 },
    NamedSet { table: &socket::TABLE, sources: socket::COUNTS },
];

/// The providers of the sets that this machine has.
pub(crate) fn providers(roots: &Roots) -> Vec<Box<dyn Provider>> {
    let mut providers: Vec<Box<dyn Provider>> = Vec::new();
    let files = Files::new(roots);
    if let Some(interfaces) = interfaces::NetworkInterface::new(roots) {
        providers.push(Box::new(interfaces));
    }
    providers.extend(NAMED.iter().filter_map(|set| provider(set, &files)));
    if let Some(connections) = connections::ConnectionsV6::new(roots, &files) {
        providers.push(Box::new(connections));
    }
    providers.extend(per_processor::providers(roots));
    providers.extend(bonding::provider(roots));
    providers.extend(qdisc::provider(roots));
    providers
}
