//! Counter paths in parts.

use tachograph_counters::path::{CounterPath, InstanceName, split_index};

use crate::{PdhStatus, Result};

/// The longest text that is read as the name of an instance, in characters of UTF-16.
const MAX_INSTANCE_TEXT: usize = 260;

/// The parts of a counter path.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[doc(alias = "PDH_COUNTER_PATH_ELEMENTS")]
pub struct PathElements {
    /// The machine's name without backslashes; `None` where the path leaves it out.
    pub machine: Option<String>,
    /// The counter set.
    pub object: String,
    /// The instance's name without parent and index; `None` for sets without instances.
    pub instance: Option<String>,
    /// The name of the instance's parent.
    pub parent: Option<String>,
    /// 0 for the first instance of its name, 1 for the next.
    pub index: u32,
    /// The counter.
    pub counter: String,
}

/// The parts of an instance's name.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct InstanceElements {
    /// The parent's name, where the text has one.
    pub parent: Option<String>,
    /// The name alone.
    pub name: String,
    /// 0 for the first instance of its name, and where the text has no index.
    pub index: u32,
}

/// The parts of a path.
///
/// The instance is split as [`parse_instance_name`] does. The parts put together again with [`make_counter_path`] are the
/// same path. `flags` must be 0: the forms of WMI classes are not read.
///
/// # Errors
///
/// [`PdhStatus::INVALID_ARGUMENT`] for no text, [`PdhStatus::INVALID_PATH`] for what is no path,
/// [`PdhStatus::NOT_IMPLEMENTED`] for flags.
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

/// The parts of a path that was read.
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

/// A path of its parts: `\\machine\object(parent/instance#index)\counter`.
///
/// The machine may have its two backslashes or not. Without an instance, parent and index are left out; an index of 0 is
/// not written. `flags` must be 0: the forms of WMI classes are not made.
///
/// # Errors
///
/// [`PdhStatus::INVALID_ARGUMENT`] without object or counter, or where the parts make no path, or one of other parts
/// ([`CounterPath`] tells which names can be meant); [`PdhStatus::NOT_IMPLEMENTED`] for flags.
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
    // What comes out must be read as what was meant.
    match CounterPath::parse(&text) {
        Ok(read) if read == path => Ok(text),
        _ => Err(PdhStatus::INVALID_ARGUMENT),
    }
}

fn check_flags(flags: u32) -> Result<()> {
    if flags == 0 { Ok(()) } else { Err(PdhStatus::NOT_IMPLEMENTED) }
}

/// The parts of an instance's name: `instance`, `instance#index`, `parent/instance`, `parent/instance#index`.
///
/// The first `/` ends the parent, unless the text begins with it: names of Linux such as `/home` have no parent. An index
/// that no recorder would write (`Adapter #2`, `x#0`) belongs to the name.
///
/// # Errors
///
/// [`PdhStatus::INVALID_ARGUMENT`] for no text, [`PdhStatus::INVALID_INSTANCE`] for one of 260 characters or more and for
/// an instance without a name.
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
