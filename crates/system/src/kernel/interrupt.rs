//! `Interrupt` and `SoftIRQ`: interrupts by line and soft interrupts by kind, summed over the processors.

use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, InstanceKey, Provider, Rows, SharedReading, Timestamps};

use crate::open_file::OpenFile;
use crate::ordered::{move_if_present, split_complete_lines};
use crate::scan::{lines, parse_number, words};
use crate::shared_file::InterruptFiles;
use crate::table::{CounterInfo, SetTable};

const RATE: u32 = 1;

/// The set `Interrupt`.
#[rustfmt::skip]
pub(crate) static INTERRUPT: SetTable = SetTable {
    name: "Interrupt",
    guid: 0x311425d640715f89aa731a14d1296b0b,
    instance_type: InstanceType::Multiple,
    help: "Interrupts by line, summed over all processors.",
    instances: "The lines of /proc/interrupts in the kernel's order: number and device (`36 virtio1-req.0`), or the short name and its meaning (`LOC Local timer interrupts`); then _Total.",
    total: "The sum of all lines except TLB, whose interrupts are also counted in CAL; the same as in /proc/stat.",
    repeats: None,
    counters: &[CounterInfo::row(RATE, "Interrupts/sec", CounterType::BULK_COUNT, "1/s", 0, "/proc/interrupts",
        "Interrupts of this line that the processors took. When a processor goes offline or online, the kernel's sums jump, so one interval is omitted.")],
};

/// The set `SoftIRQ`.
#[rustfmt::skip]
pub(crate) static SOFTIRQ: SetTable = SetTable {
    name: "SoftIRQ",
    guid: 0x6e7c8898e9645e548240af46b7ff79b0,
    instance_type: InstanceType::Multiple,
    help: "Soft interrupts, the kernel's deferred work, by their kind, summed over all processors. The nearest equivalent on Windows is DPCs.",
    instances: "The kinds in the kernel's order, such as TIMER, NET_RX, BLOCK, SCHED, RCU; then _Total.",
    total: "The sum of all kinds.",
    repeats: None,
    counters: &[CounterInfo::row(RATE, "SoftIRQs/sec", CounterType::BULK_COUNT, "1/s", 0, "/proc/softirqs",
        "Soft interrupts of this kind that were handled.")],
};

/// The maximum number of lines.
const MAX_LINES: usize = 16_384;

/// The providers for the files that exist.
pub(crate) fn providers(files: &InterruptFiles) -> Vec<Box<dyn Provider>> {
    [(&INTERRUPT, &files.interrupts), (&SOFTIRQ, &files.softirqs)]
        .into_iter()
        .filter_map(|(table, file)| {
            let count = |file: &mut OpenFile| processors(split_complete_lines(file.content()).0);
            let has_processors = file.at(Timestamps::default(), count).is_ok_and(|processors| processors > 0);
            // Closes the file, because the set may never be queried.
            file.with(OpenFile::close);
            has_processors.then(|| Box::new(Interrupts::new(table, file)) as Box<dyn Provider>)
        })
        .collect()
}

/// The number of columns in the first line, `CPU0 CPU1`.
fn processors(text: &[u8]) -> usize {
    let header = lines(text).next().unwrap_or_default();
    words(header).take_while(|word| word.starts_with(b"CPU")).count()
}

struct Interrupts {
    info: Arc<CounterSetInfo>,
    file: SharedReading<OpenFile>,
    /// The first line as last read; it lists the processors.
    header: Vec<u8>,
    /// The lines, in file order.
    lines: Vec<Line>,
    total: Arc<InstanceKey>,
    last_total: u64,
    /// The identity of the next new instance.
    identity: u64,
    /// The reason for missing values.
    unreadable_failure: Arc<str>,
}

/// A line as last read.
struct Line {
    /// The text before the colon.
    label: Vec<u8>,
    /// The text after the numbers.
    tail: Vec<u8>,
    instance: Arc<InstanceKey>,
    /// The last value.
    last: u64,
    /// 2^32 for each wrap of a kernel count; added to the kernel's sum.
    wrapped: u64,
}

impl Interrupts {
    fn new(table: &SetTable, file: &SharedReading<OpenFile>) -> Self {
        let path = file.with(|file| file.path().display().to_string());
        Self {
            info: table.info(),
            file: file.clone(),
            header: Vec::new(),
            lines: Vec::new(),
            total: Arc::new(InstanceKey::new("_Total", 0, 1).reserved()),
            last_total: 0,
            identity: 2,
            unreadable_failure: format!("{path}: the line has no number").into(),
        }
    }

