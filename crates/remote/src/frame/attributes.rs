//! The attributes of an instance that have no field in a raw data block.

use tachograph_perflib::InstanceKey;

use crate::wire::{MessageError, Reader, push_u32, push_u64};

/// The attributes of an instance that have no field in a raw data block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// See [`InstanceKey::identity`].
    pub identity: u64,
    /// Length of the parent's name in bytes of UTF-8, without the `/` after it; 0 without a parent.
    pub parent_length: u32,
    /// See [`InstanceKey::is_reserved`].
    pub is_reserved: bool,
}

/// Size of the attributes of an instance.
pub(super) const ATTRIBUTE_BYTES: usize = 16;

const RESERVED: u32 = 1;

impl Attributes {
    pub(crate) fn from_key(key: &InstanceKey) -> Self {
        Self {
            identity: key.identity(),
            parent_length: key.parent().map_or(0, |parent| parent.len() as u32),
            is_reserved: key.is_reserved(),
        }
    }

    pub(crate) fn push(self, out: &mut Vec<u8>) {
        push_u64(out, self.identity);
        push_u32(out, self.parent_length);
        push_u32(out, if self.is_reserved { RESERVED } else { 0 });
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, MessageError> {
        let (identity, parent_length, flags) = (reader.u64()?, reader.u32()?, reader.u32()?);
        match flags {
            0 | RESERVED => Ok(Self { identity, parent_length, is_reserved: flags == RESERVED }),
            _ => Err(reader.invalid(4, "0 or 1")),
        }
    }

    /// The key of the instance with this name (`parent/name` if it has a parent) and id. A parent length that does not match
    /// the name is ignored.
    pub(crate) fn key(self, name: &str, id: u32) -> InstanceKey {
        let parent = name.split_at_checked(self.parent_length as usize);
        let parent = parent.and_then(|(parent, rest)| Some((parent, rest.strip_prefix('/')?)));
        let key = match parent {
            Some((parent, name)) if !parent.is_empty() => {
                InstanceKey::with_parent(parent, name, id, self.identity)
            }
            _ => InstanceKey::new(name, id, self.identity),
        };
        if self.is_reserved { key.reserved() } else { key }
    }

    /// Whether a key has this id and these attributes.
    pub(crate) fn matches(self, key: &InstanceKey, id: u32) -> bool {
        key.id() == id && Self::from_key(key) == self
    }
}
