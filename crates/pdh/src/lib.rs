//! A Rust version of the Performance Data Helper (PDH) API: queries of this machine's counters or of logs, formatted
//! values, statistics, and counter paths. `capi` exports it to C programs as `pdh.h`.
//!
//! Each function has its C names as search aliases. Buffer sizes, UTF-16 strings and handles are implemented by `capi`.

#![forbid(unsafe_code)]

mod collector;
mod expand;
mod find;
mod format;
mod known_sets;
mod log;
mod objects;
mod path;
mod query;
mod raw;
mod record;
mod source;
mod statistics;
mod status;

pub use collector::Collector;
pub use expand::{NO_EXPAND_COUNTERS, NO_EXPAND_INSTANCES, REFRESH_COUNTERS};
pub use format::{Format, FormattedValue, NoValue, Value, flags};
pub use log::{LogHandle, LogType, access};
pub use objects::ObjectItems;
pub use path::{InstanceElements, PathElements, make_counter_path, parse_counter_path, parse_instance_name};
pub use query::{CounterId, CounterInfo, FormattedItem, Query, RawItem};
pub use raw::{CounterKind, RawCounter, calculate_from_raw, format_from_raw};
pub use record::RawLogRecord;
pub use source::{DataSource, TimeRange};
pub use statistics::{Statistics, compute_statistics};
pub use status::{PdhStatus, Result};
