//! What is exported of a counter: by its formula, one or two raw numbers.

use tachograph_counters::{CounterType, Formula, Size, Subtype};
use tachograph_perflib::registration::CounterInfo;

use super::exceptions::{self, Rule};
use super::number::Scale;
use super::words::{fit, fit_within, plural, words_of};

/// A raw number of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    /// The counter's own value.
    First,
    /// That of its base.
    Second,
    /// The multiplier of a multi-timer.
    Multiplier,
    /// The own value as a double.
    Double,
    /// The own value as the moment at which something began.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
}

impl Kind {
    /// As `# TYPE` has it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
        }
    }
}

/// A number of a counter as a metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Metric {
    pub(super) part: Part,
    pub(super) kind: Kind,
    pub(super) scale: Scale,
    /// The name after the set's, without the unit.
    pub(super) stem: String,
    /// The unit, which the name ends in; empty where there is none.
    pub(super) unit: String,
    /// Whether another counter of the set shows the same number, under the same name.
    pub(super) is_view: bool,
    /// What HELP says before the counter's name: what the number is to the value that the counter's help tells of.
    pub(super) about: String,
    /// Whether the number may begin again at 0 after 2^32.
    pub(super) can_wrap: bool,
}

/// The metrics of a counter of this set; none for one that has no number.
pub(super) fn metrics_of(set: &str, counter: &CounterInfo) -> Vec<Metric> {
    let Some(formula) = counter.counter_type.formula() else { return Vec::new() };
    let mut metrics = derived(formula, counter);
    let is_narrow = |kind: CounterType| kind.size() == Size::Dword;
    let can_wrap = is_narrow(counter.counter_type) || counter.counter_type.base().is_some_and(is_narrow);
    let is_cumulative = exceptions::is_cumulative(set, &counter.name);
    metrics.retain_mut(|metric| {
        if metric.part == Part::First && formula == Formula::Value && is_cumulative {
            metric.kind = Kind::Counter;
        }
        match exceptions::rule(set, &counter.name, metric.part) {
            Some(Rule::LeftOut) => return false,
            Some(Rule::Named { name, is_view, scale }) => {
                let (stem, unit) = exceptions::split_unit(name);
                (metric.stem, metric.unit, metric.is_view) = (stem.into(), unit.into(), is_view);
                metric.scale = scale.unwrap_or(metric.scale);
            }
            None => {}
        }
        metric.can_wrap = can_wrap && metric.kind == Kind::Counter;
        true
    });
    metrics
}

const SUM: &str = "Sum; over its number it is ";
const NUMBER: &str = "Number that the sum is over; that is ";
const PARTS: &str = "Part; its share of all is ";
const ALL: &str = "All of which the part is a share; that is ";
const TIME: &str = "Time; its share of all time is ";
const TIME_OUTSIDE: &str = "Time outside; what it leaves of all time is ";
const SOURCES: &str = "How many add up their time; the mean share of one is ";

/// What a counter counts: its name without what says that Windows shows the rate of it.
fn counted(name: &str) -> &str {
    const ENDINGS: [&str; 6] = ["/sec", "/s", "/second", " per second", " per sec", " per s"];
    let ending = ENDINGS.iter().find_map(|ending| {
        let (stem, end) = name.split_at_checked(name.len().checked_sub(ending.len())?)?;
        (!stem.is_empty() && end.eq_ignore_ascii_case(ending)).then_some(stem)
    });
    ending.unwrap_or(name)
}

