//! Selects instances by name and id.

use tachograph_counters::wildcard::Pattern;

/// Selects the instances that one identifier or path refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceFilter {
    name: Pattern,
    /// If a path's pattern contains `#`: the part before the last `#`.
    before_index: Option<Pattern>,
    /// The id that an instance must have; `None` for any.
    id: Option<u32>,
    /// Whether every instance is selected.
    is_all: bool,
}

impl InstanceFilter {
    /// All instances.
    pub fn all() -> Self {
        Self::new("*", None)
    }

    /// Instances whose name matches a pattern with `*` and `?`, ignoring case. If `id` is given, their id must match
    /// too.
    pub fn new(pattern: &str, id: Option<u32>) -> Self {
        let is_all = id.is_none() && !pattern.is_empty() && pattern.bytes().all(|byte| byte == b'*');
        Self { name: Pattern::new(pattern), before_index: None, id, is_all }
    }

    /// Instances whose display name (`parent/name#index`) can match the pattern. The `#index` is not compared, because
    /// the index of an instance is known only after all instances of the same name are known.
    pub fn from_path(pattern: &str) -> Self {
        let before_index = pattern.rsplit_once('#').map(|(name, _)| Pattern::new(name));
        Self { before_index, ..Self::new(pattern, None) }
    }

    /// The pattern of the names.
    pub fn pattern(&self) -> &str {
        self.name.as_str()
    }

    /// The id that an instance must have; `None` for any.
    pub fn id(&self) -> Option<u32> {
        self.id
    }

    /// Whether the pattern is that of a path ([`from_path`](Self::from_path)) and has a `#`, so that it also matches
    /// names without `#`.
    pub fn has_index(&self) -> bool {
        self.before_index.is_some()
    }

    /// Whether all instances match.
    pub fn is_all(&self) -> bool {
        self.is_all
    }

    /// Whether an instance with this name and id matches, or can match once its `#index` is known.
    #[inline]
    pub fn can_match(&self, name: &str, id: u32) -> bool {
        self.is_all
            || self.id.is_none_or(|known| known == id)
                && (self.name.matches(name)
                    || self.before_index.as_ref().is_some_and(|pattern| pattern.matches(name)))
    }
}
