//! The labels of instances: `{device="sda"}`, `{cpu="3"}`, `{name="7",parent="explorer"}`.

use std::collections::HashSet;
use std::sync::Arc;

use tachograph_counters::set::{Instance, Instances};
use tachograph_perflib::InstanceKey;

use super::mounts::MountTable;

/// Which labels an instance has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Labelling {
    /// `name`, and `parent` if the instance has a parent.
    NameAndParent,
    /// One label: the whole name.
    Whole(&'static str),
    /// One label: the instance's id, such as the kernel's processor number. For a total (`_Total`), the label is its name.
    Id(&'static str),
    /// Two labels: the parent and the name. An instance without a parent has only the second label.
    NamedPair(&'static str, &'static str),
    /// Two labels: the parts of the name before and after its first separator, or its last one if `is_last`. A name without a
    /// separator has only the first label.
    Pair { first: &'static str, second: &'static str, separator: char, is_last: bool },
    /// `mountpoint`, the name; and the `device` and `fstype` of the file system that is mounted there, if known.
    Mount,
}

impl Labelling {
    /// The names of all labels.
    pub(super) fn names(self) -> Vec<&'static str> {
        match self {
            Self::NameAndParent => vec!["name", "parent"],
            Self::Whole(name) | Self::Id(name) => vec![name],
            Self::NamedPair(first, second) | Self::Pair { first, second, .. } => vec![first, second],
            Self::Mount => vec!["mountpoint", "device", "fstype"],
        }
    }
}

/// Unique labels for the rows of a collection. They are rebuilt when the instances or the mounted file systems change.
#[derive(Debug, Default)]
pub(super) struct Labels {
    instances: Option<Instances>,
    mounts: Option<Arc<MountTable>>,
    /// The labels of all rows in the text formats, one after another.
    text: String,
    /// The end of each row in `text`.
    ends: Vec<usize>,
    /// The labels of all rows without escapes.
    pairs: Vec<Label>,
    /// The end of each row in `pairs`.
    pair_ends: Vec<usize>,
}

/// A label of an instance: its name, and its value without escapes.
pub type Label = (&'static str, Box<str>);

impl Labels {
    /// Updates the labels; returns whether something has changed. `keys` are the keys of the instances. `mounts` is only used for
    /// [`Labelling::Mount`].
    pub(super) fn update(
        &mut self,
        labelling: Labelling,
        instances: &Instances,
        keys: &[Arc<InstanceKey>],
        mounts: Option<&Arc<MountTable>>,
    ) -> bool {
        let has_same_instances = self.instances.as_ref().is_some_and(|known| Arc::ptr_eq(known, instances));
        let mounts = mounts.filter(|_| labelling == Labelling::Mount);
        let has_same_mounts = match (&self.mounts, mounts) {
            (None, None) => true,
            (Some(known), Some(mounts)) => Arc::ptr_eq(known, mounts),
            _ => false,
        };
        if has_same_instances && has_same_mounts {
            return false;
        }
        self.instances = Some(Instances::clone(instances));
        self.mounts = mounts.cloned();
        self.text.clear();
        self.ends.clear();
        self.pairs.clear();
        self.pair_ends.clear();
        let mut seen: HashSet<Box<str>> = HashSet::with_capacity(instances.len());
        for (instance, key) in instances.iter().zip(keys) {
            let (start, first_pair) = (self.text.len(), self.pairs.len());
            // Without a suffix, two instances would get equal labels if their names differed only in control characters,
            // or only in the split between parent and name.
            for suffix in 0_u32.. {
                let out = Writer { out: &mut self.text, pairs: &mut self.pairs, suffix, has_labels: false };
                push_labels(out, labelling, instance, key, mounts.map(Arc::as_ref));
                if seen.insert(self.text[start..].into()) {
                    break;
                }
                self.text.truncate(start);
                self.pairs.truncate(first_pair);
            }
            self.ends.push(self.text.len());
            self.pair_ends.push(self.pairs.len());
        }
        true
    }

    /// The labels of a row in the text formats.
    pub(super) fn for_row(&self, row: usize) -> &str {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[row]]
    }

    /// The labels of a row without escapes.
    pub(super) fn pairs_of_row(&self, row: usize) -> &[Label] {
        let start = row.checked_sub(1).map_or(0, |before| self.pair_ends[before]);
        &self.pairs[start..self.pair_ends[row]]
    }
}

/// Writes the labels of an instance.
fn push_labels(
    mut writer: Writer<'_>,
    labelling: Labelling,
    instance: &Instance,
    key: &InstanceKey,
    mounts: Option<&MountTable>,
) {
    let label = instance.label();
    let parent = instance.parent().filter(|parent| !parent.is_empty());
    // The name, including `#n`, without the parent.
    let name = parent.map_or(label, |parent| label.get(parent.len() + 1..).unwrap_or(instance.name()));
    match labelling {
        // The name of a total is not split, because its parts have no meaning.
        Labelling::Whole(name_label)
        | Labelling::Id(name_label)
        | Labelling::NamedPair(_, name_label)
        | Labelling::Pair { first: name_label, .. }
            if key.is_reserved() =>
        {
            writer.push(name_label, name);
        }
        Labelling::NameAndParent => {
            writer.push("name", name);
            parent.into_iter().for_each(|parent| writer.push("parent", parent));
        }
        Labelling::Whole(only) => writer.push(only, label),
        Labelling::Id(only) => writer.push(only, &key.id().to_string()),
        Labelling::NamedPair(first, second) => {
            parent.into_iter().for_each(|parent| writer.push(first, parent));
            writer.push(second, name);
        }
        Labelling::Pair { first, second, separator, is_last } => {
            let parts = if is_last { label.rsplit_once(separator) } else { label.split_once(separator) };
            let (before, after) = parts.map_or((label, None), |(before, after)| (before, Some(after)));
            writer.push(first, before);
            after.into_iter().for_each(|after| writer.push(second, after));
        }
        Labelling::Mount => {
            writer.push("mountpoint", label);
            if let Some(mounted) = mounts.and_then(|mounts| mounts.find(instance.name())) {
                writer.push("device", &mounted.device);
                writer.push("fstype", &mounted.fs_type);
            }
        }
    }
    writer.end();
}

/// Writes labels in braces.
struct Writer<'a> {
    out: &'a mut String,
    pairs: &'a mut Vec<Label>,
    /// A number that is appended to the value of the first label, unless the number is 0.
    suffix: u32,
    /// Whether a label was written.
    has_labels: bool,
}

impl Writer<'_> {
    fn push(&mut self, name: &'static str, value: &str) {
        let mut value = value.replace(|c: char| c.is_ascii_control() && c != '\n', "\u{fffd}");
        if !self.has_labels && self.suffix > 0 {
            value.push('~');
            value.push_str(&self.suffix.to_string());
        }
        self.out.push(if self.has_labels { ',' } else { '{' });
        self.out.push_str(name);
        self.out.push_str("=\"");
        escape_value(self.out, &value);
        self.out.push('"');
        self.pairs.push((name, value.into()));
        self.has_labels = true;
    }

    fn end(self) {
        self.out.push('}');
    }
}

/// Writes the value of a label. The Prometheus and OpenMetrics text formats both escape backslashes, quotes and line feeds.
/// Other control characters are replaced, because some parsers treat them as the end of the line or text.
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
mod tests;
