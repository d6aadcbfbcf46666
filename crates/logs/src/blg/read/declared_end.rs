//! The end of a log according to its header, compared with the file.

use tachograph_counters::civil::FileTime;

use crate::Problem;
use crate::blg::raw::buffer::{BufferHeader, FLAG_LAST_BUFFER};
use crate::blg::raw::event::TACHOGRAPH_PROCESS_ID;
use crate::blg::raw::header::{BUFFERS_WRITTEN_AT, END_TIME_AT, LogfileHeader};

/// Maximum difference between the end time in the header and the flush time of the last buffer. Windows versions before
/// 8 close the file some milliseconds after the flush.
const END_TOLERANCE: u64 = FileTime::PER_MINUTE.unsigned_abs();

/// Length of the header fields from the end time to the number of buffers.
pub(super) const DECLARED_END_BYTES: usize = (BUFFERS_WRITTEN_AT + 4 - END_TIME_AT) as usize;

/// The end of a log according to its header.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeclaredEnd {
    /// Number of buffers, including buffer 0. Too small while a recorder is writing.
    pub(super) buffers: u64,
    end_time: i64,
    /// Whether Tachograph wrote the log.
    is_from_tachograph: bool,
}

impl DeclaredEnd {
    pub(super) fn from_header(header: &LogfileHeader) -> Self {
        let ids = (header.system.thread_id.get(), header.system.process_id.get());
        Self {
            buffers: header.start.buffers_written.get().into(),
            end_time: header.start.end_time.get(),
            is_from_tachograph: matches!(ids, (0, 0 | TACHOGRAPH_PROCESS_ID)),
        }
    }

    /// Updates the fields from the header bytes that start at [`END_TIME_AT`].
    pub(super) fn update(&mut self, fields: &[u8; DECLARED_END_BYTES]) {
        let [end_time @ .., _, _, _, _, _, _, _, _, _, _, _, _, b0, b1, b2, b3] = fields;
        self.end_time = i64::from_le_bytes(*end_time);
        self.buffers = u32::from_le_bytes([*b0, *b1, *b2, *b3]).into();
    }

    /// Compares the declared end with the file's length and the file's last buffer: its index, its header, and the
    /// process id of its first event. In a circular log, that buffer is not necessarily the last one written.
    pub(super) fn check(
        &self,
        file_bytes: u64,
        buffer_bytes: u64,
        is_sequential: bool,
        (index, header, writer): (u64, &BufferHeader, Option<u32>),
    ) -> Option<Problem> {
        // In a circular log written by Windows, the number of buffers can include overwritten ones.
        if !is_sequential && !self.is_from_tachograph {
            return None;
        }
        let declared = self.buffers.saturating_mul(buffer_bytes);
        if file_bytes < declared {
            // When the disk is full, Tachograph ends a file after its last event, without padding. Windows may have
            // written the log before Tachograph appended to it, so the process id in the last buffer decides. Older
            // versions of Tachograph, which could not append, wrote process id 0.
            let is_buffer_from_tachograph =
                writer == Some(TACHOGRAPH_PROCESS_ID) || self.is_from_tachograph && writer == Some(0);
            let lacks_only_padding = is_buffer_from_tachograph
                && index + 1 == self.buffers
                && file_bytes == index * buffer_bytes + u64::from(header.offset.get());
            let problem = Problem::new(file_bytes, "the file is cut short: the header counts more buffers");
            let expected = format!("{declared} bytes: {} buffers", self.buffers);
            return (!lacks_only_padding)
                .then(|| problem.found(format_args!("{file_bytes} bytes"), expected));
        }
        // A longer file is unfinished, and its header is not up to date.
        if !is_sequential || file_bytes != declared || index == 0 {
            return None;
        }
        if header.flags.get() & FLAG_LAST_BUFFER == 0 {
            let problem =
                Problem::new(index * buffer_bytes + 0x34, "the last buffer is not flagged as the last one");
            return Some(problem.found(format_args!("flags {:#x}", header.flags), "bit 0 set"));
        }
        if self.end_time.abs_diff(header.flushed_at.get()) > END_TOLERANCE {
            let problem = Problem::new(
                END_TIME_AT,
                "the end time in the header differs from the flush time of the last buffer",
            );
            let flushed_at = FileTime(header.flushed_at.get());
            return Some(problem.found(FileTime(self.end_time).to_log_time(), flushed_at.to_log_time()));
        }
        None
    }
}
