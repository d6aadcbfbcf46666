//! The TOML form of a view.

use std::ops;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tachograph_counters::civil::{Moment, TimeArgument};
use tachograph_counters::path::PathPattern;
use tachograph_flow::WindowBounds;
use toml::Spanned;

use super::{View, ViewError, ViewKind};
use crate::legend::{Chosen, Settings};
use crate::live::{MAX_POINTS, MIN_POINTS};
use crate::palette::{STYLES, Style};
use crate::scale::{MAX_EXPONENT, MIN_EXPONENT, Scale};
use crate::table::TableSettings;

/// The supported version of the format.
const VERSION: i64 = 1;

/// Range of the interval in seconds, as on the command line.
const INTERVALS: ops::RangeInclusive<f64> = 0.001..=366.0 * 24.0 * 3600.0;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadView {
    version: Spanned<i64>,
    interval: Option<Spanned<f64>>,
    points: Option<Spanned<i64>>,
    view: Option<Spanned<String>>,
    range: Option<Range<Spanned<String>>>,
    table: Option<TableSettings>,
    #[serde(default)]
    counter: Vec<ReadCounter>,
}

/// The time range; `S` is a text with or without its position.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Range<S> {
    #[serde(skip_serializing_if = "Option::is_none")]
    begin: Option<S>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<S>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadCounter {
    path: Spanned<String>,
    colour: Option<Spanned<i64>>,
    scale: Option<Spanned<i64>>,
    #[serde(default = "yes")]
    shown: bool,
    #[serde(default)]
    highlighted: bool,
    #[serde(default)]
    except: Vec<Spanned<String>>,
}

fn yes() -> bool {
    true
}

struct Lines<'a>(&'a str);

impl Lines<'_> {
    fn line_of(&self, range: ops::Range<usize>) -> usize {
        let before = self.0.as_bytes().get(..range.start).unwrap_or_default();
        1 + before.iter().filter(|&&byte| byte == b'\n').count()
    }

    fn error_at(&self, range: ops::Range<usize>, message: impl std::fmt::Display) -> ViewError {
        ViewError::new(Some(self.line_of(range)), message)
    }

    /// Checks that an integer, if present, is in a range.
    fn optional_integer(
        &self,
        name: &str,
        number: &Option<Spanned<i64>>,
        range: ops::Range<i64>,
    ) -> Result<Option<i64>, ViewError> {
        let Some(number) = number else { return Ok(None) };
        if range.contains(number.get_ref()) {
            return Ok(Some(*number.get_ref()));
        }
        let (min, max) = (range.start, range.end - 1);
        Err(self.error_at(
            number.span(),
            format_args!("{name} is {}: expected an integer from {min} to {max}", number.get_ref()),
        ))
    }

    fn path(&self, text: &Spanned<String>) -> Result<PathPattern, ViewError> {
        PathPattern::parse(text.get_ref()).map_err(|error| {
            self.error_at(text.span(), format_args!("'{}' is not a counter path: {error}", text.get_ref()))
        })
    }

    fn time(&self, text: &Option<Spanned<String>>) -> Result<Option<TimeArgument>, ViewError> {
        let Some(text) = text else { return Ok(None) };
        let read = TimeArgument::parse(text.get_ref());
        read.map(Some).map_err(|error| self.error_at(text.span(), error))
    }

    fn range(
        &self,
        read: &Range<Spanned<String>>,
    ) -> Result<(Option<TimeArgument>, Option<TimeArgument>), ViewError> {
        let (begin, end) = (self.time(&read.begin)?, self.time(&read.end)?);
        match &read.end {
            Some(text) if (WindowBounds { begin, end }).are_empty() => {
                Err(self.error_at(text.span(), "the range ends before it begins"))
            }
            _ => Ok((begin, end)),
        }
    }

    fn counter(&self, read: ReadCounter) -> Result<Chosen, ViewError> {
        let path = self.path(&read.path)?;
        let colour = self.optional_integer("colour", &read.colour, 1..STYLES as i64 + 1)?;
        let exponents = i64::from(MIN_EXPONENT)..i64::from(MAX_EXPONENT) + 1;
        let scale = self.optional_integer("scale", &read.scale, exponents)?;
        for path in &read.except {
            if !self.path(path)?.is_literal() {
                let message =
                    format_args!("'{}' in except has a wildcard: list counters one by one", path.get_ref());
                return Err(self.error_at(path.span(), message));
            }
        }
        let settings = Settings {
            style: colour.map(|colour| Style(colour as usize - 1)),
            scale: scale.map_or(Scale::Default, |exponent| Scale::Exponent(exponent as i32)),
            is_shown: read.shown,
            is_highlighted: read.highlighted,
        };
        Ok(Chosen { path, settings, except: read.except.into_iter().map(Spanned::into_inner).collect() })
    }
}

