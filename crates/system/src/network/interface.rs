//! A network interface, and the header of `/proc/net/dev`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tachograph_perflib::{InstanceKey, Row};

use super::interface_table::{BANDWIDTH, COLUMNS, DOUBLE, Numbers, RECEIVED, SENT, SINGLE};
use super::speed::Speed;
use crate::scan::{parse_number, parse_single_number, words};

/// The column names of `/proc/net/dev`.
#[derive(Default)]
pub(super) struct Header {
    /// The line that was parsed last.
    line: Vec<u8>,
    /// For each number in a line, its index in [`Numbers`]; `None` for unknown columns.
    columns: Vec<Option<usize>>,
}

/// An interface and its values.
pub(super) struct Interface {
    pub(super) name: Box<[u8]>,
    pub(super) key: Arc<InstanceKey>,
    /// The interface's folder in sysfs.
    folder: PathBuf,
    /// The kernel's interface index.
    index: u32,
    /// The inode of the interface's folder in sysfs, which changes when the interface is recreated.
    inode: u64,
    /// Distinguishes this interface from earlier ones of the same name.
    generation: u64,
    /// The numbers of the last read line.
    last_read: Numbers,
    /// The values of the counters: like `last_read`, but never decreasing.
    values: Numbers,
    /// Whether the last line could be parsed.
    pub(super) is_valid: bool,
    speed: Speed,
}

impl Header {
    /// Parses the second line of the file.
    pub(super) fn update(&mut self, line: &[u8]) {
        if self.line == line {
            return;
        }
        self.line = line.to_vec();
        self.columns.clear();
        for (names, (part, start)) in
            line.split(|&byte| byte == b'|').skip(1).zip(COLUMNS.into_iter().zip([RECEIVED, SENT]))
        {
            let column_index = |name: &[u8]| {
                part.iter()
                    .position(|known| known.as_bytes() == name)
                    .map(|column_index| start + column_index)
            };
            self.columns.extend(words(names).map(column_index));
        }
    }

    fn has_column(&self, column: usize) -> bool {
        self.columns.contains(&Some(column))
    }

    /// Whether the file has the columns of this counter.
    pub(super) fn has_counter(&self, id: u32) -> bool {
        match DOUBLE.iter().find(|(double, _)| *double == id) {
            Some((_, columns)) => columns.iter().all(|&column| self.has_column(column)),
            None => SINGLE
                .iter()
                .find(|(single, _)| *single == id)
                .is_none_or(|&(_, column)| self.has_column(column)),
        }
    }

    /// Parses the numbers of a line; `None` if one is malformed.
    pub(super) fn numbers(&self, text: &[u8]) -> Option<Numbers> {
        let mut numbers = Numbers::default();
        let mut words = words(text);
        for column in &self.columns {
            let value = parse_number(words.next()?)?;
            if let Some(column) = column {
                numbers[*column] = value;
            }
        }
        Some(numbers)
    }
}

impl Interface {
    pub(super) fn new(class: &Path, name: &[u8], generation: u64) -> Self {
        let text = String::from_utf8_lossy(name);
        let mut interface = Self {
            name: name.into(),
            key: Arc::new(InstanceKey::new(&*text, 0, 0)),
            folder: class.join(&*text),
            index: 0,
            inode: 0,
            generation,
            last_read: Numbers::default(),
            values: Numbers::default(),
            is_valid: false,
            speed: Speed::default(),
        };
        interface.index = interface.index_now().unwrap_or_default();
        interface.renew_key();
        interface
    }

    /// Reads the kernel's interface index.
    fn index_now(&self) -> Option<u32> {
        let text = fs::read(self.folder.join("ifindex")).ok()?;
        parse_single_number(&text)?.try_into().ok()
    }

    fn renew_key(&mut self) {
        let identity = u64::from(self.index) << 32 | self.generation & u64::from(u32::MAX);
        self.key = Arc::new(InstanceKey::new(self.key.name(), self.index, identity));
    }

    /// Whether `numbers` can belong to the same interface as the previous numbers, because bytes and packets have not decreased.
    pub(super) fn is_continued_by(&self, numbers: &Numbers) -> bool {
        [RECEIVED, RECEIVED + 1, SENT, SENT + 1]
            .into_iter()
            .all(|column| numbers[column] >= self.last_read[column])
    }

    /// Starts a new instance with the same name.
    pub(super) fn restart(&mut self, generation: u64) {
        self.generation = generation;
        self.index = self.index_now().unwrap_or(self.index);
        self.values = Numbers::default();
        self.speed = Speed::default();
        self.renew_key();
    }

    /// Sets the numbers of a new sample.
    pub(super) fn push(&mut self, numbers: &Numbers) {
        self.last_read = *numbers;
        for (last, &new) in self.values.iter_mut().zip(numbers) {
            // Some drivers add up counts of lost packets that they read one after another, so a sum can decrease.
            *last = new.max(*last);
        }
    }

    pub(super) fn fill(&mut self, row: &mut Row<'_>, ticks: i64, malformed: &Arc<str>) {
        if row.wants(BANDWIDTH) {
            match self.speed.at(ticks, &self.folder) {
                Some(speed) => row.set(BANDWIDTH, speed),
                None => row.omit(BANDWIDTH),
            }
        }
        if !self.is_valid {
            row.fail_all(SINGLE.iter().map(|(id, _)| *id).chain(DOUBLE.iter().map(|(id, _)| *id)), malformed);
            return;
        }
        for &(id, column) in SINGLE {
            row.set(id, self.values[column]);
        }
        for &(id, [one, other]) in DOUBLE {
            row.set(id, self.values[one].wrapping_add(self.values[other]));
        }
    }

    /// Sets the inode of the interface's folder in sysfs, and restarts the interface if it was recreated.
    pub(super) fn set_inode(&mut self, inode: u64) {
        let was_recreated = self.inode != 0 && self.inode != inode;
        self.inode = inode;
        if was_recreated && self.index_now().is_some_and(|index| index != self.index) {
            let generation = self.generation;
            self.restart(generation);
            self.values = self.last_read;
        }
    }
}
