//! Parses the files of a group into values.

use std::sync::Arc;

use rustix::io::Errno;
use tachograph_perflib::Row;

use super::table::{FileTable, Form, IDS, IO_KEYS, Kind, MEMORY_CURRENT, MEMORY_LIMIT, MEMORY_USED, TABLE};
use crate::error_texts::ErrorTexts;
use crate::kernel::pressure;
use crate::ordered::split_complete_lines;
use crate::scan::{lines, parse_number, parse_single_number, words};

/// A running total that never decreases.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunningTotal {
    /// The kernel's last value.
    last: u64,
    /// The sum of all decreases of the kernel's value.
    lost: u64,
}

impl RunningTotal {
    /// Sets the kernel's value and returns the total. If the kernel's value has decreased, because a device was removed from a
    /// sum or a controller was disabled and enabled, the total stays constant for one interval.
    pub(super) fn push(&mut self, value: u64) -> u64 {
        self.lost = self.lost.saturating_add(self.last.saturating_sub(value));
        self.last = value;
        value.wrapping_add(self.lost)
    }

    /// Sets the kernel's value and returns the largest value so far.
    fn raise_to(&mut self, value: u64) -> u64 {
        self.last = self.last.max(value);
        self.last
    }
}

/// The two values of `% Memory Limit Used`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Memory {
    current: Option<u64>,
    limit: Option<u64>,
}

/// The smallest number that means no limit: version 1 writes `i64::MAX`, rounded down to pages.
const NO_LIMIT: u64 = i64::MAX as u64 - (1 << 24);

/// The reasons for missing values of the files of a hierarchy, allocated once.
pub(super) struct Reasons {
    /// For each file, the message that the group does not have it.
    absent: Box<[Arc<str>]>,
    /// For each counter, the message that its field is missing or malformed.
    no_value: [Arc<str>; IDS],
    /// The error texts of each file.
    errors: Box<[ErrorTexts]>,
}

impl Reasons {
    pub(super) fn new(files: &[&FileTable]) -> Self {
        let absent = files.iter().map(|FileTable { name, controller, .. }| match *controller {
            "" => format!("the group has no {name}").into(),
            _ => format!("the group has no {name}: the {controller} controller is not enabled here").into(),
        });
        Self {
            absent: absent.collect(),
            no_value: std::array::from_fn(|id| {
                let row = TABLE.counters.iter().find(|row| row.id as usize == id);
                let source = row.map_or("", |row| &row.source);
                let is_of_cpu =
                    source.starts_with("cpu.stat: nr_") || source.starts_with("cpu.stat: throttled_");
                let hint = if is_of_cpu { ": the cpu controller is not enabled here" } else { "" };
                format!("no usable value in {source}{hint}").into()
            }),
            errors: files.iter().map(|_| ErrorTexts::default()).collect(),
        }
    }

    pub(super) fn fail_absent(&self, row: &mut Row<'_>, file: usize, table: &FileTable) {
        row.fail_all(table.ids(), &self.absent[file]);
    }

    pub(super) fn fail(&mut self, row: &mut Row<'_>, file: usize, table: &FileTable, error: Errno) {
        let reason = self.errors[file].get(&error.into(), table.name);
        row.fail_all(table.ids(), &reason);
    }

