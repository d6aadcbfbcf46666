//! The metrics of a counter: one or two raw numbers, depending on its formula.

use tachograph_counters::{CounterType, Formula, Size, Subtype};
use tachograph_perflib::registration::CounterInfo;

use super::MetricNames;
use super::conventions;
use super::exceptions::{self, Rule};
use super::scale::Scale;
use super::words::{to_plural, valid_inner_words, valid_words, words_of};

/// A raw number of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    /// The counter's own value.
    First,
    /// The value of the counter's base.
    Second,
    /// The multiplier, for a multi-timer.
    Multiplier,
    /// The counter's own value, a double.
    Double,
    /// The counter's own value, a start time.
    Start,
}

impl Part {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::First | Self::Double | Self::Start => "first",
            Self::Second => "second",
            Self::Multiplier => "multiplier",
        }
    }
}

/// The type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A sum that only grows, until it restarts at 0.
    Counter,
    /// A value of the moment.
    Gauge,
}

impl Kind {
    /// The word in the `# TYPE` line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
        }
    }
}

/// A raw number of a counter as a metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Metric {
    pub(super) part: Part,
    pub(super) kind: Kind,
    pub(super) scale: Scale,
    /// The name without the set's prefix and the unit.
    pub(super) stem: String,
    /// The unit, a suffix of the name; empty if there is no unit.
    pub(super) unit: String,
    /// Whether another counter of the set has the same number under the same name.
    pub(super) is_duplicate: bool,
    /// Whether the number is the sum of other raw numbers of the set.
    pub(super) is_sum: bool,
    /// The beginning of the HELP text, before the counter's name. It says how this number relates to the displayed value.
    pub(super) help_prefix: String,
    /// Whether the number wraps at 2^32.
    pub(super) can_wrap: bool,
}

/// The metrics of a counter; none for a text counter.
pub(super) fn metrics_of(set: &str, counter: &CounterInfo, names: MetricNames) -> Vec<Metric> {
    let Some(formula) = counter.counter_type.formula() else { return Vec::new() };
    let mut metrics = derive_metrics(formula, counter, names);
    let is_narrow = |kind: CounterType| kind.size() == Size::Dword;
    let can_wrap = is_narrow(counter.counter_type) || counter.counter_type.base().is_some_and(is_narrow);
    let is_cumulative = exceptions::is_cumulative(set, &counter.name, names);
    metrics.retain_mut(|metric| {
        if metric.part == Part::First && formula == Formula::Value && is_cumulative {
            metric.kind = Kind::Counter;
        }
        match exceptions::rule(set, &counter.name, metric.part, names) {
            Some(Rule::Omitted) => return false,
            Some(Rule::Named { name, is_duplicate, scale }) => {
                let (stem, unit) = exceptions::split_unit(name);
                (metric.stem, metric.unit, metric.is_duplicate) = (stem.into(), unit.into(), is_duplicate);
                metric.scale = scale.unwrap_or(metric.scale);
            }
            None => {}
        }
        if names == MetricNames::Current {
            conventions::apply(set, &counter.name, metric);
        }
        metric.can_wrap = can_wrap && metric.kind == Kind::Counter;
        true
    });
    metrics
}

/// Joins two parts of a name, of which either can be empty.
pub(super) fn join_words(first: &str, second: &str) -> String {
    let separator = if first.is_empty() || second.is_empty() { "" } else { "_" };
    [first, separator, second].concat()
}

/// The beginnings of HELP texts; the name and the help of the counter follow.
const SUM: &str = "Sum; divided by its count it is ";
const COUNT: &str = "Count of the sum; the average is ";
const PART: &str = "Part; as a share of the whole it is ";
const WHOLE: &str = "Whole; the share of the part is ";
const TIME: &str = "Time; as a share of elapsed time it is ";
const TIME_OUTSIDE: &str = "Time in the opposite state; the rest of elapsed time is ";
const SOURCES: &str = "Number of sources whose time is summed; the average share is ";

