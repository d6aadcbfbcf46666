//! Rows as lines of JSON. They are written without a serializer: for logs with many counters, its intermediate strings
//! would take more time than the statistics.

use std::io;

use serde::Serialize;
use tachograph_counters::civil::Moment;

use super::counter_texts::CounterTexts;
use super::{
    MAXIMUM_TIME, RowIdentity, StatisticsRow, StatisticsSpan, average_of, identity_of, is_plain_integer,
    kind_word,
};

/// The line of one row. It keeps its memory for the next row.
#[derive(Default)]
pub(in crate::sinks) struct JsonLine {
    line: Vec<u8>,
    counters: CounterTexts,
    /// The times of the previous row, as JSON. Most rows have the same times as the previous row.
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
    /// Writes the line of a row: an object with the columns of a report. The columns of `span` come first, those of `extra`
    /// and `maximum_time` last.
    pub(super) fn write_row<'a>(
        &mut self,
        span: Option<StatisticsSpan>,
        row: &StatisticsRow,
        extra: impl Iterator<Item = (&'a str, Option<f64>)>,
        maximum_time: Option<Option<Moment>>,
    ) -> io::Result<&[u8]> {
        let Self { line, counters, first_time, last_time } = self;
        line.clear();
        if let Some(span) = span {
            write_text(line, ",\"begin\":", &span.begin.rfc3339())?;
            write_text(line, ",\"end\":", &span.end.rfc3339())?;
        }
        write_identity(line, counters, &identity_of(row))?;
        let summary = &row.summary;
        write_text(line, ",\"average_kind\":", kind_word(summary.average_kind))?;
        write_value(line, ",\"values\":", &summary.values)?;
        write_value(line, ",\"errors\":", &summary.errors)?;
        write_number(line, ",\"last\":", summary.last)?;
        write_number(line, ",\"average\":", average_of(row))?;
        write_number(line, ",\"minimum\":", summary.minimum)?;
        write_number(line, ",\"maximum\":", summary.maximum)?;
        let percentiles = [",\"p50\":", ",\"p90\":", ",\"p95\":", ",\"p99\":"];
        for (index, name) in percentiles.into_iter().enumerate() {
            write_number(line, name, summary.quantiles.map(|quantiles| quantiles[index]))?;
        }
        first_time.write(line, ",\"first_time\":", summary.first_time)?;
        last_time.write(line, ",\"last_time\":", summary.last_time)?;
        for (name, figure) in extra {
            write_named_number(line, name, figure)?;
        }
        if let Some(time) = maximum_time {
            write_value(line, &format!(",\"{MAXIMUM_TIME}\":"), &time.map(|time| time.rfc3339()))?;
        }
        Ok(finish_object(line))
    }

