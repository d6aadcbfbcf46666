//! Reads the header: the time zone and the columns.

use std::collections::HashSet;
use std::io::Read;

use tachograph_counters::wildcard::fold_case;

use super::super::column::ColumnGrouper;
use super::super::excerpt;
use super::super::header::parse_zone;
use super::TextReader;
use super::rows::{RowEnd, is_blank};
use crate::{LogError, Problem, ReadOptions};

impl<R: Read> TextReader<R> {
    pub(super) fn read_header(&mut self, options: &ReadOptions) -> Result<(), LogError> {
        let end = loop {
            let Some(end) = self.read_row()? else {
                return Err(LogError::not_a_log("the file has no header"));
            };
            // The output of typeperf starts with an empty line.
            if end == RowEnd::InsideCell || !is_blank(&self.record) {
                break end;
            }
        };
        let offset = self.row_offset();
        if end == RowEnd::InsideCell {
            self.record.truncate(self.record.len().saturating_sub(1));
            self.problems.push(Problem::new(offset, "the header is cut short; its last cell is skipped"));
        }
        let first = self.record.get(0).unwrap_or_default();
        match parse_zone(&String::from_utf8_lossy(first), self.facts.format) {
            Some(zone) => self.facts.zone = zone,
            None => self.problems.push(
                Problem::new(offset, "the time zone is unreadable; local times are read as UTC").found(
                    excerpt::of_cell(first),
                    "a name and minutes, such as '(Pacific Standard Time)(480)'",
                ),
            ),
        }
        let is_blank = |cell: &[u8]| cell.trim_ascii().is_empty();
        // Blank cells at the end are PdhUpdateLog's comment, or follow a separator at the end of the line.
        let mut cells = self.record.len();
        while cells > 1 && self.record.get(cells - 1).is_some_and(is_blank) {
            cells -= 1;
        }
        let memory = options.budget.reserve(0).map_err(LogError::over_budget)?;
        let mut grouper = ColumnGrouper::new(options.grouping, memory);
        let mut paths = HashSet::new();
        for (index, cell) in self.record.iter().enumerate().take(cells).skip(1) {
            let text = String::from_utf8_lossy(cell);
            // The last cell of a line that ends in CR LF includes the CR.
            let text = text.trim_end_matches('\r');
            if index + 1 == cells && !text.starts_with(['\\', '/']) {
                // This is the description of a collector, or PdhUpdateLog's comment.
                self.has_comment = true;
                continue;
            }
            self.columns += 1;
            if !paths.insert(fold_case(text)) {
                self.is_repeated.resize(index, false);
                self.is_repeated.push(true);
                self.problems.push_with(offset, || Problem {
                    found: Some(excerpt::of_cell(cell)),
                    ..Problem::new(
                        offset,
                        format!("column {index} has the path of an earlier column; it is ignored"),
                    )
                });
                continue;
            }
            let error = grouper.push(text).map_err(|over| {
                let all = self.record.iter().take(cells).skip(1);
                LogError::over_budget(grouper.with_all_columns(over, all))
            })?;
            if let Some(error) = error {
                self.problems.push_with(offset, || Problem {
                    found: Some(excerpt::of_cell(cell)),
                    ..Problem::new(
                        offset,
                        format!(
                            "column {index} is not a counter path; its text becomes a counter name: {error}"
                        ),
                    )
                });
            }
        }
        (self.groups, self.reservation) = grouper.finish();
        Ok(())
    }
}
