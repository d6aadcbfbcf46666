//! Reading ahead on another thread.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use tachograph_counters::sample::Sample;

use crate::{FlowError, Source};

/// Runs a source on its own thread, a few batches of samples ahead of the consumer. Buffers are sent back and reused
/// after they have been consumed.
pub struct Readahead<S = Box<dyn Source>> {
    /// Receives the batches that the thread has read.
    filled_batches: Receiver<Batch>,
    /// Sends consumed buffers back to the thread.
    returned_buffers: SyncSender<Vec<Sample>>,
    /// The current batch.
    batch: Vec<Sample>,
    /// Consumed buffers that were not sent back yet. They are sent back several at a time, so that the thread wakes up
    /// less often.
    used_buffers: Vec<Vec<Sample>>,
    /// Number of consumed buffers that are sent back at a time.
    max_used: usize,
    /// Number of samples in the batch.
    filled: usize,
    /// Number of samples in the batch that were already returned.
    returned: usize,
    /// The error with which the source ended, if any.
    outcome: Option<FlowError>,
    has_ended: bool,
    /// Whether no batch has been received yet. The number of buffers depends on the size of the samples in the first
    /// batch.
    is_first: bool,
    thread: Option<JoinHandle<S>>,
}

/// Samples that the thread has read.
struct Batch {
    samples: Vec<Sample>,
    /// Number of samples that were read; the rest of `samples` are unused buffers.
    filled: usize,
    /// Present if the source has ended.
    end_of_source: Option<Result<(), FlowError>>,
}

/// Target number of values in a batch: large enough that waking the other thread costs little compared to reading a
/// batch, and small enough that all batches fit into the cache that processors share.
const BATCH_VALUES: usize = 16_384;
const MAX_BATCH_SAMPLES: usize = 1024;
/// Number of batches: enough that the threads do not have to wait for each other at every batch.
const BATCHES: usize = 4;
/// Number of batches if samples are so large that a single one exceeds the target size, to save memory.
const MIN_BATCHES: usize = 3;

impl<S: Source + 'static> Readahead<S> {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// When the thread cannot be started.
    pub fn new(mut source: S) -> Result<Self, FlowError> {
        let (full_sender, full) = sync_channel::<Batch>(BATCHES);
        let (empty, empty_receiver) = sync_channel::<Vec<Sample>>(BATCHES);
        for _ in 0..MIN_BATCHES {
            // Cannot fail: the channel has room for all buffers, and its other end is open.
            let _ = empty.send(Vec::new());
        }
        let thread = std::thread::Builder::new()
            .name("readahead".to_owned())
            .spawn(move || {
                // A closed channel means that the consumer is gone.
                while let Ok(samples) = empty_receiver.recv() {
                    let batch = fill(&mut source, samples);
                    let is_last = batch.end_of_source.is_some();
                    if full_sender.send(batch).is_err() || is_last {
                        break;
                    }
                }
                source
            })
            .map_err(FlowError::Output)?;
        Ok(Self {
            filled_batches: full,
            returned_buffers: empty,
            batch: Vec::new(),
            used_buffers: Vec::new(),
            max_used: 1,
            filled: 0,
            returned: 0,
            outcome: None,
            has_ended: false,
            is_first: true,
            thread: Some(thread),
        })
    }

    /// Stops reading and returns the source, which can have read some samples ahead. Returns `None` if its thread
    /// panicked.
    pub fn into_source(self) -> Option<S> {
        let Self { filled_batches, returned_buffers: empty, thread, .. } = self;
        drop((filled_batches, empty));
        thread?.join().ok()
    }
}

impl Batch {
    fn values(&self) -> usize {
        self.samples[..self.filled].iter().map(Sample::len).sum()
    }
}

/// Reads a batch into the buffers `samples`.
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
            Ok(false) => return Batch { samples, filled, end_of_source: Some(Ok(())) },
            Err(error) => return Batch { samples, filled, end_of_source: Some(Err(error)) },
        }
    }
    Batch { samples, filled, end_of_source: None }
}

impl<S: Source + 'static> Source for Readahead<S> {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        while self.returned == self.filled {
            if self.has_ended {
                return self.outcome.take().map_or(Ok(false), Err);
            }
            if self.returned > 0 {
                self.used_buffers.push(std::mem::take(&mut self.batch));
            }
            let received = self.filled_batches.try_recv();
            if received.is_err() || self.used_buffers.len() >= self.max_used {
                // Fails if the thread has ended, but then the buffers are not needed.
                self.used_buffers.drain(..).for_each(|used| drop(self.returned_buffers.try_send(used)));
            }
            let Ok(batch) = received.or_else(|_| self.filled_batches.recv()) else {
                self.has_ended = true;
                self.filled = 0;
                self.returned = 0;
                // If the thread ended without sending a last batch, it has panicked. The panic is propagated to the
                // consumer.
                if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
                    std::panic::resume_unwind(panic);
                }
                return Ok(false);
            };
            if std::mem::take(&mut self.is_first) && batch.values() <= 2 * BATCH_VALUES {
                for _ in MIN_BATCHES..BATCHES {
                    let _ = self.returned_buffers.try_send(Vec::new());
                }
                self.max_used = BATCHES / 2;
            }
            self.batch = batch.samples;
            self.filled = batch.filled;
            self.returned = 0;
            if let Some(end) = batch.end_of_source {
                self.has_ended = true;
                self.outcome = end.err();
            }
        }
        std::mem::swap(sample, &mut self.batch[self.returned]);
        self.returned += 1;
        Ok(true)
    }
}
