//! Appends to an existing text log.

use std::io::{Read, Seek, SeekFrom, Write};

use tachograph_counters::sample::Sample;
use tachograph_counters::wildcard::eq_ignore_case;

use super::TextEncoding;
use super::column::ColumnGroup;
use super::reader::TextReader;
use super::writer::{Column, ExistingLog, TextWriter};
use crate::{LogError, SetLength};

impl<W: Read + Write + Seek + SetLength> TextWriter<W> {
    /// Appends to the CSV or TSV log in `out`, after its last row and in its time zone. Reads the whole log to find
    /// the time of that row.
    ///
    /// A last row that a crash truncated is removed ([`cut_bytes`](Self::cut_bytes)); if it lacks only its line
    /// end, the line end is added.
    ///
    /// # Errors
    ///
    /// When reading or writing fails, or `out` is not a text log; [`LogError::is_unsupported`] if its columns differ
    /// from `columns` (compared case-insensitively; the message names the first difference) or repeat a path, if the log
    /// names no time zone, or if it is not in UTF-8.
    pub fn append(mut out: W, columns: Vec<Column>) -> Result<Self, LogError> {
        let unsupported = |why: String| LogError::unsupported(format!("cannot append: {why}"));
        out.rewind().map_err(LogError::io)?;
        let mut reader = TextReader::new(&mut out)?;
        if let Some(difference) =
            column_difference(reader.header().0.iter().flat_map(ColumnGroup::paths), &columns)
        {
            return Err(unsupported(difference));
        }
        if reader.has_repeated_columns() {
            return Err(unsupported(
                "several columns of the log have the same path; relog it first".to_owned(),
            ));
        }
        let mut sample = Sample::default();
        let mut last_time = None;
        while let Some(at) = reader.next_time(&mut sample)? {
            last_time = last_time.max(Some(at));
            reader.update_digits();
        }
        let digits = reader.digits();
        if !matches!(reader.encoding(), TextEncoding::Utf8 | TextEncoding::Utf8WithBom) {
            return Err(unsupported("the log is not in UTF-8; use relog -a".to_owned()));
        }
        let facts = reader.header().1.clone();
        if !facts.is_zone_known() {
            return Err(unsupported("the log names no time zone".to_owned()));
        }
        let kept_bytes = reader.truncated_at().unwrap_or(facts.file_bytes).min(facts.file_bytes);
        drop(reader);
        let line_end = missing_line_end(&mut out, kept_bytes)?;
        if kept_bytes < facts.file_bytes {
            // Only complete lines can be kept.
            if !line_end.is_empty() {
                return Err(unsupported("the log's last row is damaged; relog it first".to_owned()));
            }
            out.set_length(kept_bytes).map_err(LogError::io)?;
        }
        out.seek(SeekFrom::Start(kept_bytes)).map_err(LogError::io)?;
        out.write_all(line_end).map_err(LogError::io)?;
        let existing = ExistingLog {
            bytes: kept_bytes + line_end.len() as u64,
            last_time,
            cut_bytes: facts.file_bytes - kept_bytes,
            digits,
        };
        Ok(Self::new(out, facts.format, facts.zone, columns)?.continuing(&existing))
    }
}

/// Returns the missing part of the line end before offset `at`.
fn missing_line_end<R: Read + Seek>(out: &mut R, at: u64) -> Result<&'static [u8], LogError> {
    let mut last = [0];
    out.seek(SeekFrom::Start(at.saturating_sub(1))).map_err(LogError::io)?;
    out.read_exact(&mut last).map_err(LogError::io)?;
    Ok(match last {
        [b'\n'] => b"",
        [b'\r'] => b"\n",
        _ => b"\r\n",
    })
}

/// Describes the first difference between the columns of a log and the new ones.
fn column_difference(mut existing: impl Iterator<Item = String>, new: &[Column]) -> Option<String> {
    for column in new {
        match existing.next() {
            Some(old) if eq_ignore_case(&old, &column.path) => {}
            Some(old) => return Some(format!("the log has '{old}' where the rows have '{}'", column.path)),
            None => return Some(format!("the log has no '{}'", column.path)),
        }
    }
    existing.next().map(|old| format!("the rows have no '{old}'"))
}
