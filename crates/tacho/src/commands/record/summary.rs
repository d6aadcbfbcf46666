//! What a recording says at its end.

use tachograph_flow::live::LiveReport;
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

/// One line: files, samples, time, counters, values, bytes, and what was not as it should be.
pub(super) fn line(summary: &RecordSummary, report: &LiveReport, end: End) -> String {
    if summary.samples == 0 {
        return "stopped before the first sample: nothing is recorded".to_owned();
    }
    let first = summary.first_file.display();
    let mut line = match summary.files {
        0 | 1 => format!("{first}: "),
        // The others were renamed or deleted.
        files if summary.first_file == summary.last_file => {
            format!("{first}: {}, ", counted(files, "file", "files"))
        }
        files => format!(
            "{first} to {}: {}, ",
            summary.last_file.file_name().unwrap_or_default().display(),
            counted(files, "file", "files")
        ),
    };
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
    let troubles = report.troubles();
    let failed = troubles.iter().map(|trouble| trouble.count).sum();
    let mut note = |count: u64, one: &str, many: &str| {
        if count > 0 {
            line += "; ";
            line += &counted(count, one, many);
        }
    };
    note(report.late(), "sample was late", "samples were late");
    note(report.missed(), "moment was missed", "moments were missed");
    note(report.clock_steps(), "sample while the clock was set back", "samples while the clock was set back");
    note(failed, "value could not be read", "values could not be read");
    if troubles.len() > 1 {
        line += &format!(" ({} causes)", troubles.len());
    }
    line
}
