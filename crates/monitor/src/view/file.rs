//! The TOML form of a view.

mod document;

use std::ops;
use std::time::Duration;

use tachograph_counters::civil::TimeArgument;
use tachograph_counters::path::PathPattern;
use tachograph_flow::WindowBounds;
use toml::Spanned;

use self::document::{ReadAlternative, ReadAnnotation, ReadCounter, ReadPanel, ReadRange, ReadView};
use super::annotation::{MAX_ANNOTATIONS, MAX_TEXT};
use super::{Annotation, Axis, AxisScale, MAX_SHARE, MAX_TOP, Panel, View, ViewError, ViewKind};
use crate::legend::{Alternative, Chosen, Settings};
use crate::live::{MAX_POINTS, MIN_POINTS};
use crate::palette::{STYLES, Style};
use crate::scale::{MAX_EXPONENT, MIN_EXPONENT, Scale};
use crate::table::{TableSettings, TreeKind};

/// The supported versions of the format.
const VERSIONS: ops::RangeInclusive<i64> = 1..=2;

/// Range of the interval in seconds, as on the command line.
const INTERVALS: ops::RangeInclusive<f64> = 0.001..=366.0 * 24.0 * 3600.0;

/// The text of a view file. Errors name the line of a position in it.
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
        self.path_at(text.get_ref(), text.span())
    }

    fn path_at(&self, text: &str, range: ops::Range<usize>) -> Result<PathPattern, ViewError> {
        PathPattern::parse(text)
            .map_err(|error| self.error_at(range, format_args!("'{text}' is not a counter path: {error}")))
    }

    fn alternative(&self, read: &Spanned<ReadAlternative>) -> Result<Alternative, ViewError> {
        let ReadAlternative { path, label } = read.get_ref();
        Ok(Alternative { path: self.path_at(path, read.span())?, label: label.clone() })
    }

    fn time(&self, text: &Option<Spanned<String>>) -> Result<Option<TimeArgument>, ViewError> {
        let Some(text) = text else { return Ok(None) };
        let read = TimeArgument::parse(text.get_ref());
        read.map(Some).map_err(|error| self.error_at(text.span(), error))
    }

    fn range(&self, read: &ReadRange) -> Result<(Option<TimeArgument>, Option<TimeArgument>), ViewError> {
        let (begin, end) = (self.time(&read.begin)?, self.time(&read.end)?);
        match &read.end {
            Some(text) if (WindowBounds { begin, end }).are_empty() => {
                Err(self.error_at(text.span(), "the range ends before it begins"))
            }
            _ => Ok((begin, end)),
        }
    }

    fn annotation(&self, read: ReadAnnotation) -> Result<Annotation, ViewError> {
        let range = ReadRange { begin: Some(read.begin.clone()), end: read.end };
        let (begin, end) = self.range(&range)?;
        if read.text.get_ref().chars().count() > MAX_TEXT {
            let message = format_args!("text: longer than {MAX_TEXT} characters");
            return Err(self.error_at(read.text.span(), message));
        }
        match begin {
            Some(begin) => Ok(Annotation { begin, end, text: read.text.into_inner() }),
            None => Err(self.error_at(read.begin.span(), "begin: expected a time")),
        }
    }

    /// A range of values, from low to high.
    fn band(&self, read: &Spanned<[f64; 2]>) -> Result<[f64; 2], ViewError> {
        match *read.get_ref() {
            [low, high] if low.is_finite() && high.is_finite() && low < high => Ok([low, high]),
            [low, high] => {
                let message =
                    format_args!("bands has [{low}, {high}]: expected two finite numbers, the lower first");
                Err(self.error_at(read.span(), message))
            }
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
        let alternatives = read.alternatives.iter().map(|read| self.alternative(read));
        Ok(Chosen {
            path,
            settings,
            except: read.except.into_iter().map(Spanned::into_inner).collect(),
            alternatives: alternatives.collect::<Result<_, _>>()?,
            label: read.label,
            only_active: read.only_active,
            is_capacity: read.capacity,
        })
    }

    /// The value of a name in `choices`.
    fn choice<T: Copy>(
        &self,
        key: &str,
        name: &Option<Spanned<String>>,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, ViewError> {
        let Some(name) = name else { return Ok(None) };
        let found = choices.iter().find(|(known, _)| known == name.get_ref());
        let names = || {
            let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
            match names.split_last() {
                Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
                _ => names.concat(),
            }
        };
        found.map(|(_, choice)| Some(*choice)).ok_or_else(|| {
            let message = format_args!("{key} is '{}': expected {}", name.get_ref(), names());
            self.error_at(name.span(), message)
        })
    }

    fn finite(&self, key: &str, number: &Spanned<f64>) -> Result<f64, ViewError> {
        match number.get_ref() {
            value if value.is_finite() => Ok(*value),
            value => {
                Err(self.error_at(number.span(), format_args!("{key} is {value}: expected a finite number")))
            }
        }
    }

    fn axis(&self, read: &ReadPanel) -> Result<Axis, ViewError> {
        let scales = AxisScale::ALL.map(|scale| (scale.name(), scale));
        let scale = self.choice("axis", &read.axis, &scales)?.unwrap_or(AxisScale::Linear);
        let end = |key: &str, number: &Option<Spanned<f64>>| {
            number.as_ref().map(|number| self.finite(key, number)).transpose()
        };
        let (min, max) = (end("min", &read.min)?, end("max", &read.max)?);
        let keys = [("min", &read.min), ("max", &read.max)];
        for (key, number) in keys.iter().filter_map(|(key, number)| Some((key, number.as_ref()?))) {
            if scale == AxisScale::Scaled {
                let message = format_args!("{key}: an axis of kind scaled is from 0 to 100");
                return Err(self.error_at(number.span(), message));
            }
            if scale == AxisScale::Logarithmic && *number.get_ref() <= 0.0 {
                let message = format_args!("{key} is {}: a logarithmic axis is above 0", number.get_ref());
                return Err(self.error_at(number.span(), message));
            }
        }
        match (min, max, &read.max) {
            (min, Some(max), Some(number)) if max <= min.unwrap_or(0.0) => {
                Err(self.error_at(number.span(), "max: the axis ends before it begins"))
            }
            _ => Ok(Axis { scale, min, max }),
        }
    }

    fn table(&self, read: &ReadPanel, kind: ViewKind) -> Result<TableSettings, ViewError> {
        if kind != ViewKind::Table {
            let positions = [
                ("set", read.set.as_ref().map(Spanned::span)),
                ("machine", read.machine.as_ref().map(Spanned::span)),
                ("columns", read.columns.as_ref().map(Spanned::span)),
                ("sort", read.sort.as_ref().map(Spanned::span)),
                ("reversed", read.reversed.as_ref().map(Spanned::span)),
                ("tree", read.tree.as_ref().map(Spanned::span)),
                ("filter", read.filter.as_ref().map(Spanned::span)),
                ("kernel_threads", read.kernel_threads.as_ref().map(Spanned::span)),
            ];
            if let Some((key, span)) = positions.into_iter().find_map(|(key, span)| Some((key, span?))) {
                let message = format_args!("{key}: only a panel of kind table has it");
                return Err(self.error_at(span, message));
            }
        }
        if let (Some(top), false) = (&read.top, kind == ViewKind::Table || kind.has_lines()) {
            return Err(self.error_at(top.span(), "top: only a panel of kind table, line or area has it"));
        }
        let trees = [TreeKind::Parent, TreeKind::Cgroup].map(|tree| (tree.name(), tree));
        let text = |text: &Option<Spanned<String>>| text.as_ref().map(|text| text.get_ref().clone());
        if let Some(machine) = &read.machine
            && (machine.get_ref().is_empty() || machine.get_ref().contains('\\'))
        {
            return Err(self.error_at(machine.span(), "machine: expected a name without backslashes"));
        }
        Ok(TableSettings {
            set: text(&read.set),
            machine: text(&read.machine),
            columns: read.columns.as_ref().map(|columns| columns.get_ref().clone()).unwrap_or_default(),
            sort: text(&read.sort),
            reversed: read.reversed.as_ref().is_some_and(|reversed| *reversed.get_ref()),
            top: self.top(read)?.filter(|_| kind == ViewKind::Table),
            tree: self.choice("tree", &read.tree, &trees)?.unwrap_or_default(),
            filter: text(&read.filter).unwrap_or_default(),
            kernel_threads: read.kernel_threads.as_ref().is_some_and(|shown| *shown.get_ref()),
        })
    }

    /// The number of rows or lines.
    fn top(&self, read: &ReadPanel) -> Result<Option<usize>, ViewError> {
        Ok(self.optional_integer("top", &read.top, 1..MAX_TOP as i64 + 1)?.map(|top| top as usize))
    }

    fn min_size(&self, size: &Option<Spanned<Vec<i64>>>) -> Result<Option<(u16, u16)>, ViewError> {
        let Some(size) = size else { return Ok(None) };
        let number = |number: &i64| u16::try_from(*number).ok().filter(|number| *number > 0);
        match &size.get_ref()[..] {
            [columns, lines] => number(columns).zip(number(lines)),
            _ => None,
        }
        .map(Some)
        .ok_or_else(|| self.error_at(size.span(), "min_size: expected columns and lines, such as [120, 40]"))
    }

    fn panel(&self, read: ReadPanel) -> Result<Panel, ViewError> {
        let kinds = ViewKind::ALL.map(|kind| (kind.name(), kind));
        let kind = self.choice("kind", &read.kind, &kinds)?.unwrap_or_default();
        let share = |key: &str, number: &Option<Spanned<i64>>| {
            let share = self.optional_integer(key, number, 1..i64::from(MAX_SHARE) + 1)?;
            Ok(share.map_or(1, |share| share as u8))
        };
        let limits = read.limits.iter().map(|limit| self.finite("limits", limit));
        Ok(Panel {
            kind,
            unit: read.unit.clone(),
            axis: self.axis(&read)?,
            limits: limits.collect::<Result<_, _>>()?,
            bands: read.bands.iter().map(|band| self.band(band)).collect::<Result<_, _>>()?,
            max_lines: self.top(&read)?.filter(|_| kind.has_lines()),
            table: self.table(&read, kind)?,
            width: share("width", &read.width)?,
            height: share("height", &read.height)?,
            min_size: self.min_size(&read.min_size)?,
            title: read.title,
            counters: read
                .counter
                .into_iter()
                .map(|counter| self.counter(counter))
                .collect::<Result<_, _>>()?,
        })
    }
}

/// The maximum number of panels.
const MAX_PANELS: usize = 100;

/// The maximum number of counters in the first line.
const MAX_HEADLINE: usize = 10;

/// The panel of a file of version 1.
fn only_panel(
    lines: &Lines<'_>,
    kind: &Option<Spanned<String>>,
    counters: Vec<Spanned<ReadCounter>>,
) -> Result<Panel, ViewError> {
    let kinds = [
        ("line", ViewKind::Line),
        ("histogram", ViewKind::Bars),
        ("report", ViewKind::Report),
        ("table", ViewKind::Table),
    ];
    let counters = counters.into_iter().map(|counter| lines.counter(counter.into_inner()));
    Ok(Panel {
        kind: lines.choice("view", kind, &kinds)?.unwrap_or_default(),
        counters: counters.collect::<Result<_, _>>()?,
        ..Panel::default()
    })
}

/// Rejects keys that only another version of the format has.
fn check_keys(lines: &Lines<'_>, read: &ReadView, version: i64) -> Result<(), ViewError> {
    let keys_of_version_1 = [
        ("view", read.view.as_ref().map(Spanned::span), "a panel has a kind"),
        ("counter", read.counter.first().map(Spanned::span), "counters are in [[panel.counter]]"),
    ];
    let keys_of_version_2 = [
        ("title", read.title.as_ref().map(Spanned::span), "set version = 2"),
        ("optional", read.optional.as_ref().map(Spanned::span), "set version = 2"),
        ("group_by", read.group_by.as_ref().map(Spanned::span), "set version = 2"),
        ("panel", read.panel.first().map(Spanned::span), "set version = 2"),
        ("headline", read.headline.first().map(Spanned::span), "set version = 2"),
        ("annotation", read.annotation.first().map(Spanned::span), "set version = 2"),
    ];
    let other = if version == 1 { &keys_of_version_2[..] } else { &keys_of_version_1[..] };
    let found = other.iter().find_map(|(key, span, advice)| Some((key, span.clone()?, advice)));
    match found {
        Some((key, span, advice)) => {
            Err(lines.error_at(span, format_args!("{key} is not a key of version {version}: {advice}")))
        }
        None => Ok(()),
    }
}

pub(super) fn parse(text: &str) -> Result<View, ViewError> {
    let lines = Lines(text);
    let read: ReadView = toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| lines.line_of(span));
        // The parser's own message repeats the line.
        ViewError::new(line, error.message().lines().next().unwrap_or("not TOML"))
    })?;
    let version = *read.version.get_ref();
    if !VERSIONS.contains(&version) {
        let message = format_args!(
            "version {version} is unknown: this program supports versions {} and {}; a newer program wrote the file",
            VERSIONS.start(),
            VERSIONS.end(),
        );
        return Err(lines.error_at(read.version.span(), message));
    }
    check_keys(&lines, &read, version)?;
    let interval = match &read.interval {
        Some(seconds) if !INTERVALS.contains(seconds.get_ref()) => {
            let message =
                format_args!("interval is {}: expected seconds from 0.001 to a year", seconds.get_ref());
            return Err(lines.error_at(seconds.span(), message));
        }
        seconds => seconds.as_ref().map(|seconds| Duration::from_secs_f64(*seconds.get_ref())),
    };
    let points = lines.optional_integer("points", &read.points, MIN_POINTS as i64..MAX_POINTS as i64 + 1)?;
    let (begin, end) = match &read.range {
        None => (None, None),
        Some(range) => lines.range(range)?,
    };
    let panels = if version == 1 {
        vec![only_panel(&lines, &read.view, read.counter)?]
    } else {
        if let Some(panel) = read.panel.get(MAX_PANELS) {
            let message = format_args!("panel: more than {MAX_PANELS} panels");
            return Err(lines.error_at(panel.span(), message));
        }
        read.panel.into_iter().map(|panel| lines.panel(panel.into_inner())).collect::<Result<_, _>>()?
    };
    if let Some(counter) = read.headline.get(MAX_HEADLINE) {
        let message = format_args!("headline: more than {MAX_HEADLINE} counters");
        return Err(lines.error_at(counter.span(), message));
    }
    if let Some(annotation) = read.annotation.get(MAX_ANNOTATIONS) {
        let message = format_args!("annotation: more than {MAX_ANNOTATIONS} annotations");
        return Err(lines.error_at(annotation.span(), message));
    }
    let sums_names = match &read.group_by {
        Some(group_by) if group_by.get_ref() != "name" => {
            let message = format_args!("group_by is '{}': expected 'name'", group_by.get_ref());
            return Err(lines.error_at(group_by.span(), message));
        }
        group_by => group_by.is_some(),
    };
    let annotations = read.annotation.into_iter().map(|one| lines.annotation(one.into_inner()));
    let headline = read.headline.into_iter().map(|counter| lines.counter(counter.into_inner()));
    Ok(View {
        headline: headline.collect::<Result<_, _>>()?,
        title: read.title.map(Spanned::into_inner),
        interval,
        points: points.map(|points| points as usize),
        panels,
        is_optional: read.optional.is_some_and(Spanned::into_inner),
        sums_names,
        begin,
        end,
        annotations: annotations.collect::<Result<_, _>>()?,
    })
}
