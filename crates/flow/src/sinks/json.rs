//! Writing JSON, one line per sample.

use std::collections::HashSet;
use std::io::Write;

use tachograph_counters::sample::Sample;

use super::Formatter;
use crate::union::UnionScan;
use crate::{FlowError, Sink};

/// Writes one JSON object per sample and line: `{"time":"...","values":{"\\\\M\\Set(i)\\Counter":12.5,...}}`. The time
/// is RFC 3339 with offset; a value that there is not is `null`. Schema: docs/json.md.
///
/// Takes samples of a [`Union`](crate::Union) over the same scan.
pub struct JsonSink<W> {
    out: W,
    formatter: Formatter,
    /// For each column its key as JSON; empty for a repetition of an earlier column, since a key stands once.
    keys: Vec<String>,
    line: String,
}

impl<W: Write> JsonSink<W> {
    /// A sink for the columns of a scan.
    pub fn new(out: W, scan: &UnionScan) -> Self {
        let formatter = Formatter::new(scan);
        let mut seen = HashSet::new();
        let keys = formatter
            .columns()
            .map(|column| {
                let set = &column.group.set;
                let path = set.path(column.instance, column.counter);
                // Instances compare with case: on Linux two of them may differ in it alone.
                let key = (
                    set.machine.to_lowercase(),
                    set.name.to_lowercase(),
                    column.instance.label().to_owned(),
                    column.counter.name.to_lowercase(),
                );
                if seen.insert(key) { serde_json::Value::String(path).to_string() } else { String::new() }
            })
            .collect();
        Self { out, formatter, keys, line: String::new() }
    }
}

impl<W: Write> Sink for JsonSink<W> {
    fn take(&mut self, sample: &Sample) -> Result<(), FlowError> {
        let cells = self.formatter.format(sample);
        if sample.is_baseline {
            return Ok(());
        }
        self.line.clear();
        self.line.push_str("{\"time\":\"");
        self.line.push_str(&sample.at.rfc3339());
        self.line.push_str("\",\"values\":{");
        let mut separator = "";
        for (cell, key) in cells.iter().zip(&self.keys).filter(|(_, key)| !key.is_empty()) {
            self.line.push_str(separator);
            separator = ",";
            self.line.push_str(key);
            self.line.push(':');
            super::report::push_number(&mut self.line, *cell);
        }
        self.line.push_str("}}\n");
        self.out.write_all(self.line.as_bytes()).map_err(FlowError::Output)
    }

    fn finish(&mut self) -> Result<(), FlowError> {
        self.out.flush().map_err(FlowError::Output)
    }
}
