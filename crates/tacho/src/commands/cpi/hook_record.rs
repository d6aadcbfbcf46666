//! Trace hooks as text, CSV and JSON. Schema: docs/json.md.

use std::fmt::Write as _;

use serde::{Serialize, Serializer};
use tachograph_cpi::trace::{Decimal, DetailedValues, Hook, HookKind, SummaryValues};

use super::csv::push_field;
use crate::table::{escape_controls, grouped};

/// A hook with its values.
#[derive(Debug, Serialize)]
pub(super) struct HookRecord {
    offset: u64,
    processor: u32,
    time_stamp: u64,
    minor: u8,
    kind: &'static str,
    elapsed_cycles: Option<u64>,
    label: Option<String>,
    major: u8,
    tid: Option<u32>,
    values: Vec<Values>,
}

/// The values of a scope.
#[derive(Debug, Serialize)]
struct Values {
    scope: String,
    instructions: Option<u64>,
    cycles: Option<u64>,
    cycles_scaled: Option<u64>,
    #[serde(serialize_with = "as_number")]
    cpi: Option<Decimal>,
    #[serde(serialize_with = "as_number")]
    cpi_wb: Option<Decimal>,
    #[serde(serialize_with = "as_number")]
    busy_percent: Option<Decimal>,
}

fn as_number<S: Serializer>(value: &Option<Decimal>, serializer: S) -> Result<S::Ok, S::Error> {
    value.map(Decimal::to_f64).serialize(serializer)
}

/// A CPI; `None` if it is 0, which a trace has if no instructions were counted.
fn known(cpi: Decimal) -> Option<Decimal> {
    Some(cpi).filter(|cpi| (cpi.integral, cpi.fraction) != (0, 0))
}

/// The major code of CPI hooks.
const FACILITY: u8 = 0xC0;

impl Values {
    fn from_summary(scope: String, values: &SummaryValues) -> Self {
        Self {
            scope,
            instructions: None,
            cycles: None,
            cycles_scaled: None,
            cpi: known(values.raw_cpi),
            cpi_wb: values.scaled.and_then(|scaled| known(scaled.cpi)),
            busy_percent: values.scaled.map(|scaled| scaled.busy_percent),
        }
    }

    fn from_detailed(scope: String, values: &DetailedValues) -> Self {
        Self {
            scope,
            instructions: Some(values.instructions),
            cycles: Some(values.cycles),
            cycles_scaled: values.scaled.map(|scaled| scaled.cycles),
            cpi: known(values.cpi),
            cpi_wb: values.scaled.and_then(|scaled| known(scaled.cpi)),
            busy_percent: values.scaled.map(|scaled| scaled.busy_percent),
        }
    }

    fn from_thread(instructions: Option<u64>, cycles: Option<u64>, cpi: Decimal) -> Self {
        Self {
            scope: "thread".to_owned(),
            instructions,
            cycles,
            cycles_scaled: None,
            cpi: known(cpi),
            cpi_wb: None,
            busy_percent: None,
        }
    }
}

fn processor(index: usize) -> String {
    format!("cpu{index}")
}

impl HookRecord {
    pub(super) const CSV_HEADER: &'static str = "offset,processor,time_stamp,minor,kind,elapsed_cycles,label,major,tid,scope,\
                                                 instructions,cycles,cycles_scaled,cpi,cpi_wb,busy_percent\n";

