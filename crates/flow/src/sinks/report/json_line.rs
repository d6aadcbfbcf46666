//! Rows of statistics as lines of JSON. They are written without the intermediate texts that a
//! [`StatisticsRecord`](super::StatisticsRecord) needs: for logs with many counters, that takes longer than the statistics.

use std::io;

use serde::Serialize;
use tachograph_counters::AverageKind;
use tachograph_counters::civil::Moment;

use super::{StatisticsRow, StatisticsSpan, is_plain_integer};

/// The line of one row. It keeps its memory for the next row.
#[derive(Default)]
pub(super) struct JsonLine {
    line: Vec<u8>,
    /// The times of the row before, as JSON. Most rows have the same times as the row before.
    first_time: TimeText,
    last_time: TimeText,
}

/// A time and its JSON text.
#[derive(Default)]
struct TimeText {
    time: Option<Moment>,
    text: Vec<u8>,
}

impl JsonLine {
    /// The line of a row: an object with the fields of a [`StatisticsRecord`](super::StatisticsRecord). The fields of `span`
    /// are before them, and those of `extra` after them.
    pub(super) fn of_row<'a>(
        &mut self,
        span: Option<StatisticsSpan>,
        row: &StatisticsRow,
        extra: impl Iterator<Item = (&'a str, Option<f64>)>,
    ) -> io::Result<&[u8]> {
        let Self { line, first_time, last_time } = self;
        line.clear();
        line.push(b'{');
        if let Some(span) = span {
            write_text(line, "begin", &span.begin.rfc3339())?;
            write_text(line, "end", &span.end.rfc3339())?;
        }
        let instance = row.instance.as_ref();
        write_text(line, "path", &row.path)?;
        write_optional_text(line, "machine", row.machine.as_deref())?;
        write_text(line, "set", &row.set.name)?;
        write_optional_text(line, "parent", instance.and_then(|instance| instance.parent()))?;
        write_optional_text(line, "instance", instance.map(|instance| instance.name()))?;
        write_value(line, "index", &instance.map(|instance| instance.index()))?;
        write_text(line, "counter", &row.counter.name)?;
        write_text(line, "type", &row.counter.counter_type.to_string())?;
        write_text(line, "unit", &row.counter.unit())?;
        let summary = &row.summary;
        let kind = match summary.average_kind {
            AverageKind::Raw => "raw",
            AverageKind::Arithmetic => "arithmetic",
        };
        write_text(line, "average_kind", kind)?;
        write_value(line, "values", &summary.values)?;
        write_value(line, "errors", &summary.errors)?;
        write_number(line, "last", summary.last)?;
        write_number(line, "average", summary.average)?;
        write_number(line, "minimum", summary.minimum)?;
        write_number(line, "maximum", summary.maximum)?;
        for (index, name) in ["p50", "p90", "p95", "p99"].into_iter().enumerate() {
            write_number(line, name, summary.quantiles.map(|quantiles| quantiles[index]))?;
        }
        first_time.write(line, "first_time", summary.first_time)?;
        last_time.write(line, "last_time", summary.last_time)?;
        for (name, figure) in extra {
            write_number(line, name, figure)?;
        }
        line.push(b'}');
        Ok(line)
    }
}

impl TimeText {
    fn write(&mut self, line: &mut Vec<u8>, name: &str, time: Option<Moment>) -> io::Result<()> {
        if self.text.is_empty() || self.time != time {
            self.time = time;
            self.text.clear();
            serde_json::to_writer(&mut self.text, &time.map(|time| time.rfc3339()))?;
        }
        write_name(line, name);
        line.extend_from_slice(&self.text);
        Ok(())
    }
}

/// Writes the name of a field, which has no characters that need escapes.
fn write_name(line: &mut Vec<u8>, name: &str) {
    if line.len() > 1 {
        line.push(b',');
    }
    line.push(b'"');
    line.extend_from_slice(name.as_bytes());
    line.extend_from_slice(b"\":");
}

fn write_value(line: &mut Vec<u8>, name: &str, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
    write_name(line, name);
    Ok(serde_json::to_writer(line, value)?)
}