pub(super) fn parse(text: &str) -> Result<View, ViewError> {
    let lines = Lines(text);
    let read: ReadView = toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| lines.line_of(span));
        // The parser's own message repeats the line.
        ViewError::new(line, error.message().lines().next().unwrap_or("not TOML"))
    })?;
    if *read.version.get_ref() != VERSION {
        let message = format_args!(
            "version {} is unknown: this program supports version {VERSION}; a newer program wrote the file",
            read.version.get_ref()
        );
        return Err(lines.error_at(read.version.span(), message));
    }
    let interval = match &read.interval {
        Some(seconds) if !INTERVALS.contains(seconds.get_ref()) => {
            let message =
                format_args!("interval is {}: expected seconds from 0.001 to a year", seconds.get_ref());
            return Err(lines.error_at(seconds.span(), message));
        }
        seconds => seconds.as_ref().map(|seconds| Duration::from_secs_f64(*seconds.get_ref())),
    };
    let points = lines.optional_integer("points", &read.points, MIN_POINTS as i64..MAX_POINTS as i64 + 1)?;
    let kind = match &read.view {
        None => ViewKind::default(),
        Some(name) => {
            let found = ViewKind::ALL.into_iter().find(|kind| kind.name() == name.get_ref());
            found.ok_or_else(|| {
                let message =
                    format_args!("view is '{}': expected line, histogram, report or table", name.get_ref());
                lines.error_at(name.span(), message)
            })?
        }
    };
    let (begin, end) = match &read.range {
        None => (None, None),
        Some(range) => lines.range(range)?,
    };
    let counters = read.counter.into_iter().map(|counter| lines.counter(counter));
    Ok(View {
        interval,
        points: points.map(|points| points as usize),
        kind,
        counters: counters.collect::<Result<_, _>>()?,
        begin,
        end,
        table: read.table,
    })
}

#[derive(Serialize)]
struct WrittenView<'a> {
    version: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    points: Option<usize>,
    view: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<Range<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    table: Option<&'a TableSettings>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    counter: Vec<WrittenCounter<'a>>,
}

#[derive(Serialize)]
struct WrittenCounter<'a> {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    colour: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scale: Option<i32>,
    #[serde(skip_serializing_if = "is_true")]
    shown: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    highlighted: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    except: Vec<&'a str>,
}

fn is_true(value: &bool) -> bool {
    *value
}

impl<'a> WrittenCounter<'a> {
    fn of(chosen: &'a Chosen) -> Self {
        let Settings { style, scale, is_shown, is_highlighted } = chosen.settings;
        Self {
            path: chosen.path.to_string(),
            colour: style.map(|style| style.0 % STYLES + 1),
            scale: match scale {
                Scale::Default => None,
                Scale::Exponent(exponent) => Some(exponent),
            },
            shown: is_shown,
            highlighted: is_highlighted,
            // `parse` rejects a path with `*` or `?`, even in a name.
            except: chosen.except.iter().map(String::as_str).filter(|path| is_literal(path)).collect(),
        }
    }
}

fn is_literal(path: &str) -> bool {
    PathPattern::parse(path).is_ok_and(|path| path.is_literal())
}

/// A time as the user wrote it: with its UTC offset if known.
fn time_text(time: TimeArgument) -> String {
    let text = |utc| Moment { utc, bias_minutes: 0 }.rfc3339();
    match time {
        TimeArgument::Utc(utc) => text(utc),
        TimeArgument::Local(local) => text(local).trim_end_matches("+00:00").to_owned(),
    }
}

pub(super) fn text_of(view: &View) -> String {
    let has_range = view.begin.is_some() || view.end.is_some();
    let written = WrittenView {
        version: VERSION,
        interval: view.interval.map(|interval| interval.as_secs_f64()),
        points: view.points,
        view: view.kind.name(),
        range: has_range.then(|| Range { begin: view.begin.map(time_text), end: view.end.map(time_text) }),
        table: view.table.as_ref(),
        counter: view.counters.iter().map(WrittenCounter::of).collect(),
    };
    // Every field has a TOML form.
    toml::to_string(&written).unwrap_or_default()
}