/// Removes an ending such as `/sec` from a counter's name.
fn without_rate_suffix(name: &str) -> &str {
    const ENDINGS: [&str; 6] = ["/sec", "/s", "/second", " per second", " per sec", " per s"];
    let ending = ENDINGS.iter().find_map(|ending| {
        let (stem, end) = name.split_at_checked(name.len().checked_sub(ending.len())?)?;
        (!stem.is_empty() && end.eq_ignore_ascii_case(ending)).then_some(stem)
    });
    ending.unwrap_or(name)
}

/// The metrics that follow from a counter's formula, before exceptions are applied.
fn derive_metrics(formula: Formula, counter: &CounterInfo, names: MetricNames) -> Vec<Metric> {
    use Kind::{Counter, Gauge};
    use Part::{Double, First, Multiplier, Second, Start};
    const SECONDS: (&str, Scale) = ("seconds", Scale::HUNDRED_NS);
    const PLAIN: (&str, Scale) = ("", Scale::ONE);

    let subtype = counter.counter_type.subtype();
    let name = NameWords::new(formula, counter);
    let make = |part, kind, stem: Vec<String>, (unit, scale): (&str, Scale), help: &str| {
        let (stem, help_prefix) = (name.finish(stem, unit, counter.id), help.to_owned());
        Metric {
            part,
            kind,
            scale,
            stem,
            unit: unit.into(),
            is_duplicate: false,
            is_sum: false,
            help_prefix,
            can_wrap: false,
        }
    };
    let (unit, scale) = base_unit(&counter.unit, names);
    let of_unit = (unit.as_str(), scale);
    let plain = || name.words.clone();
    let base = || name.with_words("base");
    match formula {
        Formula::Value => vec![make(First, Gauge, plain(), of_unit, "")],
        Formula::Double => vec![make(Double, Gauge, plain(), of_unit, "")],
        Formula::Delta => {
            let help = format!("{}, cumulative; the increase is ", without_rate_suffix(&counter.name));
            vec![make(First, Counter, plain(), of_unit, &help)]
        }
        Formula::Rate => {
            let help = format!("{}, cumulative; the rate is ", without_rate_suffix(&counter.name));
            vec![make(First, Counter, plain(), of_unit, &help)]
        }
        Formula::Ratio if matches!(subtype, Subtype::QueueLength) => {
            vec![make(First, Counter, plain(), SECONDS, "Time multiplied by the queue length; the rate is ")]
        }
        Formula::Ratio => vec![
            make(First, Counter, name.sum(), of_unit, SUM),
            make(Second, Counter, name.count(), PLAIN, COUNT),
        ],
        Formula::AverageTime => vec![
            make(First, Counter, name.sum(), SECONDS, SUM),
            make(Second, Counter, name.count(), PLAIN, COUNT),
        ],
        Formula::Percent if matches!(subtype, Subtype::Fraction) => {
            vec![make(First, Counter, plain(), PLAIN, PART), make(Second, Counter, base(), PLAIN, WHOLE)]
        }
        Formula::Percent if matches!(subtype, Subtype::Precision) => vec![
            make(First, Counter, plain(), SECONDS, TIME),
            make(Second, Counter, base(), SECONDS, "Elapsed time, of which a share is "),
        ],
        Formula::Percent => vec![make(First, Counter, plain(), SECONDS, TIME)],
        Formula::InversePercent => vec![make(First, Counter, name.inverted_name(), SECONDS, TIME_OUTSIDE)],
        Formula::MultiPercent => vec![
            make(First, Counter, plain(), SECONDS, TIME),
            make(Multiplier, Gauge, name.with_words("sources"), PLAIN, SOURCES),
        ],
        Formula::MultiInversePercent => vec![
            make(First, Counter, name.inverted_name(), SECONDS, TIME_OUTSIDE),
            make(Multiplier, Gauge, name.with_words("sources"), PLAIN, SOURCES),
        ],
        Formula::Fraction => vec![
            make(First, Gauge, name.with_words("numerator"), PLAIN, PART),
            make(Second, Gauge, name.with_words("denominator"), PLAIN, WHOLE),
        ],
        Formula::Elapsed => vec![make(
            Start,
            Gauge,
            name.with_words("start_time"),
            SECONDS,
            "Unix time of the start; the time since then is ",
        )],
    }
}

