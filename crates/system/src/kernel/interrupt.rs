//! `Interrupt` and `SoftIRQ`: interrupts by their line and soft interrupts by their kind, summed over the processors.

use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{ErrorCode, Failure, InstanceKey, Provider, Rows};

use super::reason::Reasons;
use crate::Roots;
use crate::file::KeptFile;
use crate::ordered::{bring, finished};
use crate::scan::{lines, number, words};
use crate::table::{CounterInfo, SetTable};

const RATE: u32 = 1;

/// The set of interrupts.
pub(crate) static INTERRUPT: SetTable = SetTable {
    name: "Interrupt",
    guid: 0x311425d640715f89aa731a14d1296b0b,
    instance_type: InstanceType::Multiple,
    help: "Interrupts by their line, summed over all processors.",
    instances: "The lines of /proc/interrupts in the kernel's order: number and device (`36 virtio1-req.0`), or the short name and its meaning (`LOC Local timer interrupts`); then _Total.",
    total: "The sum of all lines but TLB, whose interrupts are also counted in CAL: what /proc/stat gives.",
    counters: &[CounterInfo::row(
        RATE,
        "Interrupts/sec",
        CounterType::BULK_COUNT,
        "1/s",
        0,
        "/proc/interrupts",
        "Interrupts of this line that the processors took. When a processor goes offline or online the kernel's sums jump, so that one interval is omitted.",
    )],
};

/// The set of soft interrupts.
pub(crate) static SOFTIRQ: SetTable = SetTable {
    name: "SoftIRQ",
    guid: 0x6e7c8898e9645e548240af46b7ff79b0,
    instance_type: InstanceType::Multiple,
    help: "Soft interrupts, the kernel's deferred work, by their kind, summed over all processors. Windows' nearest are DPCs.",
    instances: "The kinds in the kernel's order, such as TIMER, NET_RX, BLOCK, SCHED, RCU; then _Total.",
    total: "The sum of all kinds.",
    counters: &[CounterInfo::row(
        RATE,
        "SoftIRQs/sec",
        CounterType::BULK_COUNT,
        "1/s",
        0,
        "/proc/softirqs",
        "Soft interrupts of this kind that were handled.",
    )],
};

/// More lines than any machine has.
const MAX_LINES: usize = 16_384;

/// The providers, as far as the files are there.
pub(crate) fn providers(roots: &Roots) -> Vec<Box<dyn Provider>> {
    [(&INTERRUPT, "interrupts"), (&SOFTIRQ, "softirqs")]
        .into_iter()
        .filter_map(|(table, file)| {
            let mut file = KeptFile::new(roots.proc.join(file));
            let processors = processors(finished(file.read().ok()?).0);
            (processors > 0).then(|| Box::new(Interrupts::new(table, file)) as Box<dyn Provider>)
        })
        .collect()
}

/// How many columns the first line names: `CPU0 CPU1`.
fn processors(text: &[u8]) -> usize {
    let header = lines(text).next().unwrap_or_default();
    words(header).take_while(|word| word.starts_with(b"CPU")).count()
}

struct Interrupts {
    info: Arc<CounterSetInfo>,
    file: KeptFile,
    /// The first line, as it was last: which processors there are.
    header: Vec<u8>,
    /// In the order of the file.
    lines: Vec<Line>,
    total: Arc<InstanceKey>,
    last_total: u64,
    /// Number of the next identity.
    identity: u64,
    reasons: Reasons,
    unreadable: Arc<str>,
}

/// A line of the file as it was last.
struct Line {
    /// Before the colon.
    label: Vec<u8>,
    /// After the numbers.
    tail: Vec<u8>,
    instance: Arc<InstanceKey>,
    last: u64,
    /// What is to be added for numbers of 32 bits that rolled over.
    rolled_over: u64,
}

impl Interrupts {
    fn new(table: &SetTable, file: KeptFile) -> Self {
        let unreadable = format!("{}: the line has no number", file.path().display()).into();
        Self {
            info: table.info(),
            file,
            header: Vec::new(),
            lines: Vec::new(),
            total: Arc::new(InstanceKey::new("_Total", 0, 1).reserved()),
            last_total: 0,
            identity: 2,
            reasons: Reasons::default(),
            unreadable,
        }
    }
}