    /// Adds the rows of the file's lines.
    fn push_rows(&mut self, text: &[u8], rows: &mut Rows) {
        let mut text_lines = lines(text);
        let header = text_lines.next().unwrap_or_default();
        let processors = processors(text);
        if header != self.header {
            // The set of processors has changed, so every sum jumps by the counts of the added or removed processors.
            self.header.clear();
            self.header.extend_from_slice(header);
            self.lines.clear();
            self.last_total = u64::MAX;
        }

        let mut total = 0_u64;
        let mut count = 0;
        let mut has_lost_counts = false;
        for line in text_lines.take(MAX_LINES) {
            let Some((label, sum, tail)) = split(line, processors) else { continue };
            let index = count;
            count += 1;
            if !move_if_present(&mut self.lines, index, |line| line.label == label && line.tail == tail) {
                self.lines.insert(index, Line::new(label, tail, &mut self.identity));
            }
            let line = &mut self.lines[index];
            let sum = sum.map(|sum| {
                let (value, has_restarted) = line.push(sum, &mut self.identity);
                has_lost_counts |= has_restarted;
                value
            });
            // TLB shootdowns are function call interrupts, which CAL already counts.
            if label != b"TLB" {
                total = total.wrapping_add(sum.unwrap_or(line.last));
            }
            if !rows.wants_instance(line.instance.name(), line.instance.id()) {
                continue;
            }
            let mut row = rows.push(&line.instance);
            match sum {
                Some(sum) => row.set(RATE, sum),
                None => row.fail(RATE, &self.unreadable_failure),
            }
        }
        has_lost_counts |= self.lines.len() > count;
        self.lines.truncate(count);

        if has_lost_counts || total < self.last_total {
            // A line was removed or restarted, or the set of processors has changed, so the total needs a new identity.
            self.total = Arc::new(InstanceKey::new("_Total", 0, self.identity).reserved());
            self.identity += 1;
        }
        self.last_total = total;
        if rows.wants_instance("_Total", 0) {
            let mut row = rows.push(&self.total);
            if count > 0 {
                row.set(RATE, total);
            } else {
                row.fail(RATE, &self.unreadable_failure);
            }
        }
    }
}

impl Provider for Interrupts {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let file = self.file.clone();
        file.at(rows.timestamps(), |file| self.push_rows(split_complete_lines(file.content()).0, rows))
    }

    fn idle(&mut self) {
        // If another set still needs the file, its next collection opens it again.
        self.file.with(OpenFile::close);
    }
}

impl Line {
    fn new(label: &[u8], tail: &[u8], identity: &mut u64) -> Self {
        let mut line = Self {
            label: label.to_vec(),
            tail: tail.to_vec(),
            instance: Arc::default(),
            last: 0,
            wrapped: 0,
        };
        line.renew_instance(identity);
        line
    }

    fn renew_instance(&mut self, identity: &mut u64) {
        let number = parse_number(&self.label);
        let name = name_of(&self.label, &self.tail, number.is_some());
        self.instance = Arc::new(InstanceKey::new(name, number.unwrap_or_default() as u32, *identity));
        *identity += 1;
    }

    /// Sets the kernel's sum. Returns the line's value, and whether the line has restarted.
    fn push(&mut self, sum: u64, identity: &mut u64) -> (u64, bool) {
        let mut value = sum.wrapping_add(self.wrapped);
        let mut has_restarted = false;
        if value < self.last {
            let is_numbered = self.label.first().is_some_and(u8::is_ascii_digit);
            if !is_numbered && self.last - value > u64::from(u32::MAX / 2) {
                // The kernel's counts have 32 bits per processor. Lines without a number are never removed, so such a large
                // decrease means that a count has wrapped.
                self.wrapped += 1 << 32;
                value += 1 << 32;
            } else {
                // The interrupt was freed and allocated again, so its count restarted from 0.
                self.wrapped = 0;
                value = sum;
                self.renew_instance(identity);
                has_restarted = true;
            }
        }
        self.last = value;
        (value, has_restarted)
    }
}

/// Splits a line into its label, the sum of the processors' numbers, and the rest. `None` without a label. The sum is
/// `None` if there are no numbers or if they overflow.
fn split(line: &[u8], processors: usize) -> Option<(&[u8], Option<u64>, &[u8])> {
    let colon = line.iter().position(|&byte| byte == b':')?;
    let label = line[..colon].trim_ascii();
    let mut rest = &line[colon + 1..];
    let mut sum = Some(0_u64);
    let mut count = 0;
    while count < processors {
        let start = rest.iter().position(|byte| *byte != b' ').unwrap_or(rest.len());
        let word = &rest[start..];
        let end = word.iter().position(|byte| *byte == b' ').unwrap_or(word.len());
        if !word.first().is_some_and(u8::is_ascii_digit) {
            break;
        }
        sum = sum.zip(parse_number(&word[..end])).and_then(|(sum, number)| sum.checked_add(number));
        rest = &word[end..];
        count += 1;
    }
    (!label.is_empty()).then_some((label, sum.filter(|_| count > 0), rest.trim_ascii()))
}

/// The name of an instance, such as `36 virtio1-req.0` or `LOC Local timer interrupts`.
///
/// In a numbered line, the counts are followed by the controller, the controller's own number and trigger (`5-edge`,
/// or `25 Level` on ARM; absent in older kernels), and the devices.
fn name_of(label: &[u8], tail: &[u8], is_numbered: bool) -> String {
    let mut description = tail;
    if is_numbered {
        description = after_word(description);
        if description.first().is_some_and(u8::is_ascii_digit) {
            description = after_word(description);
            let trigger = words(description).next().unwrap_or_default();
            if trigger == b"Level" || trigger == b"Edge" {
                description = after_word(description);
            }
        }
    }
    let mut name = String::from_utf8_lossy(label).into_owned();
    for word in words(description) {
        name.push(' ');
        name.push_str(&String::from_utf8_lossy(word));
    }
    name
}

fn after_word(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| *byte == b' ').unwrap_or(text.len());
    text[end..].trim_ascii_start()
}

#[cfg(test)]
mod tests;
