//! Instances as providers know them.

use std::fmt;

/// An instance as its provider knows it: a name, a number, and what it is beyond its name.
///
/// Names may repeat (two processes `bash`), and so may ids; the identity may not, as long as it is not 0.
/// [`Numbering`](crate::Numbering) gives instances of one name their `#n`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct InstanceKey {
    parent_length: u32,
    id: u32,
    identity: u64,
    is_reserved: bool,
    /// `parent/name`, or the name.
    label: Box<str>,
}

impl InstanceKey {
    /// An instance of this name.
    ///
    /// `id` is the number that the raw data block carries. `identity` tells it from any other instance that ever has
    /// its name (a process: its id with its start time); 0 where the name says it all.
    pub fn new(name: impl Into<Box<str>>, id: u32, identity: u64) -> Self {
        Self { parent_length: 0, id, identity, is_reserved: false, label: name.into() }
    }

    /// An instance `parent/name`.
    pub fn with_parent(parent: &str, name: &str, id: u32, identity: u64) -> Self {
        let label = format!("{parent}/{name}").into_boxed_str();
        Self { parent_length: parent.len() as u32 + 1, id, identity, is_reserved: false, label }
    }

    /// Makes this the counter set's own instance, such as `_Total` or `Idle`, whose name is reserved: an instance that
    /// merely has the same name, without regard to case, is displayed as `_Total#1` and never found by the plain name.
    #[must_use]
    pub fn reserved(mut self) -> Self {
        self.is_reserved = true;
        self
    }

    /// Whether the name is reserved for this instance.
    #[inline]
    pub fn is_reserved(&self) -> bool {
        self.is_reserved
    }

    /// The parent's name, where the set has parents.
    pub fn parent(&self) -> Option<&str> {
        let length = self.parent_length as usize;
        (length > 0).then(|| &self.label[..length - 1])
    }

    /// The name without the parent's.
    pub fn name(&self) -> &str {
        &self.label[self.parent_length as usize..]
    }

    /// `parent/name`, or the name: what a raw data block carries.
    pub fn full_name(&self) -> &str {
        &self.label
    }

    /// The number that a raw data block carries.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// What the instance is beyond its name; 0 where nothing is known.
    pub fn identity(&self) -> u64 {
        self.identity
    }
}

impl fmt::Display for InstanceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.label)
    }
}