/// The base unit of a unit, and the scale that converts raw numbers to it.
fn base_unit(unit: &str, names: MetricNames) -> (String, Scale) {
    if names == MetricNames::Current
        && let Some((unit, scale)) = conventions::base_unit(unit)
    {
        return (unit.into(), scale);
    }
    let (name, scale) = match unit {
        "" | "1/s" | "count" | "items" | "#" => ("", Scale::ONE),
        "bytes" | "byte" | "B" | "bytes/s" | "B/s" => ("bytes", Scale::ONE),
        "KB" | "KiB" | "kB" | "KB/s" => ("bytes", Scale::new(1 << 10, 0)),
        "MB" | "MiB" | "MB/s" => ("bytes", Scale::new(1 << 20, 0)),
        "GB" | "GiB" => ("bytes", Scale::new(1 << 30, 0)),
        "bits" => ("bytes", Scale::new(125, 3)),
        "bits/s" => ("bytes_per_second", Scale::new(125, 3)),
        "%" | "percent" => ("ratio", Scale::new(1, 2)),
        "seconds" | "s" | "second" | "sec" => ("seconds", Scale::ONE),
        "ms" | "milliseconds" | "ms/s" => ("seconds", Scale::new(1, 3)),
        "us" | "µs" | "microseconds" => ("seconds", Scale::new(1, 6)),
        "100 ns" | "100ns" => ("seconds", Scale::HUNDRED_NS),
        "ns" | "nanoseconds" => ("seconds", Scale::new(1, 9)),
        "minutes" | "min" => ("seconds", Scale::new(60, 0)),
        "hours" | "h" => ("seconds", Scale::new(3600, 0)),
        "days" | "d" => ("seconds", Scale::new(86_400, 0)),
        "Hz" => ("hertz", Scale::ONE),
        "kHz" => ("hertz", Scale::new(1000, 0)),
        "MHz" => ("hertz", Scale::new(1_000_000, 0)),
        "GHz" => ("hertz", Scale::new(1_000_000_000, 0)),
        "°C" => ("celsius", Scale::ONE),
        "m°C" => ("celsius", Scale::new(1, 3)),
        "V" => ("volts", Scale::ONE),
        "mV" => ("volts", Scale::new(1, 3)),
        "A" => ("amperes", Scale::ONE),
        "J" => ("joules", Scale::ONE),
        "W" => ("watts", Scale::ONE),
        other => {
            let other = other.strip_suffix("/s").unwrap_or(other);
            return (valid_words(&words_of(other)).join("_"), Scale::ONE);
        }
    };
    (name.into(), scale)
}

/// A counter's name, split into words.
struct NameWords {
    /// The words, without those that denote the formula, such as `Avg.` or `/sec`.
    words: Vec<String>,
    /// The words of A and of B in `A/B` or `A Per B`.
    per: Option<(Vec<String>, Vec<String>)>,
}