/// Writes a number with full precision. Integers below 10^15 have no decimal point.
fn write_number(line: &mut Vec<u8>, name: &str, number: Option<f64>) -> io::Result<()> {
    match number {
        Some(integer) if is_plain_integer(integer) => write_value(line, name, &(integer as i64)),
        number => write_value(line, name, &number),
    }
}

fn write_optional_text(line: &mut Vec<u8>, name: &str, text: Option<&str>) -> io::Result<()> {
    match text {
        Some(text) => write_text(line, name, text),
        None => write_value(line, name, &()),
    }
}

fn write_text(line: &mut Vec<u8>, name: &str, text: &str) -> io::Result<()> {
    // Without an early exit, the check takes a few instructions for many characters.
    let is_special = |byte: u8| (byte < b' ') | (byte == b'"');
    if text.bytes().fold(false, |found, byte| found | is_special(byte)) {
        return write_value(line, name, text);
    }
    write_name(line, name);
    line.push(b'"');
    // Paths have backslashes.
    for (index, part) in text.split('\\').enumerate() {
        if index > 0 {
            line.extend_from_slice(br"\\");
        }
        line.extend_from_slice(part.as_bytes());
    }
    line.push(b'"');
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use tachograph_counters::civil::FileTime;
    use tachograph_counters::set::{Counter, CounterSet, Extent, Instance};
    use tachograph_counters::{CounterType, Summary};

    use super::*;
    use crate::sinks::StatisticsRecord;

    fn figure() -> impl Strategy<Value = Option<f64>> {
        let number = prop_oneof![any::<f64>(), Just(0.0), Just(-7.0), Just(1e15), Just(0.1)];
        prop::option::of(number.prop_filter("finite", |number| number.is_finite()))
    }

    fn summary() -> impl Strategy<Value = Summary> {
        let quantiles = prop::option::of(prop::array::uniform4(figure().prop_map(Option::unwrap_or_default)));
        let time = prop::option::of((0..i64::MAX, -60..60i32));
        (any::<[u64; 2]>(), prop::array::uniform4(figure()), quantiles, any::<bool>(), time).prop_map(
            |([values, errors], [last, average, minimum, maximum], quantiles, is_raw, time)| Summary {
                values,
                intervals: values,
                errors,
                last,
                average,
                average_kind: if is_raw { AverageKind::Raw } else { AverageKind::Arithmetic },
                minimum,
                maximum,
                quantiles,
                first_time: time.map(|(utc, bias)| Moment { utc: FileTime(utc), bias_minutes: bias }),
                last_time: None,
            },
        )
    }

    /// Texts with every kind of character that JSON escapes, and others.
    fn text() -> impl Strategy<Value = String> {
        prop_oneof!["[a-z ]{0,9}", "[\\\\a\"/]{0,6}", any::<String>()]
    }

    proptest! {
        /// The yardstick is the record as `serde` writes it.
        #[test]
        fn lines_are_records(
            rows in prop::collection::vec((prop::array::uniform3(text()), summary(), figure()), 1..4),
        ) {
            let mut json = JsonLine::default();
            for ([path, name, instance], summary, figure) in rows {
                let row = StatisticsRow {
                    path,
                    machine: (!name.is_empty()).then(|| name.as_str().into()),
                    set: Arc::new(CounterSet::new("", name.as_str(), Extent::Table)),
                    counter: Counter::new(name.as_str(), CounterType::LARGE_RAWCOUNT, 1),
                    instance: (!instance.is_empty()).then(|| Arc::new(Instance::new(Some("a\\b"), &instance, 3))),
                    summary,
                    extra: Box::new([figure]),
                };
                let mut expected = serde_json::to_string(&StatisticsRecord::from(&row)).expect("JSON");
                expected.pop();
                let figure = serde_json::to_string(&super::super::Figure(figure)).expect("JSON");
                let expected = format!("{expected},\"p99.9\":{figure}}}");
                let line = json.of_row(None, &row, [("p99.9", row.extra[0])].into_iter()).expect("a line");
                prop_assert_eq!(std::str::from_utf8(line).expect("UTF-8"), expected);
            }
        }
    }
}
