//! The logs of one machine, whose samples are numbered and can be gone back to.

mod numbered;

use tachograph_counters::sample::Sample;

use crate::logs::LogReport;
use crate::{FlowError, Identity, Merge, Select, Selection, Source, UnionScan};
use numbered::Numbered;

/// The samples of the logs of one machine in the order of time, selected, as [`LogQuery::samples`] gives them; their
/// places are noted while they are read, so that any of them can be read again.
///
/// [`LogQuery::samples`]: crate::query::LogQuery::samples
pub struct Stretch {
    source: Select<Identity<Numbered>>,
    reports: Vec<LogReport>,
}

impl Stretch {
    pub(crate) fn new(merge: Merge, selection: &Selection, reports: Vec<LogReport>) -> Self {
        let identity = Identity::new(Numbered::new(merge), selection.clone());
        Self { source: Select::new(identity, selection.clone()), reports }
    }

    /// The logs.
    pub fn reports(&self) -> &[LogReport] {
        &self.reports
    }

    /// The number of the next sample, counted from 0 over all samples, baselines too.
    pub fn number(&mut self) -> u64 {
        self.numbered().number()
    }

    /// Goes to a sample: the next one is that of this number. Where no place was noted before it, all from the start on is
    /// read again, which takes longer. False where it cannot be found again: there are fewer samples, or a circular log has
    /// been written over.
    ///
    /// # Errors
    ///
    /// When a log cannot be read.
    pub fn go_to(&mut self, number: u64) -> Result<bool, FlowError> {
        if !self.numbered().go_near(number)? {
            return Ok(false);
        }
        let mut passed = Sample::default();
        while self.number() < number {
            if !self.numbered().next(&mut passed)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Goes behind the last sample read so far, to read on what was appended to the logs since; false where that cannot be,
    /// as in circular logs: they are to be opened anew.
    ///
    /// # Errors
    ///
    /// When a log cannot be read.
    pub fn go_on_from(&mut self, number: u64) -> Result<bool, FlowError> {
        if !self.numbered().follows_growth() {
            return Ok(false);
        }
        self.numbered().leave();
        self.go_to(number)
    }

    /// The numbers of the samples that [`Window`](crate::Window) gives out as baselines before a window that begins with
    /// this sample: of each list of counters the last one before. `None` where the lists changed too often to know; see
    /// [`signature`](Self::signature) then.
    pub fn baselines_before(&mut self, number: u64) -> Option<Vec<u64>> {
        self.numbered().baselines_before(number)
    }

    /// A number that is the same for samples of the same list of counters as the sample given out last.
    pub fn signature(&mut self) -> u64 {
        self.numbered().signature()
    }

    /// What the logs hold of all counters, selected or not, as far as they were read.
    pub fn scan(&mut self) -> &UnionScan {
        self.numbered().scan()
    }

    fn numbered(&mut self) -> &mut Numbered {
        self.source.source_mut().source_mut()
    }
}

impl Source for Stretch {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        self.source.next(sample)
    }
}
