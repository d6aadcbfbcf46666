//! `/proc/PID/stat`: the name, the state and the times of a process or thread.

use super::cursor::Cursor;

/// A stat file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The name as the kernel has it: any bytes, blanks and parentheses included.
    pub(super) name: &'a [u8],
    pub(super) stat: Stat,
    /// What follows the fields that were read.
    rest: &'a [u8],
}

/// The fields of a stat file that counters need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    /// One letter.
    pub(super) state: u8,
    pub(super) parent: u32,
    /// Minor and major page faults.
    pub(super) faults: u64,
    /// Processor time in user mode, in the kernel's ticks.
    pub(super) user: u64,
    /// Processor time in the kernel, in its ticks.
    pub(super) system: u64,
    /// The lower the more urgent: 0 to 39 for a nice value of -20 to 19, below 0 for real time.
    pub(super) priority: i64,
    pub(super) nice: i64,
    pub(super) threads: u64,
    /// When it was started, in ticks since the start of the machine.
    pub(super) start: u64,
    pub(super) virtual_bytes: u64,
}

/// The name, in parentheses: all up to the last one that closes, since the numbers behind it have none.
#[inline]
pub(super) fn name(text: &[u8]) -> Option<(&[u8], &[u8])> {
    // The number before it has 10 digits at most, and the name 64 bytes (those of kernel threads are the longest).
    let head = &text[..text.len().min(128)];
    let from = head.iter().position(|&byte| byte == b'(')? + 1;
    let to = from + head[from..].iter().rposition(|&byte| byte == b')')?;
    Some((without_work(&text[from..to]), &text[to + 1..]))
}

/// The name of a kernel worker without the work that it does at the moment: `kworker/0:1-events` is `kworker/0:1`, whatever
/// it does next.
#[inline]
fn without_work(name: &[u8]) -> &[u8] {
    if !name.starts_with(b"kworker/") {
        return name;
    }
    name.split(|byte| matches!(byte, b'-' | b'+')).next().unwrap_or(name)
}

/// Reads the line; `None` where it is cut off or holds something else.
#[inline]
pub(super) fn parse(text: &[u8]) -> Option<Line<'_>> {
    let (name, rest) = name(text)?;
    let (&[b' ', state, b' '], rest) = rest.split_first_chunk()? else { return None };
    let mut fields = Cursor(rest);
    let parent = fields.number()?;
    fields.skip(5)?;
    let minor = fields.number()?;
    fields.skip(1)?;
    let major = fields.number()?;
    fields.skip(1)?;
    let user = fields.number()?;
    let system = fields.number()?;
    fields.skip(2)?;
    let priority = fields.signed()?;
    let nice = fields.signed()?;
    let threads = fields.number()?;
    fields.skip(1)?;
    let start = fields.number()?;
    let virtual_bytes = fields.number()?;
    let stat = Stat {
        state,
        parent: parent.try_into().ok()?,
        faults: minor.wrapping_add(major),
        user,
        system,
        priority,
        nice,
        threads,
        start,
        virtual_bytes,
    };
    Some(Line { name, stat, rest: fields.0 })
}

impl Stat {
    /// How urgent it is at this moment, rising: 20 is a nice value of 0, 41 and more is real time.
    pub(super) fn priority_current(&self) -> u64 {
        40_i64.saturating_sub(self.priority).max(0) as u64
    }

    /// What the process or thread is beyond its number: the number is given again, but not at the same moment.
    pub(super) fn identity(&self, id: u32) -> u64 {
        // Numbers of tasks have 22 bits at most (PID_MAX_LIMIT).
        self.start << 22 | u64::from(id) & 0x3f_ffff
    }

    /// How urgent it is without what it inherited: 20 less the nice value; real time and deadlines as they are.
    pub(super) fn priority_base(&self) -> u64 {
        match self.priority {
            ..0 => self.priority_current(),
            _ => 20_i64.saturating_sub(self.nice).max(0) as u64,
        }
    }
}

impl Line<'_> {
    /// As [`Stat::priority_base`], also where real time was inherited.
    pub(super) fn priority_base(&self) -> Option<u64> {
        let mut fields = Cursor(self.rest);
        fields.skip(16)?;
        let real_time = fields.number()?;
        let policy = fields.number()?;
        Some(match (real_time, policy) {
            // A deadline has no priority but is more urgent than any.
            (0, DEADLINE) => self.stat.priority_current(),
            (0, _) => 20_i64.saturating_sub(self.stat.nice).max(0) as u64,
            _ => real_time.saturating_add(41),
        })
    }
}

/// `SCHED_DEADLINE` of sched.h.
const DEADLINE: u64 = 6;
