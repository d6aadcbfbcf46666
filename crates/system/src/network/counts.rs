//! Files of `/proc/net` that hold numbers under names: `snmp`, `netstat`, `snmp6`, `sockstat`, `sockstat6`.

use std::path::PathBuf;

use tachograph_perflib::{ErrorCode, Failure, Moments};

use crate::Roots;
use crate::file::KeptFile;
use crate::ordered::finished;
use crate::scan::{lines, number, words};
use crate::shared::{Reading, Shared};

/// How a file is laid out.
#[derive(Clone, Copy, Debug)]
enum Layout {
    /// `Tcp: InSegs OutSegs`, and below `Tcp: 1 2`.
    TwoLines,
    /// `Udp6InDatagrams 1`.
    NameValue,
    /// `TCP: inuse 1 orphan 0`.
    InLine,
}

/// All that there are, by their path below `/proc`.
const FILES: &[(&str, Layout)] = &[
    ("net/snmp", Layout::TwoLines),
    ("net/netstat", Layout::TwoLines),
    ("net/snmp6", Layout::NameValue),
    ("net/sockstat", Layout::InLine),
    ("net/sockstat6", Layout::InLine),
];

/// The files, to be shared by all sets.
pub(super) struct Files {
    files: Vec<Shared<Counts>>,
    pub(super) page_bytes: u64,
}

/// A number's place: file and slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: usize,
    pub(super) slot: usize,
}

impl Files {
    pub(super) fn new(roots: &Roots) -> Self {
        let make = |(path, layout): &(&str, Layout)| Shared::new(Counts::new(roots.proc.join(path), *layout));
        Self { files: FILES.iter().map(make).collect(), page_bytes: roots.page_bytes }
    }

    pub(super) fn all(&self) -> Vec<Shared<Counts>> {
        self.files.clone()
    }

    /// The place of a number, such as `net/snmp: Tcp InSegs`; `None` where this machine does not have it.
    pub(super) fn place(&self, source: &str) -> Option<Place> {
        let (path, name) = source.split_once(": ")?;
        let (group, name) = name.split_once(' ').unwrap_or(("", name));
        let file = FILES.iter().position(|(known, _)| *known == path)?;
        // A moment that never comes again: later readings are others.
        let slot = self.files[file].at(Moments::default(), |counts| counts.place(group, name)).ok()??;
        Some(Place { file, slot })
    }
}

/// The numbers of one file at one moment.
#[derive(Debug)]
pub(super) struct Counts {
    path: PathBuf,
    file: KeptFile,
    layout: Layout,
    slots: Vec<Slot>,
    /// By place in the file: the slot.
    order: Vec<usize>,
}

#[derive(Debug)]
struct Slot {
    group: Box<[u8]>,
    name: Box<[u8]>,
    value: Option<u64>,
}

/// More names than any kernel has; what a file holds beyond is not told.
const MOST_SLOTS: usize = 4096;

impl Counts {
    fn new(path: PathBuf, layout: Layout) -> Self {
        Self { file: KeptFile::new(&path), path, layout, slots: Vec::new(), order: Vec::new() }
    }

    fn place(&self, group: &str, name: &str) -> Option<usize> {
        let is = |slot: &Slot| *slot.group == *group.as_bytes() && *slot.name == *name.as_bytes();
        self.slots.iter().position(is)
    }

    /// The number of a slot; `None` where the file does not have it now.
    pub(super) fn value(&self, slot: usize) -> Option<u64> {
        self.slots.get(slot)?.value
    }
}

impl Reading for Counts {
    fn read(&mut self, _at: Moments) -> Result<(), Failure> {
        let text = self
            .file
            .read()
            .map_err(|error| Failure::new(ErrorCode::NO_DATA, format!("{}: {error}", self.path.display())))?;
        self.slots.iter_mut().for_each(|slot| slot.value = None);
        let mut next = 0;
        let (slots, order) = (&mut self.slots, &mut self.order);
        let mut take = |group: &[u8], name: &[u8], value: &[u8]| {
            let is = |slot: &Slot| *slot.name == *name && *slot.group == *group;
            let known = order.get(next).copied().filter(|&slot| is(&slots[slot]));
            let slot = match known.or_else(|| slots.iter().position(is)) {
                Some(slot) => slot,
                None if slots.len() < MOST_SLOTS => {
                    slots.push(Slot { group: group.into(), name: name.into(), value: None });
                    slots.len() - 1
                }
                None => return,
            };
            match order.get_mut(next) {
                Some(place) => *place = slot,
                None => order.push(slot),
            }
            slots[slot].value = number(value);
            next += 1;
        };
        let mut all = lines(finished(text).0);
        match self.layout {
            Layout::NameValue => all.for_each(|line| {
                let mut words = words(line);
                if let (Some(name), Some(value)) = (words.next(), words.next()) {
                    take(b"", name, value);
                }
            }),
            Layout::InLine => all.for_each(|line| {
                let Some((group, rest)) = grouped(line) else { return };
                let mut words = words(rest);
                while let (Some(name), Some(value)) = (words.next(), words.next()) {
                    take(group, name, value);
                }
            }),
            Layout::TwoLines => {
                while let (Some(names), Some(values)) = (all.next(), all.next()) {
                    let (Some((group, names)), Some((same, values))) = (grouped(names), grouped(values))
                    else {
                        break;
                    };
                    // Out of step: nothing after this is what it seems to be.
                    if group != same {
                        break;
                    }
                    words(names).zip(words(values)).for_each(|(name, value)| take(group, name, value));
                }
            }
        }
        Ok(())
    }
}

/// What is before the first colon, and what comes after it.
fn grouped(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|&byte| byte == b':')?;
    Some((&line[..colon], &line[colon + 1..]))
}
