//! Writing samples as JSON, one line per sample.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io;

use tachograph_counters::civil::Moment;
use tachograph_counters::sample::Sample;

use super::Formatter;
use crate::union::UnionScan;
use crate::{FlowError, Sink};

/// Writes one JSON object per sample, each on its own line: `{"time":"...","values":{"\\\\M\\Set(i)\\Counter":12.5,...}}`. The time
/// is RFC 3339 with offset; a missing value is `null`. Schema: docs/json.md. There is no value for an interval in which an instance
/// name passed to another process.
///
/// Requires samples of a [`Union`](crate::Union) over the same scan.
pub struct JsonSink<W> {
    out: W,
    formatter: Formatter,
    /// For each column, its key as JSON, including the colon. Empty if an earlier column has the same key.
    keys: Vec<String>,
    line: Line,
}

/// The JSON object of one sample.
#[derive(Default)]
pub(super) struct Line {
    text: String,
    has_values: bool,
}

impl Line {
    /// Starts the object of a sample.
    pub(super) fn begin(&mut self, at: Moment) {
        self.text.clear();
        self.has_values = false;
        // Writing into a String cannot fail.
        let _ = write!(self.text, "{{\"time\":\"{at}\",\"values\":{{");
    }

    /// Adds a value. The concatenated parts of `key` are the key as JSON, including the colon.
    pub(super) fn value<const PARTS: usize>(&mut self, key: [&str; PARTS], value: Option<f64>) {
        if std::mem::replace(&mut self.has_values, true) {
            self.text.push(',');
        }
        key.iter().for_each(|part| self.text.push_str(part));
        super::report::push_number(&mut self.text, value);
    }

    pub(super) fn end(&mut self, out: &mut impl io::Write) -> io::Result<()> {
        self.text.push_str("}}\n");
        out.write_all(self.text.as_bytes())
    }
}

impl<W: io::Write> JsonSink<W> {
    /// A sink for the columns of a scan.
    pub fn new(out: W, scan: &UnionScan) -> Self {
        let mut formatter = Formatter::new(scan);
        formatter.pairs_by_identity = true;
        let mut seen = HashSet::new();
        let keys = formatter
            .columns()
            .map(|column| {
                let set = &column.group.set;
                let path = set.path(column.instance, column.counter);
                // Instance names are case-sensitive: on Linux, `x` and `X` are two instances.
                let key = (
                    set.machine.to_lowercase(),
                    set.name.to_lowercase(),
                    column.instance.label().to_owned(),
                    column.counter.name.to_lowercase(),
                );
                if seen.insert(key) {
                    serde_json::Value::String(path).to_string() + ":"
                } else {
                    String::new()
                }
            })
            .collect();
        Self { out, formatter, keys, line: Line::default() }
    }
}

impl<W: io::Write> Sink for JsonSink<W> {
    fn push(&mut self, sample: &Sample) -> Result<(), FlowError> {
        let cells = self.formatter.format(sample);
        if sample.is_baseline {
            return Ok(());
        }
        self.line.begin(sample.at);
        for (cell, key) in cells.iter().zip(&self.keys).filter(|(_, key)| !key.is_empty()) {
            self.line.value([key], *cell);
        }
        self.line.end(&mut self.out).map_err(FlowError::Output)
    }

    fn finish(&mut self) -> Result<(), FlowError> {
        self.out.flush().map_err(FlowError::Output)
    }
}
