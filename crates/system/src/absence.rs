//! Why this machine lacks counter sets and counters.

use std::fmt;

use crate::roots::Roots;
use crate::table::SetTable;

/// The reason why this machine lacks a counter set, or some counters of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absence {
    /// The set.
    pub set: &'static str,
    /// The names of the counters; empty if the whole set is absent.
    pub counters: Vec<String>,
    /// The reason, and what provides the counters if anything can.
    pub reason: String,
    has_instances: bool,
}

/// Something that a counter set, or some of its counters, require.
pub(crate) struct Requirement {
    pub(crate) table: &'static SetTable,
    /// The ids of the counters; empty for the whole set.
    pub(crate) ids: &'static [u32],
    /// Returns the reason if the requirement is not met.
    pub(crate) check: fn(&Roots) -> Result<(), String>,
}

impl Requirement {
    fn absence(&self, roots: &Roots) -> Option<Absence> {
        let reason = (self.check)(roots).err()?;
        let counters = self.table.counters.iter().filter(|row| self.ids.contains(&row.id));
        Some(Absence {
            set: self.table.name,
            counters: counters.map(|row| row.name.to_string()).collect(),
            reason,
            has_instances: self.table.info().has_instances(),
        })
    }
}

impl Absence {
    /// Whether this is the reason why the counter `counter` of the set `set` is absent.
    pub fn explains(&self, set: &str, counter: &str) -> bool {
        self.set == set && (self.counters.is_empty() || self.counters.iter().any(|name| name == counter))
    }
}

impl fmt::Display for Absence {
    /// `\Process(*)\% Block IO Wait Time: REASON`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instances = if self.has_instances { "(*)" } else { "" };
        let star = String::from("*");
        let counters = if self.counters.is_empty() { std::slice::from_ref(&star) } else { &self.counters };
        for (index, counter) in counters.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, r"{comma}\{}{instances}\{counter}", self.set)?;
        }
        write!(f, ": {}", self.reason)
    }
}

/// The known reasons why this machine lacks counter sets and counters of this crate, such as missing hardware, a missing
/// driver or a setting of the kernel.
pub fn absences(roots: &Roots) -> Vec<Absence> {
    crate::requirements().filter_map(|requirement| requirement.absence(roots)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Machine;

    #[test]
    fn the_reason_names_the_setting() {
        let machine = Machine::new(&[("proc/sys/kernel/task_delayacct", "0\n")]);
        let all = absences(&machine.roots);
        let of_process = all.iter().find(|absence| absence.explains("Process", "% Block IO Wait Time"));
        let text = of_process.expect("an absence").to_string();
        assert_eq!(text, r"\Process(*)\% Block IO Wait Time: needs 'sysctl kernel.task_delayacct=1'");
        machine.write("proc/sys/kernel/task_delayacct", "1\n");
        assert!(
            !absences(&machine.roots)
                .iter()
                .any(|absence| absence.explains("Process", "% Block IO Wait Time"))
        );
    }

    #[test]
    fn an_absence_explains_only_its_counters() {
        let absence = Absence {
            set: "Process",
            counters: vec!["a".to_owned()],
            reason: String::new(),
            has_instances: true,
        };
        assert!(absence.explains("Process", "a"));
        assert!(!absence.explains("Process", "b") && !absence.explains("Thread", "a"));
        assert!(Absence { counters: Vec::new(), ..absence }.explains("Process", "b"));
    }

    #[test]
    fn every_requirement_names_existing_counters() {
        for requirement in crate::requirements() {
            let has_counter = |id: &u32| requirement.table.counters.iter().any(|row| row.id == *id);
            assert!(requirement.ids.iter().all(has_counter), "{}", requirement.table.name);
        }
    }
}