impl Provider for Interrupts {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let text = match self.file.read() {
            Ok(text) => finished(text).0,
            Err(error) => {
                let reason = self.reasons.of(&error, self.file.path().display());
                return Err(Failure::new(ErrorCode::NO_DATA, reason));
            }
        };
        let mut text_lines = lines(text);
        let header = text_lines.next().unwrap_or_default();
        let processors = processors(text);
        if header != self.header {
            // Another set of processors: every sum jumps by what the one that came or went has counted.
            self.header.clear();
            self.header.extend_from_slice(header);
            self.lines.clear();
            self.last_total = u64::MAX;
        }

        let mut total = 0_u64;
        let mut places = 0;
        let mut has_lost = false;
        for line in text_lines.take(MAX_LINES) {
            let Some((label, sum, tail)) = split(line, processors) else { continue };
            let place = places;
            places += 1;
            if !bring(&mut self.lines, place, |line| line.label == label && line.tail == tail) {
                self.lines.insert(place, Line::new(label, tail, &mut self.identity));
            }
            let line = &mut self.lines[place];
            let sum = sum.map(|sum| {
                let (value, has_restarted) = line.follow(sum, &mut self.identity);
                has_lost |= has_restarted;
                value
            });
            // A TLB shootdown arrives as a function call interrupt, which is counted as such.
            if label != b"TLB" {
                total = total.wrapping_add(sum.unwrap_or(line.last));
            }
            if !rows.wants_instance(line.instance.name(), line.instance.id()) {
                continue;
            }
            let mut row = rows.push(&line.instance);
            match sum {
                Some(sum) => row.set(RATE, sum),
                None => row.fail(RATE, &self.unreadable),
            }
        }
        has_lost |= self.lines.len() > places;
        self.lines.truncate(places);

        if has_lost || total < self.last_total {
            // What a line had counted is gone from the sum.
            self.total = Arc::new(InstanceKey::new("_Total", 0, self.identity).reserved());
            self.identity += 1;
        }
        self.last_total = total;
        if rows.wants_instance("_Total", 0) {
            let mut row = rows.push(&self.total);
            if places > 0 {
                row.set(RATE, total);
            } else {
                row.fail(RATE, &self.unreadable);
            }
        }
        Ok(())
    }
}

impl Line {
    fn new(label: &[u8], tail: &[u8], identity: &mut u64) -> Self {
        let mut line = Self {
            label: label.to_vec(),
            tail: tail.to_vec(),
            instance: Arc::default(),
            last: 0,
            rolled_over: 0,
        };
        line.begin_anew(identity);
        line
    }

    fn begin_anew(&mut self, identity: &mut u64) {
        let number = number(&self.label);
        let name = name_of(&self.label, &self.tail, number.is_some());
        self.instance = Arc::new(InstanceKey::new(name, number.unwrap_or_default() as u32, *identity));
        *identity += 1;
    }

    /// The value that follows the last one, and whether the line began anew.
    fn follow(&mut self, sum: u64, identity: &mut u64) -> (u64, bool) {
        let mut value = sum.wrapping_add(self.rolled_over);
        let mut has_restarted = false;
        if value < self.last {
            let is_numbered = self.label.first().is_some_and(u8::is_ascii_digit);
            if !is_numbered && self.last - value > u64::from(u32::MAX / 2) {
                // The kernel counts each processor in 32 bits. Lines with a name live as long as the kernel, so that
                // only a number that rolled over makes so large a step back.
                self.rolled_over += 1 << 32;
                value += 1 << 32;
            } else {
                // The line was given up and taken again: it counts from 0.
                self.rolled_over = 0;
                value = sum;
                self.begin_anew(identity);
                has_restarted = true;
            }
        }
        self.last = value;
        (value, has_restarted)
    }
}

/// Label, sum of the processors' numbers, and what follows them. `None` where there is no label, no sum where there is
/// no number or they are absurd.
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
        sum = sum.zip(number(&word[..end])).and_then(|(sum, number)| sum.checked_add(number));
        rest = &word[end..];
        count += 1;
    }
    (!label.is_empty()).then_some((label, sum.filter(|_| count > 0), rest.trim_ascii()))
}

/// `36 virtio1-req.0`, `LOC Local timer interrupts`.
///
/// After the numbers of a numbered line stand the controller, the number at the controller with its way (`5-edge`, or
/// `25 Level` on ARM; older kernels: neither), and the devices.
fn name_of(label: &[u8], tail: &[u8], is_numbered: bool) -> String {
    let mut description = tail;
    if is_numbered {
        description = after_word(description);
        if description.first().is_some_and(u8::is_ascii_digit) {
            description = after_word(description);
            let way = words(description).next().unwrap_or_default();
            if way == b"Level" || way == b"Edge" {
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
