//! An export: samples in, requests out.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tachograph_counters::civil::FileTime;
use tachograph_counters::path::PathPattern;
use tachograph_metrics::{MetricReader, MetricsOptions};
use tachograph_perflib::{Query, Registry};

use crate::encoder::{Encoder, Origin};
use crate::error::ExportError;
use crate::queue::Queue;
use crate::sender::{Sender, SharedCounts};
use crate::target::{Authorization, Target};

/// Receives notices for people: that a receiver is down, that samples were dropped.
pub type Notify = Arc<dyn Fn(&str) + Send + Sync>;

/// What is sent, and where.
#[derive(Clone)]
pub struct ExportOptions {
    /// The receivers. Each has a queue of its own.
    pub targets: Vec<Target>,
    /// Which counters, and their names.
    pub metrics: MetricsOptions,
    /// The value of `Authorization` in all requests.
    pub authorization: Option<Authorization>,
    /// The certificates of the authorities to trust, in PEM form, instead of the public ones.
    pub certificates: Option<Vec<u8>>,
    /// The folder of the queues. It is created if it is missing.
    pub queue: PathBuf,
    /// The maximum size of the queue of each receiver, in bytes; at least 16 MiB are used. When it is full, the oldest samples
    /// are dropped.
    pub max_queue: u64,
    /// The label `job` of remote-write, and the attribute `service.name` of OTLP.
    pub service: String,
    /// When the machine was started: since then its counters accumulate.
    pub boot_time: FileTime,
    /// Receives notices.
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
    targets: Vec<Exporting>,
    last: Option<FileTime>,
    notify: Notify,
}

/// The state of a receiver.
struct Exporting {
    target: Target,
    encoder: Encoder,
    queue: Arc<Queue>,
    counts: Arc<SharedCounts>,
    /// Samples that could not be written to the queue.
    unwritten: u64,
}

/// What was sent to a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportSummary {
    /// The receiver.
    pub target: Target,
    /// Samples that it accepted.
    pub sent: u64,
    /// Samples that it refused, and will never accept.
    pub refused: u64,
    /// Samples that were dropped because the queue was full or could not be written.
    pub dropped: u64,
    /// Samples that wait in the queue.
    pub waiting: u64,
    /// The folder in which they wait. The next export to the same receiver sends them first.
    pub queue: PathBuf,
}

impl Export {
    /// Opens the queues and starts a thread per receiver. What an earlier export left in a queue is sent first.
    ///
    /// # Errors
    ///
    /// If the counters cannot be queried, a queue cannot be opened or is in use, or the certificates are not usable.
    pub fn start(registry: &Arc<Registry>, options: ExportOptions) -> Result<Self, ExportError> {
        let reader = MetricReader::new(registry, options.metrics).map_err(ExportError::Counters)?;
        let origin = Origin {
            host: registry.machine().trim_start_matches('\\').to_owned(),
            service: options.service,
            boot: options.boot_time,
        };
        let mut targets: Vec<Exporting> = Vec::new();
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
            targets.push(Exporting { target, encoder, queue, counts, unwritten: 0 });
        }
        Ok(Self { reader, targets, last: None, notify: options.notify })
    }

    /// The paths that the query must have.
    pub fn paths(&self) -> Vec<PathPattern> {
        self.reader.paths()
    }

    /// Adds the last collection of a query to the queues, as the sample of `at`. A queue that cannot be written loses the
    /// sample, which is reported once and counted; it is no reason to stop sampling.
    pub fn push(&mut self, query: &Query, at: FileTime) {
        let targets = &mut self.targets;
        self.reader.read(query, |point| {
            for exporting in &mut *targets {
                exporting.encoder.push(point, at);
            }
        });
        self.end_sample(at);
    }

    fn end_sample(&mut self, at: FileTime) {
        self.last = Some(at);
        for exporting in &mut self.targets {
            let Exporting { target, encoder, queue, unwritten, .. } = exporting;
            // The last body of a sample counts it, so each one is written when the next one comes.
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
            write(&pending, 1);
            if let Err(error) = outcome {
                if *unwritten == 0 {
                    let folder = queue.folder().display();
                    (self.notify)(&format!(
                        "{target}: cannot write to {folder}: {error}; samples are dropped"
                    ));
                }
                *unwritten += 1;
            }
        }
    }

    /// The state of each receiver.
    pub fn summary(&self) -> Vec<ExportSummary> {
        let of_target = |exporting: &Exporting| {
            let counts = exporting.counts.get();
            ExportSummary {
                target: exporting.target.clone(),
                sent: counts.sent,
                refused: counts.refused,
                dropped: counts.dropped + exporting.unwritten,
                waiting: exporting.queue.waiting().samples,
                queue: exporting.queue.folder().to_owned(),
            }
        };
        self.targets.iter().map(of_target).collect()
    }

    /// Ends all series, and waits until everything was sent, at most for `time`. What was not stays in the queues.
    pub fn finish(mut self, time: Duration) -> Vec<ExportSummary> {
        if let Some(last) = self.last {
            self.end_sample(last.saturating_add(FileTime::PER_MILLISECOND));
        }
        let deadline = Instant::now() + time;
        for exporting in &self.targets {
            exporting.queue.close(deadline);
        }
        for exporting in &self.targets {
            // A request that is under way is not waited for: its sample is sent again.
            exporting.counts.wait_for_end(deadline + Duration::from_millis(100));
            if let Err(error) = exporting.queue.tidy() {
                (self.notify)(&format!("{}: {error}", exporting.queue.folder().display()));
            }
        }
        self.summary()
    }
}

impl fmt::Debug for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Export").field("summary", &self.summary()).finish_non_exhaustive()
    }
}
