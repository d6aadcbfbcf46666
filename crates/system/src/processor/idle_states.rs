//! `/sys/devices/system/cpu/cpu*/cpuidle`: the time spent in each idle state of a processor, and the number of
//! entries.

use crate::number_file::SmallFile;
use crate::processor::topology::numbered_entries;
use crate::roots::Roots;

/// The classes of idle states on Windows: C1, C2 and C3.
pub(super) const CLASSES: usize = 3;

/// The idle states of a processor.
#[derive(Debug)]
pub(super) struct IdleStates {
    states: Vec<State>,
}

#[derive(Debug)]
struct State {
    /// 0 to 2 for C1 to C3; `None` for busy waiting.
    class: Option<usize>,
    time: SmallFile,
    usage: SmallFile,
}

/// Times in 100 ns and numbers of entries, by class, and the number of entries into all states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct IdleSums {
    pub(super) times: [u64; CLASSES],
    pub(super) entries: [u64; CLASSES],
    pub(super) all_entries: u64,
}

impl IdleStates {
    /// The states of a processor; empty if the kernel exports none.
    pub(super) fn new(roots: &Roots, processor: u32) -> Self {
        let folder = roots.sys.join(format!("devices/system/cpu/cpu{processor}/cpuidle"));
        let mut depth = 0;
        let states = numbered_entries(&folder, "state")
            .into_iter()
            .map(|(_, folder)| {
                let name = std::fs::read_to_string(folder.join("name")).unwrap_or_default();
                let class = class_of(name.trim(), depth);
                depth += usize::from(class.is_some());
                State {
                    class,
                    time: SmallFile::new(folder.join("time")),
                    usage: SmallFile::new(folder.join("usage")),
                }
            })
            .collect();
        Self { states }
    }

    /// Whether each class has a state, and whether there are any states, with a class or without.
    pub(super) fn available_classes(&self) -> ([bool; CLASSES], bool) {
        let has_class = |class| self.states.iter().any(|state| state.class == Some(class));
        ([has_class(0), has_class(1), has_class(2)], !self.states.is_empty())
    }

    /// Closes all files until the next read.
    pub(super) fn close(&mut self) {
        for state in &mut self.states {
            state.time.close();
            state.usage.close();
        }
    }

    /// The current sums.
    pub(super) fn read(&mut self) -> Result<IdleSums, String> {
        let mut sums = IdleSums::default();
        for state in &mut self.states {
            if let Some(class) = state.class {
                let microseconds = state.time.read_number()?;
                sums.times[class] = sums.times[class].saturating_add(microseconds.saturating_mul(10));
            }
            let entries = state.usage.read_number()?;
            sums.all_entries = sums.all_entries.saturating_add(entries);
            if let Some(class) = state.class {
                sums.entries[class] = sums.entries[class].saturating_add(entries);
            }
        }
        Ok(sums)
    }
}

/// The class of a state, from the number in its name (C1, C1E; C2; C3, C6, C7s, C8, C10) or otherwise from its depth
/// among the states that halt the processor (WFI and haltpoll are the first). Busy waiting (POLL, snooze) has no
/// class.
fn class_of(name: &str, depth: usize) -> Option<usize> {
    if name == "POLL" || name == "snooze" {
        return None;
    }
    let digits = name.strip_prefix('C').map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
    match digits.flatten().and_then(|digits| digits.parse::<u32>().ok()) {
        Some(0 | 1) => Some(0),
        Some(2) => Some(1),
        Some(_) => Some(2),
        None => Some(depth.min(CLASSES - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::class_of;

    #[test]
    fn states_have_windows_classes() {
        for (name, depth, class) in [
            ("POLL", 0, None),
            ("snooze", 0, None),
            ("C1", 0, Some(0)),
            ("C1E", 1, Some(0)),
            ("C1_ACPI", 0, Some(0)),
            ("C2_ACPI", 1, Some(1)),
            ("C6", 2, Some(2)),
            ("C10", 5, Some(2)),
            ("WFI", 0, Some(0)),
            ("haltpoll idle", 0, Some(0)),
            ("cpu-sleep-0", 1, Some(1)),
            ("cluster-sleep-0", 2, Some(2)),
            ("CEDE", 1, Some(1)),
            ("C99999999999999", 4, Some(2)),
            ("", 7, Some(2)),
        ] {
            assert_eq!(class_of(name, depth), class, "{name}");
        }
    }
}
