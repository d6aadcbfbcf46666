//! Files in `/proc/net` that contain names and numbers: `snmp`, `netstat`, `snmp6`, `sockstat`, `sockstat6`.

use std::path::PathBuf;

use tachograph_perflib::{Failure, Reading, SharedReading, Timestamps};

use crate::open_file::OpenFile;
use crate::ordered::split_complete_lines;
use crate::roots::Roots;
use crate::scan::{lines, parse_number, words};

/// The format of a file.
#[derive(Clone, Copy, Debug)]
enum Layout {
    /// `Tcp: InSegs OutSegs`, then `Tcp: 1 2`.
    TwoLines,
    /// `Udp6InDatagrams 1`.
    NameValue,
    /// `TCP: inuse 1 orphan 0`.
    InLine,
}

/// The files, as paths below `/proc`, and their formats.
const FILES: &[(&str, Layout)] = &[
    ("net/snmp", Layout::TwoLines),
    ("net/netstat", Layout::TwoLines),
    ("net/snmp6", Layout::NameValue),
    ("net/sockstat", Layout::InLine),
    ("net/sockstat6", Layout::InLine),
];

/// The files, shared by all sets.
pub(super) struct Files {
    files: Vec<SharedReading<Counts>>,
    pub(super) page_bytes: u64,
}

/// The location of a number: the indexes of the file and of the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) file: usize,
    pub(super) entry: usize,
}

impl Files {
    pub(super) fn new(roots: &Roots) -> Self {
        let make =
            |(path, layout): &(&str, Layout)| SharedReading::new(Counts::new(roots.proc.join(path), *layout));
        Self { files: FILES.iter().map(make).collect(), page_bytes: roots.page_bytes }
    }

    pub(super) fn all(&self) -> Vec<SharedReading<Counts>> {
        self.files.clone()
    }

    /// The location of a number, such as `net/snmp: Tcp InSegs`; `None` if this machine does not have it.
    pub(super) fn locate(&self, source: &str) -> Option<Location> {
        let (path, name) = source.split_once(": ")?;
        let (group, name) = name.split_once(' ').unwrap_or(("", name));
        let file = FILES.iter().position(|(known, _)| *known == path)?;
        // No sample has these timestamps, so they do not cause the next read to be skipped.
        let entry =
            self.files[file].at(Timestamps::default(), |counts| counts.locate(group, name)).ok()??;
        Some(Location { file, entry })
    }
}

/// The numbers of one file at one moment.
#[derive(Debug)]
pub(super) struct Counts {
    file: OpenFile,
    layout: Layout,
    entries: Vec<Entry>,
    /// The indexes of the entries in file order.
    order: Vec<usize>,
}

/// A named number.
#[derive(Debug)]
struct Entry {
    /// The name of the group of numbers, such as `Tcp`; empty in files without groups.
    group: Box<[u8]>,
    name: Box<[u8]>,
    /// The number at the last read.
    value: Option<u64>,
}

/// The maximum number of names; further names are ignored.
const MAX_ENTRIES: usize = 4096;

impl Counts {
    fn new(path: PathBuf, layout: Layout) -> Self {
        Self { file: OpenFile::new(path), layout, entries: Vec::new(), order: Vec::new() }
    }

    fn locate(&self, group: &str, name: &str) -> Option<usize> {
        let is_wanted = |entry: &Entry| *entry.group == *group.as_bytes() && *entry.name == *name.as_bytes();
        self.entries.iter().position(is_wanted)
    }

    /// The number of an entry; `None` if the file does not have it.
    pub(super) fn value(&self, entry: usize) -> Option<u64> {
        self.entries.get(entry)?.value
    }
}

impl Reading for Counts {
    fn read(&mut self, _at: Timestamps) -> Result<(), Failure> {
        let text = self.file.read_or_fail()?;
        self.entries.iter_mut().for_each(|entry| entry.value = None);
        let mut next = 0;
        let (entries, order) = (&mut self.entries, &mut self.order);
        let mut store = |group: &[u8], name: &[u8], value: &[u8]| {
            let is_wanted = |entry: &Entry| *entry.name == *name && *entry.group == *group;
            let known = order.get(next).copied().filter(|&entry| is_wanted(&entries[entry]));
            let entry = match known.or_else(|| entries.iter().position(is_wanted)) {
                Some(entry) => entry,
                None if entries.len() < MAX_ENTRIES => {
                    entries.push(Entry { group: group.into(), name: name.into(), value: None });
                    entries.len() - 1
                }
                None => return,
            };
            match order.get_mut(next) {
                Some(place) => *place = entry,
                None => order.push(entry),
            }
            entries[entry].value = parse_number(value);
            next += 1;
        };
        let mut all = lines(split_complete_lines(text).0);
        match self.layout {
            Layout::NameValue => all.for_each(|line| {
                let mut words = words(line);
                if let (Some(name), Some(value)) = (words.next(), words.next()) {
                    store(b"", name, value);
                }
            }),
            Layout::InLine => all.for_each(|line| {
                let Some((group, rest)) = split_at_colon(line) else { return };
                let mut words = words(rest);
                while let (Some(name), Some(value)) = (words.next(), words.next()) {
                    store(group, name, value);
                }
            }),
            Layout::TwoLines => {
                while let (Some(names), Some(values)) = (all.next(), all.next()) {
                    let (Some((group, names)), Some((same, values))) =
                        (split_at_colon(names), split_at_colon(values))
                    else {
                        break;
                    };
                    // The line of names and the line of numbers do not match, so the rest is ignored.
                    if group != same {
                        break;
                    }
                    words(names).zip(words(values)).for_each(|(name, value)| store(group, name, value));
                }
            }
        }
        Ok(())
    }
}

/// Splits at the first colon.
fn split_at_colon(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|&byte| byte == b':')?;
    Some((&line[..colon], &line[colon + 1..]))
}
