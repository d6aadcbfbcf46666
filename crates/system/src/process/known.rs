//! The tasks that are known from the sample before, and their names.

use std::borrow::Cow;
use std::sync::Arc;

use tachograph_perflib::InstanceKey;

/// What is kept of a task, under its number.
pub(super) trait Numbered {
    fn number(&self) -> u32;
}

/// Makes `known` hold those that are listed, in that order: both rise. Nothing is moved when nothing came or went.
pub(super) fn follow<T: Numbered>(
    known: &mut Vec<T>,
    spare: &mut Vec<T>,
    listed: &[u32],
    mut new: impl FnMut(u32) -> T,
) {
    if known.len() == listed.len() && known.iter().zip(listed).all(|(task, &number)| task.number() == number)
    {
        return;
    }
    spare.clear();
    let mut old = known.drain(..).peekable();
    for &number in listed {
        while old.next_if(|task| task.number() < number).is_some() {}
        spare.push(old.next_if(|task| task.number() == number).unwrap_or_else(|| new(number)));
    }
    drop(old);
    std::mem::swap(known, spare);
}

/// Who a task is: a number is given to one task after another, and a task may change its name.
#[derive(Debug, Default)]
pub(super) struct Person {
    /// The name as the kernel has it.
    name: Box<[u8]>,
    /// The instance; `None` where the task was not met yet.
    key: Option<Arc<InstanceKey>>,
}

impl Person {
    /// Whether it is known under this name and identity.
    #[inline]
    pub(super) fn is(&self, name: &[u8], identity: u64) -> bool {
        self.is_same(identity) && *self.name == *name
    }

    /// Whether it is known under this identity.
    pub(super) fn is_same(&self, identity: u64) -> bool {
        self.key.as_ref().is_some_and(|key| key.identity() == identity)
    }

    /// The instance, where the task was met already.
    #[inline]
    pub(super) fn key(&self) -> Option<&Arc<InstanceKey>> {
        self.key.as_ref()
    }

    /// Takes another name or identity.
    pub(super) fn becomes(&mut self, name: &[u8], key: InstanceKey) {
        self.name = name.into();
        self.key = Some(Arc::new(key));
    }

    /// The name as the kernel has it.
    pub(super) fn name(&self) -> &[u8] {
        &self.name
    }
}

/// A name as it can be shown: the kernel's may hold any bytes.
pub(super) fn readable(name: &[u8]) -> Cow<'_, str> {
    if name.is_empty() {
        return "unnamed".into();
    }
    let text = String::from_utf8_lossy(name);
    if text.contains(char::is_control) {
        return text.replace(char::is_control, "\u{fffd}").into();
    }
    text
}
