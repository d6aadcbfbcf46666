//! The labels of instances: `{name="sda"}`, `{name="7",parent="explorer"}`.

use std::collections::HashSet;

use tachograph_counters::set::{Instance, Instances};

/// Unique labels for the rows of a collection. They are rebuilt when the instances change.
#[derive(Debug, Default)]
pub(super) struct Labels {
    instances: Option<Instances>,
    text: String,
    ends: Vec<usize>,
}

impl Labels {
    /// Updates the labels; returns whether the instances have changed.
    pub(super) fn update(&mut self, instances: &Instances) -> bool {
        if self.instances.as_ref().is_some_and(|known| std::sync::Arc::ptr_eq(known, instances)) {
            return false;
        }
        self.instances = Some(Instances::clone(instances));
        self.text.clear();
        self.ends.clear();
        let mut seen: HashSet<Box<str>> = HashSet::with_capacity(instances.len());
        for instance in instances.iter() {
            let start = self.text.len();
            push_labels(&mut self.text, instance, None);
            // Names that differ only in control characters, or in how they are split, would have equal labels.
            for suffix in 1_u32.. {
                if seen.insert(self.text[start..].into()) {
                    break;
                }
                self.text.truncate(start);
                push_labels(&mut self.text, instance, Some(suffix));
            }
            self.ends.push(self.text.len());
        }
        true
    }

    pub(super) fn for_row(&self, row: usize) -> &str {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[row]]
    }
}

fn push_labels(out: &mut String, instance: &Instance, suffix: Option<u32>) {
    let parent = instance.parent().filter(|parent| !parent.is_empty());
    let name = match parent {
        // The name, including `#n`.
        Some(parent) => instance.label().get(parent.len() + 1..).unwrap_or(instance.name()),
        None => instance.label(),
    };
    out.push_str("{name=\"");
    escape_value(out, name);
    if let Some(suffix) = suffix {
        out.push('~');
        out.push_str(&suffix.to_string());
    }
    if let Some(parent) = parent {
        out.push_str("\",parent=\"");
        escape_value(out, parent);
    }
    out.push_str("\"}");
}

/// Writes the value of a label. Both formats escape backslashes, quotes and line feeds. Other control characters are replaced:
/// some parsers treat them as the end of the line or text.
pub(super) fn escape_value(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '\\' => out.push_str(r"\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str(r"\n"),
            c if c.is_ascii_control() => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn labels(instances: &[(Option<&str>, &str, u32)]) -> Vec<String> {
        let instances: Instances = instances
            .iter()
            .map(|&(parent, name, index)| Arc::new(Instance::new(parent, name, index)))
            .collect();
        let mut labels = Labels::default();
        assert!(labels.update(&instances) && !labels.update(&instances));
        (0..instances.len()).map(|row| labels.for_row(row).to_owned()).collect()
    }

    #[test]
    fn labels_have_name_number_and_parent() {
        assert_eq!(
            labels(&[(None, "sda", 0), (None, "bash", 2), (Some("explorer"), "7", 1)]),
            ["{name=\"sda\"}", "{name=\"bash#2\"}", "{name=\"7#1\",parent=\"explorer\"}"]
        );
    }

    #[test]
    fn equal_labels_get_a_suffix() {
        let unique = labels(&[(None, "a\u{1}", 0), (None, "a\u{2}", 0), (None, "a\u{fffd}~1", 0)]);
        assert_eq!(unique[1], "{name=\"a\u{fffd}~1\"}");
        assert_eq!(unique.iter().collect::<HashSet<_>>().len(), 3);
        let unique = labels(&[(None, "/x", 0), (Some(""), "x", 0)]);
        assert_ne!(unique[0], unique[1]);
        assert_eq!(labels(&[(None, "C:\\\"\n", 0)]), ["{name=\"C:\\\\\\\"\\n\"}"]);
    }
}
