//! `/proc/PID/stat`: name, state and times of a process or thread.

use super::cursor::Cursor;

/// A parsed stat file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The kernel's name: any bytes, including blanks and parentheses.
    pub(super) name: &'a [u8],
    pub(super) stat: Stat,
    /// The text after the fields of `stat`.
    rest: &'a [u8],
}

/// The fields of a stat file that counters need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    /// The state, as a letter.
    pub(super) state: u8,
    pub(super) parent: u32,
    /// Minor and major page faults.
    pub(super) faults: u64,
    /// Processor time in user mode, in the kernel's ticks.
    pub(super) user: u64,
    /// Processor time in the kernel, in ticks.
    pub(super) system: u64,
    /// Page faults of the children that the process has reaped, including those of the children that they had reaped.
    pub(super) reaped_faults: u64,
    /// User time of the same children, in ticks.
    pub(super) reaped_user: u64,
    /// System time of the same children, in ticks.
    pub(super) reaped_system: u64,
    /// The kernel's priority. Lower is more urgent: 0 to 39 for nice values from -20 to 19, below 0 for real time.
    pub(super) priority: i64,
    pub(super) nice: i64,
    pub(super) threads: u64,
    /// The start time, in ticks since boot.
    pub(super) start: u64,
    pub(super) virtual_bytes: u64,
}

/// Returns the name, which is in parentheses, and the rest of the line. The name ends at the last closing parenthesis.
#[inline]
pub(super) fn name(text: &[u8]) -> Option<(&[u8], &[u8])> {
    // The id before the name has at most 10 digits, and the name at most 64 bytes (kernel threads).
    let head = &text[..text.len().min(128)];
    let from = head.iter().position(|&byte| byte == b'(')? + 1;
    let to = from + head[from..].iter().rposition(|&byte| byte == b')')?;
    Some((without_work(&text[from..to]), &text[to + 1..]))
}

/// Strips the current work item from the name of a kernel worker: `kworker/0:1-events` becomes `kworker/0:1`.
#[inline]
fn without_work(name: &[u8]) -> &[u8] {
    if !name.starts_with(b"kworker/") {
        return name;
    }
    name.split(|byte| matches!(byte, b'-' | b'+')).next().unwrap_or(name)
}

/// Parses the line; `None` if it is truncated or malformed.
#[inline]
pub(super) fn parse(text: &[u8]) -> Option<Line<'_>> {
    let (name, rest) = name(text)?;
    let (&[b' ', state, b' '], rest) = rest.split_first_chunk()? else { return None };
    let mut fields = Cursor(rest);
    let parent = fields.next_number()?;
    fields.skip(5)?;
    let minor = fields.next_number()?;
    let reaped_minor = fields.next_number()?;
    let major = fields.next_number()?;
    let reaped_major = fields.next_number()?;
    let user = fields.next_number()?;
    let system = fields.next_number()?;
    let reaped_user = fields.next_number()?;
    let reaped_system = fields.next_number()?;
    let priority = fields.next_signed()?;
    let nice = fields.next_signed()?;
    let threads = fields.next_number()?;
    fields.skip(1)?;
    let start = fields.next_number()?;
    let virtual_bytes = fields.next_number()?;
    let stat = Stat {
        state,
        parent: parent.try_into().ok()?,
        faults: minor.wrapping_add(major),
        user,
        system,
        reaped_faults: reaped_minor.wrapping_add(reaped_major),
        reaped_user,
        reaped_system,
        priority,
        nice,
        threads,
        start,
        virtual_bytes,
    };
    Some(Line { name, stat, rest: fields.0 })
}

impl Stat {
    /// Whether the task has ended, but has not been reaped.
    pub(super) fn is_zombie(&self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }

    /// The current priority. Higher is more urgent: 20 is a nice value of 0; 41 and above is real time.
    pub(super) fn priority_current(&self) -> u64 {
        40_i64.saturating_sub(self.priority).max(0) as u64
    }

    /// The start time and id in one number, which distinguishes tasks that reuse an id.
    pub(super) fn identity(&self, id: u32) -> u64 {
        // Ids have at most 22 bits (PID_MAX_LIMIT).
        self.start << 22 | u64::from(id) & 0x3f_ffff
    }

    /// The priority without inheritance: 20 minus the nice value, or the current priority for real-time and deadline
    /// tasks.
    pub(super) fn priority_base(&self) -> u64 {
        match self.priority {
            ..0 => self.priority_current(),
            _ => 20_i64.saturating_sub(self.nice).max(0) as u64,
        }
    }
}

impl Line<'_> {
    /// Like [`Stat::priority_base`], but also correct while the task inherits a real-time priority.
    pub(super) fn priority_base(&self) -> Option<u64> {
        let mut fields = Cursor(self.rest);
        fields.skip(16)?;
        let real_time = fields.next_number()?;
        let policy = fields.next_number()?;
        Some(match (real_time, policy) {
            // Deadline tasks have no fixed priority; they run before all others.
            (0, DEADLINE) => self.stat.priority_current(),
            (0, _) => 20_i64.saturating_sub(self.stat.nice).max(0) as u64,
            _ => real_time.saturating_add(41),
        })
    }

    /// How long the task has waited for block devices, in ticks. Always 0 if the kernel does not account for delays.
    pub(super) fn block_io_wait(&self) -> Option<u64> {
        let mut fields = Cursor(self.rest);
        fields.skip(18)?;
        fields.next_number()
    }
}

/// `SCHED_DEADLINE` of sched.h.
const DEADLINE: u64 = 6;