/// The table of all formulas.
fn derived(formula: Formula, counter: &CounterInfo) -> Vec<Metric> {
    use Kind::{Counter, Gauge};
    use Part::{Double, First, Multiplier, Second, Start};
    const SECONDS: (&str, Scale) = ("seconds", Scale::HUNDRED_NS);
    const PLAIN: (&str, Scale) = ("", Scale::ONE);

    let subtype = counter.counter_type.subtype();
    let name = Name::of(formula, counter);
    let make = |part, kind, stem: Vec<String>, (unit, scale): (&str, Scale), about: &str| {
        let (stem, about) = (name.finish(stem, unit, counter.id), about.to_owned());
        Metric { part, kind, scale, stem, unit: unit.into(), is_view: false, about, can_wrap: false }
    };
    let (unit, scale) = base_unit(&counter.unit);
    let of_unit = (unit.as_str(), scale);
    let plain = || name.whole.clone();
    let base = || name.with("base");
    match formula {
        Formula::Value => vec![make(First, Gauge, plain(), of_unit, "")],
        Formula::Double => vec![make(Double, Gauge, plain(), of_unit, "")],
        Formula::Delta => {
            let about = format!("{}, counted up; the increase is ", counted(&counter.name));
            vec![make(First, Counter, plain(), of_unit, &about)]
        }
        Formula::Rate => {
            let about = format!("{}, counted up; the rate is ", counted(&counter.name));
            vec![make(First, Counter, plain(), of_unit, &about)]
        }
        Formula::Ratio if matches!(subtype, Subtype::QueueLength) => {
            vec![make(First, Counter, plain(), SECONDS, "Time, times how many waited; the rate is ")]
        }
        Formula::Ratio => vec![
            make(First, Counter, name.sum(), of_unit, SUM),
            make(Second, Counter, name.count(), PLAIN, NUMBER),
        ],
        Formula::AverageTime => vec![
            make(First, Counter, name.sum(), SECONDS, SUM),
            make(Second, Counter, name.count(), PLAIN, NUMBER),
        ],
        Formula::Percent if matches!(subtype, Subtype::Fraction) => {
            vec![make(First, Counter, plain(), PLAIN, PARTS), make(Second, Counter, base(), PLAIN, ALL)]
        }
        Formula::Percent if matches!(subtype, Subtype::Precision) => vec![
            make(First, Counter, plain(), SECONDS, TIME),
            make(Second, Counter, base(), SECONDS, "All of the time, of which a share is "),
        ],
        Formula::Percent => vec![make(First, Counter, plain(), SECONDS, TIME)],
        Formula::InversePercent => vec![make(First, Counter, name.complement(), SECONDS, TIME_OUTSIDE)],
        Formula::MultiPercent => vec![
            make(First, Counter, plain(), SECONDS, TIME),
            make(Multiplier, Gauge, name.with("sources"), PLAIN, SOURCES),
        ],
        Formula::MultiInversePercent => vec![
            make(First, Counter, name.complement(), SECONDS, TIME_OUTSIDE),
            make(Multiplier, Gauge, name.with("sources"), PLAIN, SOURCES),
        ],
        Formula::Fraction => vec![
            make(First, Gauge, name.with("numerator"), PLAIN, PARTS),
            make(Second, Gauge, name.with("denominator"), PLAIN, ALL),
        ],
        Formula::Elapsed => vec![make(
            Start,
            Gauge,
            name.with("start_time"),
            SECONDS,
            "Unix time of the beginning; the time since then is ",
        )],
    }
}

/// The unit of a formatted value in base units, and the way there.
fn base_unit(unit: &str) -> (String, Scale) {
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
            return (fit(&words_of(other)).join("_"), Scale::ONE);
        }
    };
    (name.into(), scale)
}

/// A counter's name, taken apart.
struct Name {
    /// Without what says how it is computed: `%`, `Avg.`, `/sec`.
    whole: Vec<String>,
    /// Of `A/B` and `A Per B`: A and B.
    per: Option<(Vec<String>, Vec<String>)>,
}

impl Name {
    fn of(formula: Formula, counter: &CounterInfo) -> Self {
        let mut words = words_of(&counter.name);
        let average = words.len() > 1 && matches!(words[0].as_str(), "avg" | "average");
        if average && formula.needs_two_samples() {
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
                let both = if before == "per" && words.len() > 2 { 2 } else { usize::from(is_slashed) };
                words.truncate(words.len() - both);
            }
            // `Bytes Total/sec`: every counter is a total.
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
                let place = words.len().checked_sub(right.len())?;
                return (!right.is_empty()).then(|| (words[..place].to_vec(), right));
            }
            let place = words.iter().position(|word| word == "per")?;
            let (left, right) = (&words[..place], &words[place + 1..]);
            (!right.is_empty()).then(|| (left.to_vec(), right.to_vec()))
        };
        Self { per: per(), whole: words }
    }

    fn with(&self, more: &str) -> Vec<String> {
        let mut words = fit(&self.whole);
        words.extend(more.split('_').map(str::to_owned));
        words
    }

    /// The name of what an inverse type counts.
    fn complement(&self) -> Vec<String> {
        std::iter::once("non".to_owned()).chain(self.whole.iter().cloned()).collect()
    }

    /// The name of the numerator of an average.
    fn sum(&self) -> Vec<String> {
        match &self.per {
            Some((left, right)) => left.iter().chain(right).cloned().collect(),
            None => self.whole.clone(),
        }
    }

    /// The name of the base of an average: what is counted.
    fn count(&self) -> Vec<String> {
        match &self.per {
            Some((left, right)) => {
                let is_counted =
                    |word: &&String| !is_word_of_unit(word, "bytes") && !is_word_of_unit(word, "seconds");
                let mut words: Vec<String> = left.iter().filter(is_counted).chain(right).cloned().collect();
                if let Some(last) = words.last_mut() {
                    *last = plural(last);
                }
                words
            }
            None => self.with("base"),
        }
    }

    /// The words without those that only say the unit, which is written behind them.
    fn finish(&self, words: Vec<String>, unit: &str, id: u32) -> String {
        let kept: Vec<String> =
            words.iter().filter(|word| unit.is_empty() || !is_word_of_unit(word, unit)).cloned().collect();
        let fitted = if unit.is_empty() { fit(&kept) } else { fit_within(&kept) };
        let mut stem = fitted.join("_");
        if stem.is_empty() && (unit.is_empty() || words.is_empty()) {
            stem = format!("number_{id}");
        }
        stem
    }
}

/// Whether a word says no more than the unit does.
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
