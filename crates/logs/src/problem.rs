//! The list of a log's problems.

use tachograph_counters::Problem;

/// The problems of one log. The first [`Problems::MAX_LISTED`] are kept with their text; further ones are only
/// counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    listed: Vec<Problem>,
    count: u64,
    warnings: u64,
}

impl Problems {
    /// Maximum number of problems that are kept with their text. It keeps a hostile log from filling the memory.
    pub const MAX_LISTED: usize = 1000;

    /// Adds a problem.
    pub fn push(&mut self, problem: Problem) {
        self.count += 1;
        self.warnings += u64::from(problem.is_warning);
        if self.listed.len() < Self::MAX_LISTED {
            self.listed.push(problem);
        }
    }

    /// Adds a problem, whose text is created only if it is kept.
    pub(crate) fn push_with(&mut self, offset: u64, problem: impl FnOnce() -> Problem) {
        let is_listed = self.listed.len() < Self::MAX_LISTED;
        self.push(if is_listed { problem() } else { Problem::new(offset, "") });
    }

    /// Adds the problems of another list.
    pub(crate) fn append(&mut self, other: Self) {
        self.count += other.count;
        self.warnings += other.warnings;
        let room = Self::MAX_LISTED.saturating_sub(self.listed.len());
        self.listed.extend(other.listed.into_iter().take(room));
    }

    /// The first problems, in the order in which they were found.
    pub fn list(&self) -> &[Problem] {
        &self.listed
    }

    /// The number of problems, warnings included.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The number of [warnings](Problem::is_warning).
    pub fn warnings(&self) -> u64 {
        self.warnings
    }

    /// Whether no problem was found.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}
