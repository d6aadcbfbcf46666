//! An export: samples in, requests out.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tachograph_counters::civil::FileTime;
use tachograph_counters::io_error_text;
use tachograph_counters::path::PathPattern;
use tachograph_metrics::{MetricReader, MetricsOptions};
use tachograph_perflib::{Query, Registry};

use crate::encoder::{Encoder, SampleOrigin};
use crate::error::ExportError;
use crate::queue::Queue;
use crate::sender::{Sender, SharedCounts};
use crate::target::{Authorization, Target};

/// Receives messages for the user, such as that a receiver is down or that samples were dropped.
pub type Notify = Arc<dyn Fn(&str) + Send + Sync>;

/// What is sent, and where.
#[derive(Clone)]
pub struct ExportOptions {
    /// The receivers. Each has a queue of its own.
    pub targets: Vec<Target>,
    /// Which counters are sent, and under which names.
    pub metrics: MetricsOptions,
    /// The value of the `Authorization` header of all requests.
    pub authorization: Option<Authorization>,
    /// The CA certificates to trust instead of the public ones, in PEM format.
    pub certificates: Option<Vec<u8>>,
    /// The folder of the queues. It is created if it is missing.
    pub queue: PathBuf,
    /// The maximum size of each receiver's queue in bytes; a value below 16 MiB is raised to 16 MiB. A full queue drops
    /// its oldest samples.
    pub max_queue: u64,
    /// The label `job` of remote-write, and the attribute `service.name` of OTLP.
    pub service: String,
    /// When the machine was booted. This is the start time of its counters.
    pub boot_time: FileTime,
    /// Receives messages for the user.
    pub notify: Notify,
}

impl fmt::Debug for ExportOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExportOptions")
            .field("targets", &self.targets)
            .field("queue", &self.queue)
            .finish_non_exhaustive()
    }
}

/// Sends each sample of a query to all receivers.
pub struct Export {
    reader: MetricReader,
    targets: Vec<TargetState>,
    /// The time of the last sample.
    last_sample: Option<FileTime>,
    notify: Notify,
}

/// A receiver, and the encoder and queue through which it gets samples.
struct TargetState {
    target: Target,
    encoder: Encoder,
    queue: Arc<Queue>,
    counts: Arc<SharedCounts>,
    unwritten: Unwritten,
}

/// Samples that could not be written to the queue.
#[derive(Clone, Copy, Debug, Default)]
struct Unwritten {
    all: u64,
    /// Those since the last sample that could be written.
    current: u64,
}

/// The numbers of samples for a receiver, by outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportSummary {
    /// The receiver.
    pub target: Target,
    /// Samples that it accepted.
    pub sent: u64,
    /// Samples that it refused permanently.
    pub refused: u64,
    /// Samples that were dropped because the queue was full or could not be written.
    pub dropped: u64,
    /// Samples that wait in the queue.
    pub waiting: u64,
    /// Points that an OpenTelemetry collector rejected, although it accepted their samples.
    pub rejected_points: u64,
    /// Why the last request failed; `None` if it was accepted.
    pub failure: Option<String>,
    /// The folder of the queue. The next export to the same receiver first sends the samples that are left in it.
    pub queue: PathBuf,
}

impl Export {
    /// Opens the queues and starts a thread per receiver. Samples that an earlier export left in a queue are sent
    /// first.
    ///
    /// # Errors
    ///
    /// If the counters cannot be queried, a queue cannot be opened or is in use, or the certificates cannot be used.
    pub fn start(registry: &Arc<Registry>, options: ExportOptions) -> Result<Self, ExportError> {
        let reader = MetricReader::new(registry, options.metrics).map_err(ExportError::Counters)?;
        let origin = SampleOrigin {
            host: registry.machine().trim_start_matches('\\').to_owned(),
            service: options.service,
            boot_time: options.boot_time,
        };
        let mut targets: Vec<TargetState> = Vec::new();
        for target in options.targets {
            if targets.iter().any(|known| known.target == target) {
                continue;
            }
            let folder = options.queue.join(target.folder_name());
            let queue = Arc::new(Queue::open(&folder, options.max_queue)?);
            let sender = Sender::new(
                &target,
                options.authorization.clone(),
                options.certificates.as_deref(),
                Arc::clone(&queue),
                Arc::clone(&options.notify),
            )?;
            let counts = sender.counts();
            thread::Builder::new()
                .name("export".to_owned())
                .spawn(move || sender.run())
                .map_err(ExportError::Thread)?;
            let encoder = Encoder::new(target.protocol(), &origin);
            targets.push(TargetState { target, encoder, queue, counts, unwritten: Unwritten::default() });
        }
        Ok(Self { reader, targets, last_sample: None, notify: options.notify })
    }

