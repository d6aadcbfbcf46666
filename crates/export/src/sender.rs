//! The thread that empties a queue.

use std::io::{self, Read as _, Write as _};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message as _;
use tachograph_counters::{IgnorePoison, io_error_text};
use ureq::http::StatusCode;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Timeout};

use crate::error::ExportError;
use crate::export::{Notify, count_of_samples};
use crate::outage::Outage;
use crate::queue::{Batch, Queue};
use crate::target::{Authorization, Protocol, Target};
use crate::wire::ExportResponse;

/// The longest time for one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The shortest pause between attempts. Each pause is twice as long as the one before.
const MIN_PAUSE: Duration = Duration::from_millis(250);
/// The longest pause between attempts.
const MAX_PAUSE: Duration = Duration::from_secs(10);
/// The number of attempts to send a batch of several entries before its entries are sent one by one.
const MAX_BATCH_ATTEMPTS: u32 = 6;
/// The longest pause that a receiver can request (`Retry-After`).
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);
/// The maximum number of bytes that are read of a response.
const MAX_RESPONSE_BYTES: u64 = 4 << 10;

/// The numbers of samples by outcome, and whether the thread that counts them has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Samples that the receiver accepted.
    pub(crate) sent: u64,
    /// Samples that the receiver refused permanently.
    pub(crate) refused: u64,
    /// Samples that were dropped because the queue was full or damaged.
    pub(crate) dropped: u64,
    /// Points that a collector rejected, although it accepted the request.
    pub(crate) rejected_points: u64,
    /// Why the last request failed; `None` if it was accepted.
    pub(crate) failure: Option<String>,
    /// Whether the sender thread has ended.
    has_ended: bool,
}

/// The counts of a sender thread, which other threads read.
#[derive(Debug, Default)]
pub(crate) struct SharedCounts {
    counts: Mutex<Counts>,
    /// Notified when the counts change.
    changed: Condvar,
}

impl SharedCounts {
    pub(crate) fn get(&self) -> Counts {
        self.counts.lock().ignore_poison().clone()
    }

    fn update(&self, update: impl FnOnce(&mut Counts)) {
        update(&mut self.counts.lock().ignore_poison());
        self.changed.notify_all();
    }

    /// Waits until the sender thread has ended, at most until `deadline`.
    pub(crate) fn wait_for_end(&self, deadline: Instant) {
        let mut counts = self.counts.lock().ignore_poison();
        while !counts.has_ended {
            let Some(rest) = deadline.checked_duration_since(Instant::now()) else { return };
            counts = self.changed.wait_timeout(counts, rest).ignore_poison().0;
        }
    }
}

/// Sends the batches of a queue in order. A batch is sent again until the receiver accepts it or refuses it
/// permanently.
pub(crate) struct Sender {
    target: Target,
    authorization: Option<Authorization>,
    agent: Agent,
    queue: Arc<Queue>,
    counts: Arc<SharedCounts>,
    notify: Notify,
    /// Set while the receiver does not accept samples.
    outage: Option<Outage>,
}

/// The outcome of sending a batch, after as many attempts as necessary.
enum BatchOutcome {
    Accepted,
    /// The receiver will never accept the batch.
    Refused(String),
    /// [`MAX_BATCH_ATTEMPTS`] attempts failed.
    Failed,
    /// The queue was full, and dropped the batch.
    Dropped,
    /// The queue is closed, and its deadline has passed.
    Closed,
}

/// The result of one attempt to send a batch.
enum PostOutcome {
    Accepted,
    /// The receiver will never accept this body.
    Refused(String),
    /// The receiver may accept the body later. `retry_after` is the pause that it requested, if any.
    Retry {
        /// Equal for failures that are reported once per outage.
        cause: String,
        reason: String,
        retry_after: Option<Duration>,
    },
}

