//! What a recording says at its end.

use tachograph_flow::live::LiveCounts;
use tachograph_flow::record::RecordSummary;

use crate::commands::list::duration;
use crate::table::{counted, grouped};

/// How a recording came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// As it was asked to.
    Asked,
    /// At the most size of the file, in bytes.
    Full(u64),
    /// With an error, which is said for itself.
    Failed,
}

/// One line: files, samples, time, counters, values, bytes, and what went wrong up to the last sample that was written.
pub(super) fn line(summary: &RecordSummary, counts: LiveCounts, end: End) -> String {
    if summary.samples == 0 {
        return "stopped before the first sample: nothing is recorded".to_owned();
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
        // What is in a file that could not be finished is not known.
        End::Failed => {}
        End::Asked => line += &format!(", {}", counted(summary.bytes, "byte", "bytes")),
        End::Full(bytes) => {
            line += &format!(", {}", counted(summary.bytes, "byte", "bytes"));
            line +=
                &format!("; ended, since more would be over -max {}", grouped(&(bytes >> 20).to_string()));
        }
    }
    let mut note = |count: u64, one: &str, many: &str| {
        if count > 0 {
            line += "; ";
            line += &counted(count, one, many);
        }
    };
    note(counts.late, "sample was late", "samples were late");
    note(counts.missed, "moment was missed", "moments were missed");
    note(counts.clock_steps, "sample while the clock was set back", "samples while the clock was set back");
    note(counts.unread, "value could not be read", "values could not be read");
    if counts.causes > 1 {
        line += &format!(" ({} causes)", counts.causes);
    }
    line
}