    pub(super) fn from_hook(hook: &Hook) -> Self {
        let mut record = Self {
            offset: hook.offset,
            processor: hook.processor,
            time_stamp: hook.time_stamp,
            minor: hook.minor,
            kind: "other",
            elapsed_cycles: None,
            label: None,
            major: FACILITY,
            tid: None,
            values: Vec::new(),
        };
        let system = || "system".to_owned();
        let (kind, elapsed_cycles) = match &hook.kind {
            HookKind::LabelStart(label) => {
                record.label = Some(label.text().into_owned());
                ("label_start", label.elapsed_cycles)
            }
            HookKind::LabelEnd(label) => {
                record.label = Some(label.text().into_owned());
                ("label_end", label.elapsed_cycles)
            }
            HookKind::Summary(summary) => {
                record.values.push(Values::from_summary(system(), &summary.system));
                let processors = summary.processors.iter().enumerate();
                record
                    .values
                    .extend(processors.map(|(index, values)| Values::from_summary(processor(index), values)));
                record.values.extend(summary.thread_cpi.map(|cpi| Values::from_thread(None, None, cpi)));
                ("summary", summary.elapsed_cycles)
            }
            HookKind::System(hook) => {
                record.values.push(Values::from_detailed(system(), &hook.values));
                ("system", hook.elapsed_cycles)
            }
            HookKind::Processors(hook) => {
                let processors = hook.processors.iter().enumerate();
                record.values.extend(
                    processors.map(|(index, values)| Values::from_detailed(processor(index), values)),
                );
                ("processors", hook.elapsed_cycles)
            }
            HookKind::Thread(thread) => {
                record.tid = Some(thread.tid);
                let (instructions, cycles) = (Some(thread.instructions), Some(thread.cycles));
                record.values.push(Values::from_thread(instructions, cycles, thread.cpi));
                ("thread", thread.elapsed_cycles)
            }
            HookKind::Other(other) => {
                record.major = other.major;
                return record;
            }
            _ => return record,
        };
        record.kind = kind;
        record.elapsed_cycles = Some(elapsed_cycles);
        record
    }

    /// Appends a line for the hook, and one for each scope.
    pub(super) fn push_text(&self, text: &mut String) {
        // Writing into a String cannot fail.
        let _ = write!(text, "{} minor {} {}", self.time_stamp, self.minor, self.kind.replace('_', " "));
        if let Some(label) = &self.label {
            let _ = write!(text, " '{}'", escape_controls(label));
        }
        if let Some(elapsed) = self.elapsed_cycles {
            let _ = write!(text, ", elapsed {}", grouped(&elapsed.to_string()));
        }
        if let Some(tid) = self.tid {
            let _ = write!(text, ", tid {tid}");
        }
        if self.major != FACILITY {
            let _ = write!(text, ", major code {:#04x}, skipped", self.major);
        }
        text.push('\n');
        for values in &self.values {
            let _ = write!(text, "  {:8}", values.scope);
            let counts = [
                ("instructions", values.instructions),
                ("cycles", values.cycles),
                ("cycles_scaled", values.cycles_scaled),
            ];
            for (name, count) in counts {
                if let Some(count) = count {
                    let _ = write!(text, "  {name} {}", grouped(&count.to_string()));
                }
            }
            for (name, value) in
                [("cpi", values.cpi), ("cpi_wb", values.cpi_wb), ("busy%", values.busy_percent)]
            {
                if let Some(value) = value {
                    let _ = write!(text, "  {name} {value}");
                }
            }
            text.push('\n');
        }
    }

    /// Appends a row for each scope, or a single row without a scope if the hook has no values.
    pub(super) fn push_csv(&self, text: &mut String) {
        let mut start =
            format!("{},{},{},{},{}", self.offset, self.processor, self.time_stamp, self.minor, self.kind);
        push_field(&mut start, self.elapsed_cycles);
        push_field(&mut start, self.label.as_deref().map(quoted));
        push_field(&mut start, Some(self.major));
        push_field(&mut start, self.tid);
        for values in &self.values {
            text.push_str(&start);
            push_field(text, Some(&values.scope));
            for count in [values.instructions, values.cycles, values.cycles_scaled] {
                push_field(text, count);
            }
            for value in [values.cpi, values.cpi_wb, values.busy_percent] {
                push_field(text, value.map(Decimal::to_f64));
            }
            text.push('\n');
        }
        if self.values.is_empty() {
            text.push_str(&start);
            text.push_str(",,,,,,,\n");
        }
    }

    pub(super) fn push_json(&self, text: &mut String) {
        text.push_str(&serde_json::to_string(self).expect("numbers and texts are JSON"));
        text.push('\n');
    }
}

/// Quotes a CSV field if necessary.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
