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

    /// A number, such as `net/sockstat6: TCP6 inuse`; `None` if this machine does not have it.
    pub(super) fn number(&self, source: &str) -> Option<SharedNumber> {
        let location = self.locate(source)?;
        Some(SharedNumber { file: self.files.get(location.file)?.clone(), entry: location.entry })
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

/// A number in a file that sets share.
pub(super) struct SharedNumber {
    file: SharedReading<Counts>,
    entry: usize,
}

impl SharedNumber {
    /// The number in the collection at this time; `None` if the file cannot be read or does not have it.
    pub(super) fn at(&self, at: Timestamps) -> Option<u64> {
        self.file.at(at, |counts| counts.value(self.entry)).ok()?
    }
}

/// The numbers of one file at one moment.
#[derive(Debug)]
pub(super) struct Counts {
    file: OpenFile,
    layout: Layout,
    numbers: Numbers,
}

impl Counts {
    fn new(path: PathBuf, layout: Layout) -> Self {
        Self { file: OpenFile::in_one_piece(path), layout, numbers: Numbers::default() }
    }

    fn locate(&self, group: &str, name: &str) -> Option<usize> {
        self.numbers.entries.iter().position(|entry| entry.is(group.as_bytes(), name.as_bytes()))
    }

    /// The number of an entry; `None` if the file does not have it.
    pub(super) fn value(&self, entry: usize) -> Option<u64> {
        self.numbers.entries.get(entry)?.value
    }
}

impl Reading for Counts {
    fn read(&mut self, _at: Timestamps) -> Result<(), Failure> {
        let text = split_complete_lines(self.file.read_or_fail()?).0;
        self.numbers.entries.iter_mut().for_each(|entry| entry.value = None);
        match self.layout {
            Layout::TwoLines => self.numbers.read_two_lines(text),
            Layout::NameValue => self.numbers.read_name_value(text),
            Layout::InLine => self.numbers.read_in_line(text),
        }
        Ok(())
    }
}

/// Named numbers. Files rarely change except for their numbers, so the entries of the last text are remembered by position.
#[derive(Debug, Default)]
struct Numbers {
    entries: Vec<Entry>,
    /// The indexes of the entries in file order, except with [`Layout::TwoLines`].
    order: Vec<usize>,
    /// The lines of names, with [`Layout::TwoLines`].
    name_lines: Vec<NameLine>,
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

impl Entry {
    fn is(&self, group: &[u8], name: &[u8]) -> bool {
        *self.name == *name && *self.group == *group
    }
}

/// A line of names, and the index of the entry of each name.
#[derive(Debug)]
struct NameLine {
    text: Box<[u8]>,
    entries: Vec<Option<usize>>,
}

/// The maximum number of names, and of lines of names; further ones are ignored.
const MAX_ENTRIES: usize = 4096;

impl Numbers {
    fn read_two_lines(&mut self, text: &[u8]) {
        let mut lines = lines(text);
        let mut at = 0;
        while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
            let (Some((group, list)), Some((same, values))) = (split_at_colon(names), split_at_colon(values))
            else {
                break;
            };
            // The line of names and the line of numbers do not match, so the rest is ignored.
            if group != same || at == MAX_ENTRIES {
                break;
            }
            if self.name_lines.get(at).is_none_or(|line| *line.text != *names) {
                let entries = words(list).map(|name| self.entry(group, name)).collect();
                let line = NameLine { text: names.into(), entries };
                match self.name_lines.get_mut(at) {
                    Some(known) => *known = line,
                    None => self.name_lines.push(line),
                }
            }
            for (entry, value) in self.name_lines[at].entries.iter().zip(words(values)) {
                if let Some(entry) = *entry {
                    self.entries[entry].value = parse_number(value);
                }
            }
            at += 1;
        }
    }

    fn read_name_value(&mut self, text: &[u8]) {
        let mut next = 0;
        for line in lines(text) {
            let mut words = words(line);
            if let (Some(name), Some(value)) = (words.next(), words.next()) {
                self.store(&mut next, b"", name, value);
            }
        }
    }

    fn read_in_line(&mut self, text: &[u8]) {
        let mut next = 0;
        for line in lines(text) {
            let Some((group, rest)) = split_at_colon(line) else { continue };
            let mut words = words(rest);
            while let (Some(name), Some(value)) = (words.next(), words.next()) {
                self.store(&mut next, group, name, value);
            }
        }
    }

    /// Stores the number of the name at the position `next` of the file.
    fn store(&mut self, next: &mut usize, group: &[u8], name: &[u8], value: &[u8]) {
        let known = self.order.get(*next).copied().filter(|&entry| self.entries[entry].is(group, name));
        let Some(entry) = known.or_else(|| self.entry(group, name)) else { return };
        match self.order.get_mut(*next) {
            Some(place) => *place = entry,
            None => self.order.push(entry),
        }
        self.entries[entry].value = parse_number(value);
        *next += 1;
    }

    /// The index of an entry, which is added if it is new; `None` if there are too many.
    fn entry(&mut self, group: &[u8], name: &[u8]) -> Option<usize> {
        let known = self.entries.iter().position(|entry| entry.is(group, name));
        known.or_else(|| {
            let is_full = self.entries.len() == MAX_ENTRIES;
            (!is_full).then(|| {
                self.entries.push(Entry { group: group.into(), name: name.into(), value: None });
                self.entries.len() - 1
            })
        })
    }
}

/// Splits at the first colon.
fn split_at_colon(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|&byte| byte == b':')?;
    Some((&line[..colon], &line[colon + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Machine, at};

    #[test]
    fn lines_of_names_can_change() {
        let machine = Machine::new(&[("proc/net/snmp", "")]);
        let mut counts = Counts::new(machine.path("proc/net/snmp"), Layout::TwoLines);
        let mut read = |text: &str, expected: [Option<u64>; 4]| {
            machine.write("proc/net/snmp", text);
            for _ in 0..2 {
                counts.read(at(1)).expect("readable");
                let entry = |name| counts.locate("Ip", name).and_then(|entry| counts.value(entry));
                assert_eq!(["a", "bb", "c"].map(entry), expected[..3], "{text:?}");
                let other = counts.locate("Udp", "a").and_then(|entry| counts.value(entry));
                assert_eq!(other, expected[3], "{text:?}");
            }
        };
        let some = |numbers: [u64; 4]| numbers.map(Some);
        read("Ip: a bb c\nIp: 1 2 3\nUdp: a\nUdp: 4\n", some([1, 2, 3, 4]));
        read("Ip: c bb a\nIp: 1 2 3\nUdp: a\nUdp: 5\n", some([3, 2, 1, 5]));
        read("Udp: a\nUdp: 6\nIp: a b bb c\nIp: 1 9 2 3\n", some([1, 2, 3, 6]));
        read("Udp: a\nUdp: 7\n", [None, None, None, Some(7)]);
        read("Ip: a bb c\nIp: 1 2\nUdp: a\nUdp: x\n", [Some(1), Some(2), None, None]);
        read("Ip: a bb c\nUdp: 1 2 3\nUdp: a\nUdp: 8\n", [None; 4]);
        read("Ip: a bb c\nIp: 1 2 3\nUdp: a\nUdp: 9\n", some([1, 2, 3, 9]));
    }

    #[test]
    fn names_are_bounded() {
        let names: String = (0..5000).map(|number| format!(" n{number}")).collect();
        let values = " 1".repeat(5000);
        let lines = format!("Ip:{names}\nIp:{values}\n") + &"Ip: n7\nIp: 2\n".repeat(5000);
        let machine = Machine::new(&[("proc/net/snmp", &lines)]);
        let mut counts = Counts::new(machine.path("proc/net/snmp"), Layout::TwoLines);
        counts.read(at(1)).expect("readable");
        assert_eq!([counts.numbers.entries.len(), counts.numbers.name_lines.len()], [MAX_ENTRIES; 2]);
        let value = |name| counts.value(counts.locate("Ip", name)?);
        assert_eq!([value("n7"), value("n4095"), value("n4096")], [Some(2), Some(1), None]);
    }
}