    /// Sets the counters of a file from its text. A counter that is missing in the text is an error only if it is in `ids` (a bit set).
    pub(super) fn set(
        &self,
        row: &mut Row<'_>,
        ids: u64,
        form: &Form,
        text: &[u8],
        counted: &mut [RunningTotal; IDS],
        memory: &mut Memory,
    ) {
        let text = split_complete_lines(text).0;
        match *form {
            Form::Keyed(fields) => {
                let mut missing = fields.iter().fold(0_u64, |missing, field| missing | 1 << field.id);
                for line in lines(text) {
                    let Some(end) = line.iter().position(|&byte| byte == b' ') else { continue };
                    let Some(field) = fields.iter().find(|field| *field.key == line[..end]) else { continue };
                    let Some(value) = parse_number(&line[end + 1..]) else { continue };
                    let counted = &mut counted[field.id as usize];
                    let value = match field.kind {
                        Kind::ProcessorTime => counted.raise_to(value.saturating_mul(10)),
                        Kind::Time => counted.push(value.saturating_mul(10)),
                        Kind::TimeNs => counted.push(value / 100),
                        Kind::Count => counted.push(value),
                        Kind::Now => value,
                    };
                    row.set(field.id, value);
                    missing &= !(1 << field.id);
                }
                for field in fields.iter().filter(|field| missing & ids & 1 << field.id != 0) {
                    self.fail_value(row, field.id);
                }
            }
            Form::Number(id) => {
                let value = parse_single_number(text);
                self.set_or_fail(row, id, value);
                if id == MEMORY_CURRENT {
                    memory.current = value;
                }
            }
            Form::Count(id) => {
                let value = parse_single_number(text);
                self.set_or_fail(row, id, value.map(|value| counted[id as usize].push(value)));
            }
            Form::ProcessorNs(id) => {
                let value = parse_single_number(text);
                self.set_or_fail(row, id, value.map(|value| counted[id as usize].raise_to(value / 100)));
            }
            Form::Limit(id) if is_no_limit(text) => {
                row.omit(id);
                if id == MEMORY_LIMIT {
                    row.omit(MEMORY_USED);
                }
            }
            Form::Limit(id) => {
                let value = parse_single_number(text);
                self.set_or_fail(row, id, value);
                if id == MEMORY_LIMIT {
                    memory.limit = value;
                }
            }
            Form::Io => self.set_io(row, text, counted),
            Form::IoLines(ids) => self.set_io_lines(row, text, ids, counted),
            Form::Pressure(some, full) => {
                let pressure = pressure::parse(text);
                for (id, stall) in [(some, pressure.some), (full, pressure.full)] {
                    let total = stall.and_then(|stall| stall.total_hundred_ns);
                    self.set_or_fail(row, id, total.map(|total| counted[id as usize].raise_to(total)));
                }
            }
        }
    }

    /// Sets the sums over all devices, which are 0 if there are no lines.
    fn set_io(&self, row: &mut Row<'_>, text: &[u8], counted: &mut [RunningTotal; IDS]) {
        let mut sums = [Some(0_u64); IO_KEYS.len()];
        for word in lines(text).flat_map(|line| words(line).skip(1)) {
            // The lines can contain words of other controllers (`cost.usage=`).
            let key = IO_KEYS.iter().position(|(key, _)| word.starts_with(key));
            if let Some(key) = key {
                let value = parse_number(&word[IO_KEYS[key].0.len()..]);
                sums[key] = sums[key].zip(value).and_then(|(sum, value)| sum.checked_add(value));
            }
        }
        for ((_, id), sum) in IO_KEYS.iter().zip(sums) {
            self.set_or_fail(row, *id, sum.map(|sum| counted[*id as usize].push(sum)));
        }
    }

    /// Sets the sums over all devices, from the lines of version 1.
    fn set_io_lines(&self, row: &mut Row<'_>, text: &[u8], ids: [u32; 3], counted: &mut [RunningTotal; IDS]) {
        let mut sums = [Some(0_u64); 3];
        for line in lines(text) {
            let mut words = words(line);
            // The last line has the total of all devices, without a device number.
            let (Some(_device), Some(direction), value) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            let directions: [&[u8]; 3] = [b"Read", b"Write", b"Discard"];
            let Some(index) = directions.iter().position(|name| *name == direction) else { continue };
            let value = value.and_then(parse_number);
            sums[index] = sums[index].zip(value).and_then(|(sum, value)| sum.checked_add(value));
        }
        for (id, sum) in ids.into_iter().zip(sums) {
            self.set_or_fail(row, id, sum.map(|sum| counted[id as usize].push(sum)));
        }
    }

    /// Sets `% Memory Limit Used`, from the values of two files.
    pub(super) fn set_used(&self, row: &mut Row<'_>, memory: Memory) {
        if let (Some(current), Some(limit)) = (memory.current, memory.limit) {
            row.set_with_base(MEMORY_USED, current, limit);
        }
    }

    fn set_or_fail(&self, row: &mut Row<'_>, id: u32, value: Option<u64>) {
        match value {
            Some(value) => row.set(id, value),
            None => self.fail_value(row, id),
        }
    }

    fn fail_value(&self, row: &mut Row<'_>, id: u32) {
        row.fail(id, &self.no_value[id as usize]);
    }
}

fn is_no_limit(text: &[u8]) -> bool {
    text.trim_ascii() == b"max" || parse_single_number(text).is_some_and(|limit| limit >= NO_LIMIT)
}
