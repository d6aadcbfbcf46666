//! The message at the end of a recording.

use tachograph_flow::live::LiveCounts;
use tachograph_flow::record::RecordSummary;

use crate::commands::list::duration;
use crate::table::{counted, grouped};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// By a signal, or by -sc or -d.
    Requested,
    /// At the maximum size of the file, in bytes.
    Full(u64),
    /// With an error, which is reported separately.
    Failed,
}

/// Formats the message: files, samples, time, counters, values, bytes, and problems up to the last sample that was
/// written.
///
/// `dropped` is the number of samples that were dropped because the recording was paused or the clock was set back.
pub(super) fn line(summary: &RecordSummary, counts: LiveCounts, dropped: u64, end: End) -> String {
    if summary.samples == 0 && dropped > 0 {
        let dropped = counted(dropped, "sample was", "samples were");
        return format!("nothing was recorded: {dropped} dropped (recording paused, or clock set back)");
    }
    if summary.samples == 0 {
        return "stopped before the first sample: nothing was recorded".to_owned();
    }
    let first = summary.first_file.display();
    let mut line = match summary.last_file.file_name() {
        Some(last) if summary.first_file != summary.last_file => format!("{first} to {}: ", last.display()),
        _ => format!("{first}: "),
    };
    if summary.files > 1 || summary.deleted_files > 0 {
        line += &counted(summary.files, "file", "files");
        if summary.deleted_files > 0 {
            let kept = grouped(&summary.files.saturating_sub(summary.deleted_files).to_string());
            let deleted = grouped(&summary.deleted_files.to_string());
            line += &format!(" ({kept} kept, {deleted} deleted during the recording)");
        }
        line += ", ";
    }
    line += &counted(summary.samples, "sample", "samples");
    if let (Some(first), Some(last)) = (summary.first, summary.last)
        && first != last
    {
        line += &format!(" over {}", duration(last.utc.since(first.utc)));
    }
    line += &format!(
        ", {}, {}",
        counted(summary.counters as u64, "counter", "counters"),
        counted(summary.values, "value", "values")
    );
    match end {
        // The size of a file that could not be completed is unknown.
        End::Failed => {}
        // The size of a database can be unknown.
        End::Requested if summary.bytes == 0 => {}
        End::Requested => line += &format!(", {}", counted(summary.bytes, "byte", "bytes")),
        End::Full(bytes) => {
            line += &format!(", {}", counted(summary.bytes, "byte", "bytes"));
            line += &format!("; ended at -max {}", grouped(&(bytes >> 20).to_string()));
        }
    }
    let mut push_count = |count: u64, one: &str, many: &str| {
        if count > 0 {
            line += "; ";
            line += &counted(count, one, many);
        }
    };
    push_count(
        summary.lost_samples,
        "sample is not in the archive (its segment was deleted, renamed or damaged)",
        "samples are not in the archive (their segments were deleted, renamed or damaged)",
    );
    push_count(
        dropped,
        "sample was dropped (recording paused, or clock set back)",
        "samples were dropped (recording paused, or clock set back)",
    );
    push_count(counts.late, "sample was late", "samples were late");
    push_count(counts.missed, "sample was missed", "samples were missed");
    push_count(
        counts.clock_steps,
        "sample was taken while the clock was set back",
        "samples were taken while the clock was set back",
    );
    push_count(counts.missing_samples, "sample of a machine is missing", "samples of machines are missing");
    push_count(counts.failed_sets, "read of a counter set failed", "reads of counter sets failed");
    push_count(counts.unread, "value could not be read", "values could not be read");
    line
}
