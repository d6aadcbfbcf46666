//! Counter paths and their parts.

use tachograph_counters::path::{CounterPath, InstanceName, split_index};

use crate::{PdhStatus, Result};

/// Instance names must be shorter than this, in UTF-16 code units.
const MAX_INSTANCE_TEXT: usize = 260;

/// The parts of a counter path.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[doc(alias = "PDH_COUNTER_PATH_ELEMENTS")]
pub struct PathElements {
    /// The machine's name without backslashes; `None` if the path has none.
    pub machine: Option<String>,
    /// The counter set.
    pub object: String,
    /// The instance's name without parent and index; `None` if the path has none.
    pub instance: Option<String>,
    /// The name of the instance's parent.
    pub parent: Option<String>,
    /// The n of `name#n`: 0 for the first instance with its name, 1 for the next.
    pub index: u32,
    /// The counter.
    pub counter: String,
}

/// The parts of an instance's name.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct InstanceElements {
    /// The parent's name, if any.
    pub parent: Option<String>,
    /// The name without parent and index.
    pub name: String,
    /// The n of `name#n`; 0 if the text has none.
    pub index: u32,
}

/// Splits a counter path.
///
/// The instance is split as in [`parse_instance_name`]. [`make_counter_path`] is the inverse. `flags` must be 0: WMI
/// paths are not supported.
///
/// # Errors
///
/// [`PdhStatus::INVALID_ARGUMENT`] for an empty path, [`PdhStatus::INVALID_PATH`] for a malformed one,
/// [`PdhStatus::NOT_IMPLEMENTED`] for other flags.
///
/// ```
/// let parts = tachograph_pdh::parse_counter_path(r"\\web1\Thread(explorer/7#2)\% Processor Time", 0)?;
/// assert_eq!(parts.machine.as_deref(), Some("web1"));
/// assert_eq!((parts.parent.as_deref(), parts.instance.as_deref(), parts.index), (Some("explorer"), Some("7"), 2));
/// # Ok::<(), tachograph_pdh::PdhStatus>(())
/// ```
#[doc(alias = "PdhParseCounterPathW")]
#[doc(alias = "PdhParseCounterPathA")]
pub fn parse_counter_path(path: &str, flags: u32) -> Result<PathElements> {
    check_flags(flags)?;
    if path.is_empty() {
        return Err(PdhStatus::INVALID_ARGUMENT);
    }
    CounterPath::parse(path).map(elements_of).map_err(|_| PdhStatus::INVALID_PATH)
}

pub(crate) fn elements_of(path: CounterPath) -> PathElements {
    let mut elements = PathElements {
        machine: path.machine,
        object: path.set,
        counter: path.counter,
        ..PathElements::default()
    };
    if let Some(instance) = path.instance {
        let InstanceElements { parent, name, index } = split_instance(instance.as_str());
        elements = PathElements { parent, instance: Some(name), index, ..elements };
    }
    elements
}

/// Combines parts into a path: `\\machine\object(parent/instance#index)\counter`.
///
/// The machine may include its two backslashes. Without an instance, parent and index are ignored; an index of 0 is not
/// written. `flags` must be 0: WMI paths are not supported.
///
/// # Errors
///
/// [`PdhStatus::INVALID_ARGUMENT`] without object or counter, and for parts that cannot be expressed as a path
/// ([`CounterPath`] describes the rules); [`PdhStatus::NOT_IMPLEMENTED`] for other flags.
#[doc(alias = "PdhMakeCounterPathW")]
#[doc(alias = "PdhMakeCounterPathA")]
pub fn make_counter_path(elements: &PathElements, flags: u32) -> Result<String> {
    check_flags(flags)?;
    let PathElements { machine, object, instance, parent, index, counter } = elements;
    if object.is_empty() || counter.is_empty() {
        return Err(PdhStatus::INVALID_ARGUMENT);
    }
    let machine =
        machine.as_deref().map(|name| name.trim_start_matches('\\')).filter(|name| !name.is_empty());
    let instance = instance.as_deref().map(|name| InstanceName::from_parts(parent.as_deref(), name, *index));
    let path = CounterPath {
        machine: machine.map(str::to_owned),
        set: object.clone(),
        instance,
        counter: counter.clone(),
    };
    let text = path.to_string();
    // The path must parse back to the same parts.
    match CounterPath::parse(&text) {
        Ok(parsed) if parsed == path => Ok(text),
        _ => Err(PdhStatus::INVALID_ARGUMENT),
    }
}

fn check_flags(flags: u32) -> Result<()> {
    if flags == 0 { Ok(()) } else { Err(PdhStatus::NOT_IMPLEMENTED) }
}

/// Splits an instance's name: `instance`, `instance#index`, `parent/instance`, `parent/instance#index`.
///
/// The first `/` ends the parent's name, unless it is the first character: Linux names such as `/home` have no parent. A
/// suffix that no recorder would write as an index (`Adapter #2`, `x#0`) is part of the name.
///
/// # Errors
///
/// [`PdhStatus::INVALID_ARGUMENT`] for an empty text, [`PdhStatus::INVALID_INSTANCE`] for 260 or more characters and
/// for an empty name.
#[doc(alias = "PdhParseInstanceNameW")]
#[doc(alias = "PdhParseInstanceNameA")]
pub fn parse_instance_name(text: &str) -> Result<InstanceElements> {
    if text.is_empty() {
        return Err(PdhStatus::INVALID_ARGUMENT);
    }
    let elements = split_instance(text);
    if elements.name.is_empty() || text.encode_utf16().count() >= MAX_INSTANCE_TEXT {
        return Err(PdhStatus::INVALID_INSTANCE);
    }
    Ok(elements)
}

fn split_instance(text: &str) -> InstanceElements {
    let (parent, rest) = match text.split_once('/') {
        Some((parent, rest)) if !parent.is_empty() => (Some(parent.to_owned()), rest),
        _ => (None, text),
    };
    let (name, index) = split_index(rest);
    InstanceElements { parent, name: name.to_owned(), index }
}
