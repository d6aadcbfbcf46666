//! Reading on another core.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use tachograph_counters::sample::Sample;

use crate::{FlowError, Source};

/// Runs a source on a thread of its own, a few batches of samples ahead of whoever pulls from this stage.
///
/// The buffers go round: what was consumed is sent back and filled again.
pub struct Readahead<S = Box<dyn Source>> {
    full: Receiver<Batch>,
    empty: SyncSender<Vec<Sample>>,
    batch: Vec<Sample>,
    /// How many samples of the batch are filled, and how many were given out.
    filled: usize,
    given: usize,
    outcome: Option<FlowError>,
    ended: bool,
    /// Whether no batch came yet: the first one tells how long samples are.
    is_first: bool,
    thread: Option<JoinHandle<S>>,
}

struct Batch {
    samples: Vec<Sample>,
    filled: usize,
    /// The source ended, with an error or without.
    end: Option<Result<(), FlowError>>,
}

/// Values that a batch should hold, so that handing it over costs little against reading it; all batches together are to
/// stay in a processor's cache.
const BATCH_VALUES: usize = 4_096;
const MAX_BATCH_SAMPLES: usize = 1024;
/// So many that neither side waits for the other each time, or they would end up taking turns on one processor.
const BATCHES: usize = 8;
/// Of samples that are longer than a batch should be, only so many, since memory is what they cost.
const LONG_BATCHES: usize = 3;

impl<S: Source + 'static> Readahead<S> {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// When the system gives no thread.
    pub fn new(mut source: S) -> Result<Self, FlowError> {
        let (full_in, full) = sync_channel::<Batch>(BATCHES);
        let (empty, empty_out) = sync_channel::<Vec<Sample>>(BATCHES);
        for _ in 0..LONG_BATCHES {
            // The channel has room for all of them, and its other end is right here.
            let _ = empty.send(Vec::new());
        }
        let thread = std::thread::Builder::new()
            .name("readahead".to_owned())
            .spawn(move || {
                // When either channel closes, the consumer is gone, and so is the work.
                while let Ok(samples) = empty_out.recv() {
                    let batch = fill(&mut source, samples);
                    let is_last = batch.end.is_some();
                    if full_in.send(batch).is_err() || is_last {
                        break;
                    }
                }
                source
            })
            .map_err(FlowError::Output)?;
        Ok(Self {
            full,
            empty,
            batch: Vec::new(),
            filled: 0,
            given: 0,
            outcome: None,
            ended: false,
            is_first: true,
            thread: Some(thread),
        })
    }

    /// Stops reading, and gives the source back, which may be some samples ahead; `None` when its thread panicked.
    pub fn into_source(self) -> Option<S> {
        let Self { full, empty, thread, .. } = self;
        drop((full, empty));
        thread?.join().ok()
    }
}

impl Batch {
    fn values(&self) -> usize {
        self.samples[..self.filled].iter().map(Sample::len).sum()
    }
}

fn fill(source: &mut impl Source, mut samples: Vec<Sample>) -> Batch {
    let mut filled = 0;
    let mut values = 0;
    while values < BATCH_VALUES && filled < MAX_BATCH_SAMPLES {
        if filled == samples.len() {
            samples.push(Sample::default());
        }
        match source.next(&mut samples[filled]) {
            Ok(true) => {
                values += samples[filled].len();
                filled += 1;
            }
            Ok(false) => return Batch { samples, filled, end: Some(Ok(())) },
            Err(error) => return Batch { samples, filled, end: Some(Err(error)) },
        }
    }
    Batch { samples, filled, end: None }
}

impl<S: Source + 'static> Source for Readahead<S> {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        while self.given == self.filled {
            if self.ended {
                return self.outcome.take().map_or(Ok(false), Err);
            }
            let used = std::mem::take(&mut self.batch);
            if self.given > 0 {
                // The thread may have ended already; then nobody needs the buffers.
                let _ = self.empty.try_send(used);
            }
            let Ok(batch) = self.full.recv() else {
                self.ended = true;
                self.filled = 0;
                self.given = 0;
                // Without a last batch the thread can only have panicked: so does its consumer.
                if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
                    std::panic::resume_unwind(panic);
                }
                return Ok(false);
            };
            if std::mem::take(&mut self.is_first) && batch.values() <= 2 * BATCH_VALUES {
                for _ in LONG_BATCHES..BATCHES {
                    let _ = self.empty.try_send(Vec::new());
                }
            }
            self.batch = batch.samples;
            self.filled = batch.filled;
            self.given = 0;
            if let Some(end) = batch.end {
                self.ended = true;
                self.outcome = end.err();
            }
        }
        std::mem::swap(sample, &mut self.batch[self.given]);
        self.given += 1;
        Ok(true)
    }
}