    /// Writes the line of a row that consists of these figures and counts.
    pub(in crate::sinks) fn write_figures<'a>(
        &mut self,
        identity: &RowIdentity<'_>,
        mut figures: impl Iterator<Item = (&'a str, Option<f64>)>,
        mut counts: impl Iterator<Item = (&'a str, u64)>,
    ) -> io::Result<&[u8]> {
        let Self { line, counters, .. } = self;
        line.clear();
        write_identity(line, counters, identity)?;
        figures.try_for_each(|(name, figure)| write_named_number(line, name, figure))?;
        counts.try_for_each(|(name, count)| write_value(line, &format!(",\"{name}\":"), &count))?;
        Ok(finish_object(line))
    }
}

/// Completes an object. Each of its fields begins with a comma; the comma of the first field is replaced by the opening
/// brace.
fn finish_object(line: &mut Vec<u8>) -> &[u8] {
    if let Some(first) = line.first_mut() {
        *first = b'{';
    }
    line.push(b'}');
    line
}

fn write_identity(
    line: &mut Vec<u8>,
    counters: &mut CounterTexts,
    identity: &RowIdentity<'_>,
) -> io::Result<()> {
    write_text(line, ",\"path\":", identity.path)?;
    write_optional_text(line, ",\"machine\":", identity.machine)?;
    write_text(line, ",\"set\":", identity.set)?;
    write_optional_text(line, ",\"parent\":", identity.parent)?;
    write_optional_text(line, ",\"instance\":", identity.instance)?;
    write_value(line, ",\"index\":", &identity.index)?;
    line.extend_from_slice(counters.get(identity.counter)?);
    Ok(())
}

impl TimeText {
    fn write(&mut self, line: &mut Vec<u8>, name: &str, time: Option<Moment>) -> io::Result<()> {
        if self.text.is_empty() || self.time != time {
            self.time = time;
            self.text.clear();
            serde_json::to_writer(&mut self.text, &time.map(|time| time.rfc3339()))?;
        }
        line.extend_from_slice(name.as_bytes());
        line.extend_from_slice(&self.text);
        Ok(())
    }
}

/// Writes a field. `name` is its name as JSON, with the comma before it and the colon after it.
fn write_value(line: &mut Vec<u8>, name: &str, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
    line.extend_from_slice(name.as_bytes());
    Ok(serde_json::to_writer(line, value)?)
}

/// Writes a number with full precision. Integers below 10^15 have no decimal point.
fn write_number(line: &mut Vec<u8>, name: &str, number: Option<f64>) -> io::Result<()> {
    match number {
        Some(integer) if is_plain_integer(integer) => write_value(line, name, &(integer as i64)),
        number => write_value(line, name, &number),
    }
}

/// Writes a number whose name has no characters that need escapes.
fn write_named_number(line: &mut Vec<u8>, name: &str, number: Option<f64>) -> io::Result<()> {
    write_number(line, &format!(",\"{name}\":"), number)
}

fn write_optional_text(line: &mut Vec<u8>, name: &str, text: Option<&str>) -> io::Result<()> {
    match text {
        Some(text) => write_text(line, name, text),
        None => write_value(line, name, &()),
    }
}

/// Writes a text as [`write_value`] does.
pub(super) fn write_text(line: &mut Vec<u8>, name: &str, text: &str) -> io::Result<()> {
    if has_any(text, |byte| (byte < b' ') | (byte == b'"')) {
        return write_value(line, name, text);
    }
    line.reserve(name.len() + 2 * text.len() + 2);
    line.extend_from_slice(name.as_bytes());
    line.push(b'"');
    if has_any(text, |byte| byte == b'\\') {
        // Paths have a few backslashes.
        for (index, part) in text.as_bytes().split(|&byte| byte == b'\\').enumerate() {
            if index > 0 {
                line.extend_from_slice(br"\\");
            }
            line.extend_from_slice(part);
        }
    } else {
        line.extend_from_slice(text.as_bytes());
    }
    line.push(b'"');
    Ok(())
}

/// Whether a text has a byte of a kind.
fn has_any(text: &str, is_of_kind: impl Fn(u8) -> bool) -> bool {
    // Without an early exit, the check takes a few instructions for many bytes.
    text.bytes().fold(false, |found, byte| found | is_of_kind(byte))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use tachograph_counters::civil::FileTime;
    use tachograph_counters::set::{Counter, CounterSet, Extent, Instance};
    use tachograph_counters::{AverageKind, CounterType, Summary};

    use super::super::StatisticsFigures;
    use super::*;

    /// A row as `serde` writes it.
    #[derive(Serialize)]
    struct Record<'a> {
        #[serde(flatten)]
        identity: RowIdentity<'a>,
        #[serde(flatten)]
        figures: StatisticsFigures,
    }

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
                is_idle: false,
            },
        )
    }

    /// Texts with every kind of character that JSON escapes, and others.
    fn text() -> impl Strategy<Value = String> {
        prop_oneof!["[a-z ]{0,9}", "[\\\\a\"/]{0,6}", any::<String>()]
    }

    proptest! {
        /// The expected line is the row as `serde` writes it.
        #[test]
        fn lines_equal_those_of_serde(
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
                    maximum_time: None,
                };
                let record = Record { identity: identity_of(&row), figures: StatisticsFigures::from(&row) };
                let mut expected = serde_json::to_string(&record).expect("JSON");
                expected.pop();
                let figure = serde_json::to_string(&super::super::Figure(figure)).expect("JSON");
                let expected = format!("{expected},\"p99.9\":{figure},\"maximum_time\":null}}");
                let extra = [("p99.9", row.extra[0])].into_iter();
                let line = json.write_row(None, &row, extra, Some(None)).expect("a line");
                prop_assert_eq!(std::str::from_utf8(line).expect("UTF-8"), expected);
            }
        }
    }
}