    /// The paths that the query for [`push`](Self::push) must have.
    pub fn paths(&self) -> Vec<PathPattern> {
        self.reader.paths()
    }

    /// Adds the query's last collection to the queues, as the sample taken at `at`. Sampling continues even if a queue
    /// cannot be written. The sample is then dropped and counted. The first such error is reported, and when the queue can be
    /// written again.
    pub fn push(&mut self, query: &Query, at: FileTime) {
        let targets = &mut self.targets;
        self.reader.read(query, |point| {
            for state in &mut *targets {
                state.encoder.push(point, at);
            }
        });
        self.last_sample = Some(at);
        self.end_sample(at, 1);
    }

    /// Writes what was encoded to the queues. `samples` is 0 if this is only the end of all series.
    fn end_sample(&mut self, at: FileTime, samples: u32) {
        for state in &mut self.targets {
            let TargetState { target, encoder, queue, unwritten, .. } = state;
            // Only the last body of a sample carries its count, so each body is written when the next one is known.
            let mut pending: Vec<u8> = Vec::new();
            let mut outcome = Ok(());
            let mut write = |body: &[u8], samples| {
                if outcome.is_ok() && !body.is_empty() {
                    outcome = queue.push(body, samples);
                }
            };
            encoder.end_sample(at, |body| {
                write(&pending, 0);
                pending.clear();
                pending.extend_from_slice(body);
            });
            write(&pending, samples);
            let folder = queue.folder().display();
            match outcome {
                Err(error) => {
                    if unwritten.current == 0 {
                        let error = io_error_text(&error);
                        (self.notify)(&format!(
                            "{target}: cannot write to {folder}: {error}; samples are dropped"
                        ));
                    }
                    unwritten.current += u64::from(samples);
                    unwritten.all += u64::from(samples);
                }
                Ok(()) => {
                    let count = std::mem::take(&mut unwritten.current);
                    if count > 0 {
                        let samples = count_of_samples(count);
                        (self.notify)(&format!("{target}: {folder} can be written again; {samples} dropped"));
                    }
                }
            }
        }
    }

    /// The state of each receiver.
    pub fn summary(&self) -> Vec<ExportSummary> {
        let summary = |state: &TargetState| {
            let counts = state.counts.get();
            ExportSummary {
                target: state.target.clone(),
                sent: counts.sent,
                refused: counts.refused,
                dropped: counts.dropped + state.queue.dropped() + state.unwritten.all,
                waiting: state.queue.backlog().samples,
                rejected_points: counts.rejected_points,
                failure: counts.failure,
                queue: state.queue.folder().to_owned(),
            }
        };
        self.targets.iter().map(summary).collect()
    }

    /// Ends all series, and waits until everything is sent, at most for `max_wait`. Unsent samples stay in the queues.
    pub fn finish(mut self, max_wait: Duration) -> Vec<ExportSummary> {
        if let Some(last) = self.last_sample {
            self.end_sample(last.saturating_add(FileTime::PER_MILLISECOND), 0);
        }
        let deadline = Instant::now() + max_wait;
        for state in &self.targets {
            state.queue.close(deadline);
        }
        for state in &self.targets {
            // A request in flight is not awaited; the next export sends its samples again.
            state.counts.wait_for_end(deadline + Duration::from_millis(100));
            if let Err(error) = state.queue.remove_sent_segments() {
                (self.notify)(&format!("{}: {error}", state.queue.folder().display()));
            }
        }
        self.summary()
    }
}

/// For example `1 sample was`, to which a verb is added.
pub(crate) fn count_of_samples(count: u64) -> String {
    match count {
        1 => "1 sample was".to_owned(),
        count => format!("{count} samples were"),
    }
}

impl fmt::Debug for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Export").field("summary", &self.summary()).finish_non_exhaustive()
    }
}
