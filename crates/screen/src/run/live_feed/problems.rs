//! Messages about values that could not be read.

use tachograph_flow::live::{CollectionError, Outage};

use crate::app::Input;

/// Whole counter sets of a machine that could not be read for the same reason.
struct FailedSets<'a> {
    /// The machine with two backslashes; empty if a path has none.
    machine: &'a str,
    sets: Vec<&'a str>,
    reason: &'a str,
}

/// A message for each of these outages and errors; whole sets of a machine with the same reason share one. `None` without either.
pub(super) fn message_of(errors: &[CollectionError], outages: &[&Outage]) -> Option<Input> {
    let mut counters = 0;
    let outage_text = |Outage { machine, reason }: &Outage| format!(r"\\{machine}: {reason}");
    let mut texts: Vec<_> = outages.iter().map(|outage| outage_text(outage)).collect();
    let mut failed: Vec<FailedSets<'_>> = Vec::new();
    for CollectionError { path, counters: ids, reason, .. } in errors {
        if ids.is_empty() {
            let (machine, set) = machine_and_set(path);
            match failed.iter_mut().find(|known| (known.machine, known.reason) == (machine, reason)) {
                Some(known) => known.sets.push(set),
                None => failed.push(FailedSets { machine, sets: vec![set], reason }),
            }
            continue;
        }
        let others = match ids.len() - 1 {
            0 => String::new(),
            1 => " and 1 other counter".to_owned(),
            others => format!(" and {others} other counters"),
        };
        texts.push(format!("{path}{others}: {reason}"));
        counters += ids.len();
    }
    let sets = failed.iter().flat_map(|failed| &failed.sets).filter(|set| !set.is_empty()).count();
    texts.extend(failed.iter().map(FailedSets::text));
    // A machine that was late for a sample is in the list of messages only, because the next sample usually has its values.
    let what = [
        (outages.len(), "machine", "machines"),
        (counters, "counter", "counters"),
        (sets, "counter set", "counter sets"),
    ];
    let what = what.iter().filter(|(count, ..)| *count > 0);
    let what =
        what.map(|(count, one, several)| format!("{count} {}", if *count == 1 { one } else { several }));
    let what = what.collect::<Vec<_>>().join(", ");
    (!texts.is_empty()).then_some(Input::Unavailable(what, texts))
}

impl FailedSets<'_> {
    fn text(&self) -> String {
        let Self { machine, sets, reason } = self;
        match &sets[..] {
            [""] => format!("{machine}: {reason}"),
            [set] => format!("{machine}\\{set}: {reason}"),
            sets => format!("{machine}: {reason}; {} counter sets: {}", sets.len(), sets.join(", ")),
        }
    }
}

/// Splits `\\machine\set`; the set is empty if the path has only a machine.
fn machine_and_set(path: &str) -> (&str, &str) {
    let start = if path.starts_with(r"\\") { 2 } else { 0 };
    match path[start..].find('\\') {
        Some(end) => (&path[..start + end], &path[start + end + 1..]),
        None => (path, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(path: &str, counters: &[u32], reason: &str) -> CollectionError {
        CollectionError {
            is_of_machine: false,
            path: path.to_owned(),
            counters: counters.to_vec(),
            reason: reason.into(),
            count: 1,
        }
    }

    #[test]
    fn outages_and_errors_of_a_machine_are_one_message_each() {
        let errors = [
            error(r"\\db\Memory", &[], "no answer"),
            error(r"\\web\Disk(a)\Reads", &[3, 4], "no such file"),
            error(r"\\db\System", &[], "no answer"),
            error(r"\\web\Energy", &[], "permission denied"),
            error(r"\\batch", &[], "too late"),
        ];
        let outage = Outage { machine: "cache".into(), reason: "no agent answers".into() };
        let Some(Input::Unavailable(what, texts)) = message_of(&errors, &[&outage]) else {
            panic!("no message")
        };
        assert_eq!(what, "1 machine, 2 counters, 3 counter sets");
        assert_eq!(
            texts,
            [
                r"\\cache: no agent answers",
                r"\\web\Disk(a)\Reads and 1 other counter: no such file",
                r"\\db: no answer; 2 counter sets: Memory, System",
                r"\\web\Energy: permission denied",
                r"\\batch: too late",
            ]
        );
        // The last line does not mention a machine that was late once.
        let late = message_of(&[error(r"\\batch", &[], "too late")], &[]);
        assert!(matches!(late, Some(Input::Unavailable(what, _)) if what.is_empty()));
        assert!(message_of(&[], &[]).is_none());
    }
}