impl Sender {
    pub(crate) fn new(
        target: &Target,
        authorization: Option<Authorization>,
        certificates: Option<&[u8]>,
        queue: Arc<Queue>,
        notify: Notify,
    ) -> Result<Self, ExportError> {
        let mut tls = TlsConfig::builder();
        if let Some(pem) = certificates {
            tls = tls.root_certs(root_certificates(pem)?);
        }
        let mut config = Agent::config_builder();
        if target.is_local() {
            // A proxy would take localhost for its own machine.
            config = config.proxy(None);
        }
        let agent = config
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_global(Some(REQUEST_TIMEOUT))
            .tls_config(tls.build())
            .user_agent(concat!("tachograph/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent();
        let counts = Arc::default();
        let target = target.clone();
        Ok(Self { target, authorization, agent, queue, counts, notify, outage: None })
    }

    pub(crate) fn counts(&self) -> Arc<SharedCounts> {
        Arc::clone(&self.counts)
    }

    /// Sends batches until the queue is closed, and is empty or past its deadline.
    pub(crate) fn run(mut self) {
        self.send_all();
        self.count_dropped();
        self.counts.update(|counts| counts.has_ended = true);
    }

    fn send_all(&mut self) {
        // If a batch fails, its entries are sent one by one, so that one bad sample does not lose the others. This is
        // the number of such entries that are left.
        let mut single_entries_left = 0;
        let mut has_reported_read_error = false;
        loop {
            let batch = match self.queue.next(if single_entries_left > 0 { 1 } else { usize::MAX }) {
                Ok(Some(batch)) => batch,
                Ok(None) => return,
                Err(error) => {
                    if !std::mem::replace(&mut has_reported_read_error, true) {
                        let folder = self.queue.folder().display();
                        self.report(&format!("cannot read the queue in {folder}, will retry: {error}"));
                    }
                    if !self.queue.wait(MAX_PAUSE, MIN_PAUSE) {
                        return;
                    }
                    continue;
                }
            };
            match self.send(&batch) {
                BatchOutcome::Closed => return,
                BatchOutcome::Dropped => {}
                BatchOutcome::Accepted => self.counts.update(|counts| counts.sent += batch.samples),
                BatchOutcome::Refused(_) | BatchOutcome::Failed if batch.entries > 1 => {
                    single_entries_left = batch.entries;
                    continue;
                }
                BatchOutcome::Failed => continue,
                BatchOutcome::Refused(reason) => {
                    if self.counts.get().refused == 0 {
                        self.report(&format!("a sample was refused: {reason}"));
                    }
                    self.counts.update(|counts| counts.refused += batch.samples);
                }
            }
            single_entries_left = single_entries_left.saturating_sub(batch.entries);
            // If the position cannot be written, the next process sends the batch again.
            let _ = self.queue.remove(&batch);
            self.count_dropped();
        }
    }

    /// Sends a batch repeatedly until there is an outcome.
    fn send(&mut self, batch: &Batch) -> BatchOutcome {
        let body = match self.target.protocol() {
            Protocol::RemoteWrite => {
                snap::raw::Encoder::new().compress_vec(&batch.body).map_err(|error| error.to_string())
            }
            Protocol::Otlp => gzip(&batch.body).map_err(|error| error.to_string()),
        };
        let body = match body {
            Ok(body) => body,
            Err(reason) => return BatchOutcome::Refused(reason),
        };
        let mut pause = MIN_PAUSE;
        for attempt in 1_u32.. {
            let begun = Instant::now();
            match self.post(&body) {
                PostOutcome::Accepted => {
                    self.end_outage();
                    return BatchOutcome::Accepted;
                }
                PostOutcome::Refused(reason) => return BatchOutcome::Refused(reason),
                PostOutcome::Retry { cause, reason, retry_after } => {
                    self.report_failure(begun, cause, reason);
                    self.count_dropped();
                    if !self.queue.wait(retry_after.unwrap_or(pause).max(pause), MIN_PAUSE) {
                        return BatchOutcome::Closed;
                    }
                    pause = (pause * 2).min(MAX_PAUSE);
                    if !self.queue.has(batch) {
                        return BatchOutcome::Dropped;
                    }
                    // The receiver may fail because of the size of the batch or because of one of its samples.
                    if batch.entries > 1 && attempt >= MAX_BATCH_ATTEMPTS {
                        return BatchOutcome::Failed;
                    }
                }
            }
        }
        BatchOutcome::Closed
    }

    fn post(&self, body: &[u8]) -> PostOutcome {
        let mut request =
            self.agent.post(self.target.url().clone()).header("Content-Type", "application/x-protobuf");
        request = match self.target.protocol() {
            Protocol::RemoteWrite => request
                .header("Content-Encoding", "snappy")
                .header("X-Prometheus-Remote-Write-Version", "0.1.0"),
            Protocol::Otlp => request.header("Content-Encoding", "gzip"),
        };
        if let Some(authorization) = &self.authorization {
            request = request.header("Authorization", authorization.header());
        }
        let mut response = match request.send(body) {
            Ok(response) => response,
            Err(error) => {
                let reason = failure_text(&error);
                return PostOutcome::Retry { cause: reason.clone(), reason, retry_after: None };
            }
        };
        let status = response.status();
        let retry_after =
            response.headers().get("Retry-After").and_then(|value| value.to_str().ok()?.parse().ok());
        let mut response_body = Vec::new();
        // The connection is reused only if the whole response was read.
        let _ = response.body_mut().as_reader().take(MAX_RESPONSE_BYTES).read_to_end(&mut response_body);
        if status.is_success() {
            if self.target.protocol() == Protocol::Otlp {
                self.count_rejected_points(&response_body);
            }
            return PostOutcome::Accepted;
        }
        let cause = status.to_string();
        let reason = format!("{status}: {}", first_line(&response_body));
        let is_temporary = matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY
        );
        if status.is_server_error() || is_temporary {
            let retry_after = retry_after.map(|seconds| Duration::from_secs(seconds).min(MAX_RETRY_AFTER));
            return PostOutcome::Retry { cause, reason, retry_after };
        }
        // The user can correct these errors, so the samples stay in the queue.
        let is_misconfigured = matches!(
            status,
            StatusCode::UNAUTHORIZED
                | StatusCode::FORBIDDEN
                | StatusCode::NOT_FOUND
                | StatusCode::PROXY_AUTHENTICATION_REQUIRED
        );
        if is_misconfigured || status.is_redirection() {
            return PostOutcome::Retry { cause, reason, retry_after: Some(MAX_PAUSE) };
        }
        PostOutcome::Refused(reason)
    }

    /// Counts the points of an accepted request that a collector rejected, and reports the first ones.
    fn count_rejected_points(&self, body: &[u8]) {
        let Some(partial) = ExportResponse::decode(body).ok().and_then(|response| response.partial_success)
        else {
            return;
        };
        let points = u64::try_from(partial.rejected_data_points).unwrap_or_default();
        if points > 0 && self.counts.get().rejected_points == 0 {
            let reason = first_line(partial.error_message.as_bytes());
            self.report(&format!("{points} points of a request were rejected: {reason}"));
        }
        self.counts.update(|counts| counts.rejected_points += points);
    }

    fn count_dropped(&mut self) {
        let dropped = self.queue.take_dropped();
        if dropped == 0 {
            return;
        }
        let is_first = match &mut self.outage {
            Some(outage) => outage.add_dropped(dropped),
            None => self.counts.get().dropped == 0,
        };
        if is_first {
            self.report(&format!(
                "the queue in {} is full or damaged: the oldest samples are dropped",
                self.queue.folder().display()
            ));
        }
        self.counts.update(|counts| counts.dropped += dropped);
    }

    /// Reports that a request failed that was `begun` at this time, unless the outage has had the same cause before.
    fn report_failure(&mut self, begun: Instant, cause: String, reason: String) {
        let is_new_outage = self.outage.is_none();
        if self.outage.get_or_insert_with(|| Outage::new(begun)).is_new_cause(cause) {
            let folder = self.queue.folder().display();
            self.report(&match is_new_outage {
                true => format!("{reason}; samples wait in {folder} until the receiver accepts them"),
                false => format!("{reason}; samples still wait in {folder}"),
            });
        }
        self.counts.update(|counts| counts.failure = Some(reason));
    }

    /// Reports the end of an outage, if there was one.
    fn end_outage(&mut self) {
        self.count_dropped();
        let Some(outage) = self.outage.take() else { return };
        self.counts.update(|counts| counts.failure = None);
        let waiting = match self.queue.backlog().samples {
            1 => "1 sample is waiting".to_owned(),
            samples => format!("{samples} samples are waiting"),
        };
        let dropped = match outage.dropped {
            0 => String::new(),
            dropped => format!(", {} dropped", count_of_samples(dropped)),
        };
        let seconds = outage.since.elapsed().as_secs_f64();
        self.report(&format!("accepts samples again after {seconds:.1} s; {waiting}{dropped}"));
    }

    fn report(&self, text: &str) {
        (self.notify)(&format!("{}: {text}", self.target));
    }
}

/// Why there was no response, for example `Connection refused`.
fn failure_text(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Io(error) => io_error_text(error),
        ureq::Error::Timeout(Timeout::Connect) => {
            format!("no connection within {} s", CONNECT_TIMEOUT.as_secs())
        }
        ureq::Error::Timeout(_) => format!("no response within {} s", REQUEST_TIMEOUT.as_secs()),
        error => error.to_string(),
    }
}

fn gzip(body: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body)?;
    encoder.finish()
}

/// The first non-empty line of a response, shortened and without control characters.
fn first_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
    line.trim().chars().filter(|c| !c.is_control()).take(200).collect()
}

/// The certificates of a PEM file.
fn root_certificates(pem: &[u8]) -> Result<RootCerts, ExportError> {
    let mut certificates = Vec::new();
    for item in ureq::tls::parse_pem(pem) {
        match item {
            Ok(ureq::tls::PemItem::Certificate(certificate)) => certificates.push(certificate),
            Ok(_) => {}
            Err(error) => return Err(ExportError::Certificates(format!("not a PEM file: {error}"))),
        }
    }
    if certificates.is_empty() {
        return Err(ExportError::Certificates("the file contains no PEM certificate".to_owned()));
    }
    Ok(RootCerts::from(certificates.iter().map(Certificate::to_owned).collect::<Vec<_>>()))
}
