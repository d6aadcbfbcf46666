//! An interface, and the lines of `/proc/net/dev`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tachograph_perflib::{InstanceKey, Row};

use super::interface_table::{BANDWIDTH, COLUMNS, DOUBLE, Numbers, RECEIVED, SENT, SINGLE};
use super::speed::Speed;
use crate::scan::{number, only_number, words};

/// The columns of the file.
#[derive(Default)]
pub(super) struct Header {
    line: Vec<u8>,
    /// The column at each position in a line, if it is used.
    columns: Vec<Option<usize>>,
}

/// An interface and its numbers.
pub(super) struct Interface {
    pub(super) name: Box<[u8]>,
    pub(super) key: Arc<InstanceKey>,
    folder: PathBuf,
    index: u32,
    /// The inode of the interface's folder in sysfs, which changes when the interface is recreated.
    node: u64,
    birth: u64,
    read: Numbers,
    numbers: Numbers,
    pub(super) is_whole: bool,
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
            let place = |name: &[u8]| {
                part.iter().position(|known| known.as_bytes() == name).map(|place| start + place)
            };
            self.columns.extend(words(names).map(place));
        }
    }

    fn has(&self, column: usize) -> bool {
        self.columns.contains(&Some(column))
    }

    /// Whether the file has this counter.
    pub(super) fn has_counter(&self, id: u32) -> bool {
        match DOUBLE.iter().find(|(double, _)| *double == id) {
            Some((_, columns)) => columns.iter().all(|&column| self.has(column)),
            None => {
                SINGLE.iter().find(|(single, _)| *single == id).is_none_or(|&(_, column)| self.has(column))
            }
        }
    }

    pub(super) fn numbers(&self, text: &[u8]) -> Option<Numbers> {
        let mut numbers = Numbers::default();
        let mut words = words(text);
        for column in &self.columns {
            let value = number(words.next()?)?;
            if let Some(column) = column {
                numbers[*column] = value;
            }
        }
        Some(numbers)
    }
}

impl Interface {
    pub(super) fn new(class: &Path, name: &[u8], birth: u64) -> Self {
        let text = String::from_utf8_lossy(name);
        let mut interface = Self {
            name: name.into(),
            key: Arc::new(InstanceKey::new(&*text, 0, 0)),
            folder: class.join(&*text),
            index: 0,
            node: 0,
            birth,
            read: Numbers::default(),
            numbers: Numbers::default(),
            is_whole: false,
            speed: Speed::default(),
        };
        interface.index = interface.index_now().unwrap_or_default();
        interface.renew_key();
        interface
    }

    fn index_now(&self) -> Option<u32> {
        let text = fs::read(self.folder.join("ifindex")).ok()?;
        only_number(&text)?.try_into().ok()
    }

    fn renew_key(&mut self) {
        let identity = u64::from(self.index) << 32 | self.birth & u64::from(u32::MAX);
        self.key = Arc::new(InstanceKey::new(self.key.name(), self.index, identity));
    }

    /// Whether these numbers continue the previous ones: bytes and packets never fall.
    pub(super) fn follows(&self, numbers: &Numbers) -> bool {
        [RECEIVED, RECEIVED + 1, SENT, SENT + 1]
            .into_iter()
            .all(|column| numbers[column] >= self.read[column])
    }

    pub(super) fn restart(&mut self, birth: u64) {
        self.birth = birth;
        self.index = self.index_now().unwrap_or(self.index);
        self.numbers = Numbers::default();
        self.speed = Speed::default();
        self.renew_key();
    }

    pub(super) fn push(&mut self, numbers: &Numbers) {
        self.read = *numbers;
        for (last, &new) in self.numbers.iter_mut().zip(numbers) {
            // Some drivers add up losses that they read one after the other, so the sum can fall.
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
        if !self.is_whole {
            row.fail_all(SINGLE.iter().map(|(id, _)| *id).chain(DOUBLE.iter().map(|(id, _)| *id)), malformed);
            return;
        }
        for &(id, column) in SINGLE {
            row.set(id, self.numbers[column]);
        }
        for &(id, [one, other]) in DOUBLE {
            row.set(id, self.numbers[one].wrapping_add(self.numbers[other]));
        }
    }

    /// Sets the inode of the interface's folder in sysfs, and restarts the interface if it was recreated.
    pub(super) fn set_node(&mut self, node: u64) {
        let was_recreated = self.node != 0 && self.node != node;
        self.node = node;
        if was_recreated && self.index_now().is_some_and(|index| index != self.index) {
            let birth = self.birth;
            self.restart(birth);
            self.numbers = self.read;
        }
    }
}
