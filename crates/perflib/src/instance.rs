//! The identity of an instance.

use std::fmt;

/// Identifies an instance of a provider, by name, id and identity.
///
/// Names need not be unique (two `bash` processes), nor do ids. Identities other than 0 are unique.
/// [`Numbering`](crate::Numbering) appends `#n` to equal names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct InstanceKey {
    /// Length of the parent's name and its `/` in bytes; 0 without a parent.
    parent_length: u32,
    id: u32,
    /// Distinguishes instances that have had the same name; 0 if the name suffices.
    identity: u64,
    /// Whether the name is reserved for this instance, which the counter set itself adds.
    is_reserved: bool,
    /// `parent/name`, or just the name if there is no parent.
    label: Box<str>,
}

impl InstanceKey {
    /// An instance without a parent.
    ///
    /// The `id` is written to raw data blocks. `identity` distinguishes the instance from all others that ever have the
    /// same name (for a process, its id combined with its start time); 0 if the name suffices.
    pub fn new(name: impl Into<Box<str>>, id: u32, identity: u64) -> Self {
        Self { parent_length: 0, id, identity, is_reserved: false, label: name.into() }
    }

    /// An instance `parent/name`.
    pub fn with_parent(parent: &str, name: &str, id: u32, identity: u64) -> Self {
        let label = format!("{parent}/{name}").into_boxed_str();
        Self { parent_length: parent.len() as u32 + 1, id, identity, is_reserved: false, label }
    }

    /// Reserves the name for this instance, which the counter set itself adds, such as `_Total` or `Idle`. Any other
    /// instance with that name, ignoring case, is displayed as `_Total#1` and cannot be found by the plain name.
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

    /// The name of the parent, if the instance has one.
    pub fn parent(&self) -> Option<&str> {
        let length = self.parent_length as usize;
        (length > 0).then(|| &self.label[..length - 1])
    }

    /// The name, without the parent's name.
    pub fn name(&self) -> &str {
        &self.label[self.parent_length as usize..]
    }

    /// `parent/name`, or just the name if there is no parent. This is the name in raw data blocks.
    pub fn full_name(&self) -> &str {
        &self.label
    }

    /// The id in raw data blocks.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Distinguishes the instance from others with the same name; 0 if the name suffices.
    pub fn identity(&self) -> u64 {
        self.identity
    }
}

impl fmt::Display for InstanceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.label)
    }
}
