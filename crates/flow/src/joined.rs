//! Joining samples of the same moment.

use tachograph_counters::sample::Sample;

use crate::{FlowError, Source};

/// Joins consecutive samples of the same moment that have different groups: samples of different machines, or of different
/// collectors on one machine. All samples of the source must have the groups of one
/// [`Union`](crate::Union).
pub struct Joined<S> {
    source: S,
    /// The sample that follows the last returned one.
    next: Sample,
    state: State,
}

/// Whether the field `next` contains a sample.
#[derive(PartialEq)]
enum State {
    NotStarted,
    HasNext,
    Ended,
}

impl<S: Source> Joined<S> {
    /// A stage over `source`.
    pub fn new(source: S) -> Self {
        Self { source, next: Sample::default(), state: State::NotStarted }
    }

    fn advance(&mut self) -> Result<(), FlowError> {
        self.state = if self.source.next(&mut self.next)? { State::HasNext } else { State::Ended };
        Ok(())
    }
}

impl<S: Source> Source for Joined<S> {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        if self.state == State::NotStarted {
            self.advance()?;
        }
        if self.state == State::Ended {
            return Ok(false);
        }
        std::mem::swap(sample, &mut self.next);
        self.advance()?;
        while self.state == State::HasNext && can_join(sample, &self.next) {
            let boot_time = self.next.boot_time;
            for (group, next) in sample.groups.iter_mut().zip(&mut self.next.groups) {
                if next.is_present() {
                    std::mem::swap(group, next);
                    if group.boot_time.0 == 0 {
                        group.boot_time = boot_time;
                    }
                }
            }
            self.advance()?;
        }
        Ok(true)
    }
}

fn can_join(one: &Sample, other: &Sample) -> bool {
    one.at.utc == other.at.utc
        && one.is_baseline == other.is_baseline
        && one.groups.len() == other.groups.len()
        && one.groups.iter().zip(&other.groups).all(|(one, other)| !(one.is_present() && other.is_present()))
}