impl NameWords {
    fn new(formula: Formula, counter: &CounterInfo) -> Self {
        let mut words = words_of(&counter.name);
        let is_average = words.len() > 1 && matches!(words[0].as_str(), "avg" | "average");
        if is_average && formula.needs_two_samples() {
            words.remove(0);
        }
        if words.len() > 1 && words[0] == "of" {
            words.remove(0);
        }
        if matches!(formula, Formula::Rate) {
            let is_slashed = counter.name.contains('/');
            if let [.., before, last] = words.as_slice()
                && matches!(last.as_str(), "s" | "sec" | "second")
            {
                let rate_words = if before == "per" && words.len() > 2 { 2 } else { usize::from(is_slashed) };
                words.truncate(words.len() - rate_words);
            }
            // In `Bytes Total/sec`, "total" is redundant, because every metric of this kind is a total.
            if words.len() > 1 && words.last().is_some_and(|last| last == "total") {
                words.pop();
            }
        }
        if matches!(formula, Formula::Elapsed) {
            while words
                .last()
                .is_some_and(|last| matches!(last.as_str(), "time" | "elapsed" | "up" | "uptime"))
            {
                words.pop();
            }
        }
        let is_timer = matches!(counter.counter_type.formula(), Some(f) if f.needs_two_samples())
            && counter.unit.as_ref() == "%";
        if is_timer && words.len() > 1 && words.last().is_some_and(|last| last == "time") {
            words.pop();
        }
        let per = || {
            if let Some((_, right)) = counter.name.rsplit_once('/') {
                let right = words_of(right);
                let length = words.len().checked_sub(right.len())?;
                return (!right.is_empty()).then(|| (words[..length].to_vec(), right));
            }
            let per = words.iter().position(|word| word == "per")?;
            let (left, right) = (&words[..per], &words[per + 1..]);
            (!right.is_empty()).then(|| (left.to_vec(), right.to_vec()))
        };
        Self { per: per(), words }
    }

    /// The words, followed by those of `more`, which are separated by `_`.
    fn with_words(&self, more: &str) -> Vec<String> {
        let mut words = valid_words(&self.words);
        words.extend(more.split('_').map(str::to_owned));
        words
    }

    /// The name of an inverse timer's raw number, which is the time in the opposite state.
    fn inverted_name(&self) -> Vec<String> {
        std::iter::once("non".to_owned()).chain(self.words.iter().cloned()).collect()
    }

    /// The name of the numerator of an average.
    fn sum(&self) -> Vec<String> {
        match &self.per {
            Some((left, right)) => left.iter().chain(right).cloned().collect(),
            None => self.words.clone(),
        }
    }

    /// The name of the base of an average.
    fn count(&self) -> Vec<String> {
        match &self.per {
            Some((left, right)) => {
                let is_counted =
                    |word: &&String| !is_word_of_unit(word, "bytes") && !is_word_of_unit(word, "seconds");
                let mut words: Vec<String> = left.iter().filter(is_counted).chain(right).cloned().collect();
                if let Some(last) = words.last_mut() {
                    *last = to_plural(last);
                }
                words
            }
            None => self.with_words("base"),
        }
    }

    /// Joins the words to a stem. Words that name the unit are left out, because the unit follows the stem.
    fn finish(&self, words: Vec<String>, unit: &str, id: u32) -> String {
        let kept: Vec<String> =
            words.iter().filter(|word| unit.is_empty() || !is_word_of_unit(word, unit)).cloned().collect();
        let valid = if unit.is_empty() { valid_words(&kept) } else { valid_inner_words(&kept) };
        let mut stem = valid.join("_");
        if stem.is_empty() && (unit.is_empty() || words.is_empty()) {
            stem = format!("number_{id}");
        }
        stem
    }
}

fn is_word_of_unit(word: &str, unit: &str) -> bool {
    match unit {
        "bytes" => matches!(
            word,
            "byte"
                | "bytes"
                | "kb"
                | "kbytes"
                | "kilobytes"
                | "mb"
                | "mbytes"
                | "megabytes"
                | "gb"
                | "gbytes"
                | "gigabytes"
        ),
        "seconds" => {
            matches!(word, "sec" | "secs" | "second" | "seconds" | "ms" | "milliseconds" | "us" | "ns")
        }
        "ratio" => matches!(word, "percent" | "percentage" | "ratio"),
        "hertz" => matches!(word, "mhz" | "hertz" | "hz"),
        "celsius" => word == "celsius",
        other => other == word,
    }
}

#[cfg(test)]
mod tests;
