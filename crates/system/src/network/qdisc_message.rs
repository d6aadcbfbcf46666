//! Messages of the kernel about queueing disciplines (rtnetlink(7), RTM_NEWQDISC).

use std::io;

use crate::netlink::{each_attribute, malformed_answer, read_u32, read_u64};

pub(super) const RTM_NEWQDISC: u16 = 36;
pub(super) const RTM_GETQDISC: u16 = 38;
/// The size of `struct tcmsg`: family, three bytes of padding, interface index, handle, parent, info.
pub(super) const TCMSG_BYTES: usize = 20;
const TCA_KIND: u16 = 1;
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
pub(super) const TC_H_ROOT: u32 = 0xffff_ffff;

/// The location of a queueing discipline, which does not change until it is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Location {
    /// The kernel's interface index.
    pub(super) interface: i32,
    pub(super) handle: u32,
    pub(super) parent: u32,
}

/// The statistics of a queueing discipline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Statistics {
    pub(super) bytes: u64,
    pub(super) packets: u64,
    pub(super) backlog_packets: u32,
    pub(super) backlog_bytes: u32,
    pub(super) drops: u32,
    pub(super) requeues: u32,
    pub(super) overlimits: u32,
}

/// An entry of the kernel's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) location: Location,
    /// The kind, such as `fq_codel`, padded with zeros.
    pub(super) kind: [u8; MAX_KIND],
    /// The current statistics.
    pub(super) current: Statistics,
}

/// The maximum length of a kind (`IFNAMSIZ`).
pub(super) const MAX_KIND: usize = 16;

/// The entry in a message of type RTM_NEWQDISC.
pub(super) fn parse(message: &[u8]) -> io::Result<Entry> {
    let Some((head, attributes)) = message.split_at_checked(TCMSG_BYTES) else {
        return Err(malformed_answer(format_args!("with a queueing discipline of {} bytes", message.len())));
    };
    let number = |at: usize| read_u32(&head[at..]).unwrap_or_default();
    let location = Location { interface: number(4) as i32, handle: number(8), parent: number(12) };
    let mut entry = Entry { location, kind: [0; MAX_KIND], current: Statistics::default() };
    each_attribute(attributes, |kind, value| match kind {
        TCA_KIND => {
            for (byte, read) in entry.kind.iter_mut().zip(value) {
                *byte = *read;
            }
        }
        TCA_STATS2 => each_attribute(value, |kind, value| entry.current.push(kind, value)),
        _ => {}
    });
    Ok(entry)
}

impl Statistics {
    /// Sets the statistics that an attribute contains.
    fn push(&mut self, kind: u16, value: &[u8]) {
        let number = |at: usize| value.get(at..).and_then(read_u32);
        match kind {
            TCA_STATS_BASIC => {
                self.bytes = read_u64(value).unwrap_or_default();
                self.packets = number(8).unwrap_or_default().into();
            }
            TCA_STATS_QUEUE => {
                let [packets, bytes, drops, requeues, overlimits] =
                    [0, 4, 8, 12, 16].map(|at| number(at).unwrap_or_default());
                (self.backlog_packets, self.backlog_bytes) = (packets, bytes);
                (self.drops, self.requeues, self.overlimits) = (drops, requeues, overlimits);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    /// A message with these bytes, packets, queued packets, queued bytes, drops, requeues and overlimits.
    pub(in crate::network) fn message(location: Location, kind: &str, numbers: [u32; 7]) -> Vec<u8> {
        let [bytes, packets, queue @ ..] = numbers;
        let mut basic = u64::from(bytes).to_ne_bytes().to_vec();
        basic.extend(packets.to_ne_bytes());
        basic.extend([0; 4]);
        let queue: Vec<u8> = queue.iter().flat_map(|number| number.to_ne_bytes()).collect();
        let stats = [attribute(TCA_STATS_BASIC, &basic), attribute(TCA_STATS_QUEUE, &queue)].concat();
        let mut message = vec![0; 4];
        for number in [location.interface as u32, location.handle, location.parent, 1] {
            message.extend(number.to_ne_bytes());
        }
        message.extend(attribute(TCA_KIND, format!("{kind}\0").as_bytes()));
        message.extend(attribute(2, &[1, 2, 3]));
        message.extend(attribute(TCA_STATS2 | 0x8000, &stats));
        message
    }

    #[test]
    fn malformed_messages_cause_no_panic() {
        let root = Location { interface: 2, handle: 0x1_0000, parent: TC_H_ROOT };
        let whole = message(root, "htb", [1000, 10, 1, 60, 7, 8, 9]);
        for length in 0..whole.len() {
            let entry = parse(&whole[..length]);
            assert_eq!(entry.is_err(), length < TCMSG_BYTES, "{length}");
        }
        for bit in 0..whole.len() * 8 {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(parse(&flipped).is_ok());
        }
    }
}
