//! What a log's header says of its end, compared with the file.

use tachograph_counters::civil::FileTime;

use crate::blg::raw::buffer::{BufferHeader, FLAG_LAST_BUFFER};
use crate::blg::raw::event::WRITER;
use crate::blg::raw::header::{BUFFERS_WRITTEN_AT, END_TIME_AT, LogfileHeader};
use crate::problem::Problem;

/// How far the log's end may be from the last flush: Windows of before 8 closes the file some milliseconds after it.
const END_TOLERANCE: u64 = FileTime::PER_MINUTE.unsigned_abs();

/// Bytes of a log's header from its end time to its number of buffers.
pub(super) const CLAIM_BYTES: usize = (BUFFERS_WRITTEN_AT + 4 - END_TIME_AT) as usize;

/// What the header of a log says of the file's end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claims {
    /// How many buffers were written, buffer 0 included. Stale, and too small, while a recorder is writing.
    pub(super) buffers: u64,
    end_time: i64,
    /// Whether Tachograph wrote the log.
    is_own: bool,
}

impl Claims {
    /// What this header says.
    pub(super) fn of(header: &LogfileHeader) -> Self {
        let ids = (header.system.thread_id.get(), header.system.process_id.get());
        Self {
            buffers: header.start.buffers_written.get().into(),
            end_time: header.start.end_time.get(),
            is_own: matches!(ids, (0, 0 | WRITER)),
        }
    }

    /// Takes over what the header says now: its bytes from [`END_TIME_AT`] on.
    pub(super) fn update(&mut self, fields: &[u8; CLAIM_BYTES]) {
        let [end_time @ .., _, _, _, _, _, _, _, _, _, _, _, _, b0, b1, b2, b3] = fields;
        self.end_time = i64::from_le_bytes(*end_time);
        self.buffers = u32::from_le_bytes([*b0, *b1, *b2, *b3]).into();
    }

    /// Compares with the file's length and with the header of the last buffer of the file, of this number. In a log that is
    /// not sequential that is not the one written last. `writer` is the process id of that buffer's first event.
    pub(super) fn check(
        &self,
        file_bytes: u64,
        buffer_bytes: u64,
        is_sequential: bool,
        (number, header, writer): (u64, &BufferHeader, Option<u32>),
    ) -> Option<Problem> {
        // In a circular log of Windows' the number may count every buffer ever written, those that were overwritten included.
        if !is_sequential && !self.is_own {
            return None;
        }
        let claimed = self.buffers.saturating_mul(buffer_bytes);
        if file_bytes < claimed {
            // Tachograph ends a file after its last event when the disk is full: only filler is missing. The log may be one of
            // Windows' that it appended to. Older versions, which did not, wrote process 0.
            let is_own_buffer = writer == Some(WRITER) || self.is_own && writer == Some(0);
            let is_given_up = is_own_buffer
                && number + 1 == self.buffers
                && file_bytes == number * buffer_bytes + u64::from(header.offset.get());
            let problem = Problem::new(file_bytes, "the file is cut short: its header counts more buffers");
            let expected = format!("{claimed} bytes: {} buffers", self.buffers);
            return (!is_given_up).then(|| problem.found(format_args!("{file_bytes} bytes"), expected));
        }
        // A longer file was not finished: its header says nothing of its end.
        if !is_sequential || file_bytes != claimed || number == 0 {
            return None;
        }
        if header.flags.get() & FLAG_LAST_BUFFER == 0 {
            let problem =
                Problem::new(number * buffer_bytes + 0x34, "the last buffer is not marked as the last one");
            return Some(problem.found(format_args!("flags {:#x}", header.flags), "bit 0 set"));
        }
        if self.end_time.abs_diff(header.flushed_at.get()) > END_TOLERANCE {
            let problem = Problem::new(
                END_TIME_AT,
                "the log's end in its header differs from the time at which its last buffer was flushed",
            );
            let flushed_at = FileTime(header.flushed_at.get());
            return Some(problem.found(FileTime(self.end_time).to_log_time(), flushed_at.to_log_time()));
        }
        None
    }
}
