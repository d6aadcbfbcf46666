//! Which instances are wanted.

use tachograph_counters::wildcard::Pattern;

/// The instances that one identifier or path asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceFilter {
    /// The pattern of the whole name.
    name: Pattern,
    /// Where the pattern ends in `#` and an index: the pattern before it.
    before_index: Option<Pattern>,
    id: Option<u32>,
    is_everything: bool,
}

impl InstanceFilter {
    /// All instances.
    pub fn everything() -> Self {
        Self::new("*", None)
    }

    /// Instances whose name fits a pattern with `*` and `?`, without regard to case, and that have this id where one is
    /// given.
    pub fn new(pattern: &str, id: Option<u32>) -> Self {
        let is_everything = id.is_none() && !pattern.is_empty() && pattern.bytes().all(|byte| byte == b'*');
        Self { name: Pattern::new(pattern), before_index: None, id, is_everything }
    }

    /// Instances that may get a display name (`parent/name#index`) that fits the pattern: which `#n` an instance gets is
    /// known only when all of its name are there.
    pub fn of_path(pattern: &str) -> Self {
        let before_index = pattern.rsplit_once('#').map(|(name, _)| Pattern::new(name));
        Self { before_index, ..Self::new(pattern, None) }
    }

    /// Whether all instances are taken.
    pub fn is_everything(&self) -> bool {
        self.is_everything
    }

    /// Whether an instance of this name and id is taken, or may be.
    #[inline]
    pub fn may_take(&self, name: &str, id: u32) -> bool {
        self.is_everything
            || self.id.is_none_or(|wanted| wanted == id)
                && (self.name.matches(name)
                    || self.before_index.as_ref().is_some_and(|pattern| pattern.matches(name)))
    }
}
