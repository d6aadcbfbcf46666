//! Runs providers. A provider that panics or stalls does not affect the others.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use crate::provider::{CollectionId, MAX_PREPARE_TIME};
use crate::{ErrorCode, Failure, Provider, Rows};

/// A provider and where it runs.
pub(crate) enum Host {
    /// Runs in the collecting thread. For providers that do not block.
    Inline(Box<dyn Provider>),
    /// Runs in its own thread, with a deadline.
    Worker(Box<Worker>),
    /// The provider panicked, so it is not called again.
    Failed(Failure),
}

/// A provider's thread.
pub(crate) struct Worker {
    requests: SyncSender<Rows>,
    answers: Receiver<(Rows, Outcome)>,
    /// The maximum time for an answer.
    deadline: Duration,
    /// Whether the thread may still be working on a request that missed the deadline.
    is_late: bool,
    /// The second of two buffers, for use while the thread owns the first.
    spare: Option<Rows>,
}

/// The outcome of a call of the provider.
enum Outcome {
    Answered(Result<(), Failure>),
    Panicked(Failure),
}

impl Host {
    /// A provider that runs in its own thread.
    pub(crate) fn on_worker(mut provider: Box<dyn Provider>, deadline: Duration) -> std::io::Result<Self> {
        let (requests, receiver) = sync_channel::<Rows>(1);
        let (answer_sender, answers) = sync_channel(1);
        let name = provider.info().name.chars().take(15).collect();
        std::thread::Builder::new().name(name).spawn(move || {
            while let Ok(mut rows) = receiver.recv() {
                let outcome = catch_panic(|| {
                    let collection = CollectionId::next();
                    provider.request(&rows, collection);
                    provider.prepare(&rows, collection, Instant::now() + MAX_PREPARE_TIME);
                    provider.collect(&mut rows)
                });
                if answer_sender.send((rows, outcome)).is_err() {
                    break;
                }
            }
        })?;
        Ok(Self::Worker(Box::new(Worker { requests, answers, deadline, is_late: false, spare: None })))
    }

    /// Calls [`Provider::request`]; failures are reported by `collect`.
    pub(crate) fn request(&mut self, rows: &Rows, collection: CollectionId) {
        self.call(|provider| provider.request(rows, collection));
    }

    /// Calls [`Provider::prepare`]; failures are reported by `collect`.
    pub(crate) fn prepare(&mut self, rows: &Rows, collection: CollectionId, until: Instant) {
        self.call(|provider| provider.prepare(rows, collection, until));
    }

    /// Calls [`Provider::idle`].
    pub(crate) fn idle(&mut self) {
        self.call(|provider| provider.idle());
    }

    /// Calls a method of the provider if it runs in this thread.
    fn call(&mut self, method: impl FnOnce(&mut dyn Provider)) {
        if let Self::Inline(provider) = self
            && let Outcome::Panicked(failure) = catch_panic(|| {
                method(&mut **provider);
                Ok(())
            })
        {
            *self = Self::Failed(failure);
        }
    }

    /// Calls [`Provider::collect`] with `rows`, in which the caller has set the selection and the time. After a
    /// failure, `rows` is empty.
    pub(crate) fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let outcome = match self {
            Self::Inline(provider) => catch_panic(|| provider.collect(rows)),
            Self::Worker(worker) => worker.collect(rows),
            Self::Failed(failure) => Outcome::Answered(Err(failure.clone())),
        };
        let outcome = match outcome {
            Outcome::Answered(outcome) => outcome,
            Outcome::Panicked(failure) => {
                *self = Self::Failed(failure.clone());
                Err(failure)
            }
        };
        if outcome.is_err() {
            rows.truncate(0);
        }
        outcome
    }
}

impl Worker {
    fn collect(&mut self, rows: &mut Rows) -> Outcome {
        if self.is_late {
            // The answer to the earlier request is discarded; it only shows that the thread is free again.
            match self.answers.try_recv() {
                Ok((rows, _)) => {
                    self.is_late = false;
                    self.spare = Some(rows);
                }
                Err(_) => return Outcome::Answered(Err(self.timeout())),
            }
        }
        let mut other = self.spare.take().unwrap_or_else(|| rows.without_values());
        other.copy_selection_from(rows);
        let request = std::mem::replace(rows, other);
        let thread_exited =
            || Outcome::Panicked(Failure::new(ErrorCode::INTERNAL_ERROR, "the provider's thread has exited"));
        if self.requests.send(request).is_err() {
            return thread_exited();
        }
        match self.answers.recv_timeout(self.deadline) {
            Ok((answer, outcome)) => {
                self.spare = Some(std::mem::replace(rows, answer));
                outcome
            }
            Err(RecvTimeoutError::Timeout) => {
                self.is_late = true;
                Outcome::Answered(Err(self.timeout()))
            }
            Err(RecvTimeoutError::Disconnected) => thread_exited(),
        }
    }

    fn timeout(&self) -> Failure {
        Failure::new(
            ErrorCode::TIMEOUT,
            format!("the provider did not answer within {} ms", self.deadline.as_millis()),
        )
    }
}

/// Calls a provider and catches a panic.
fn catch_panic(call: impl FnOnce() -> Result<(), Failure>) -> Outcome {
    // After a panic, the provider is not called again and the rows are discarded.
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(outcome) => Outcome::Answered(outcome),
        Err(panic) => {
            let reason = format!("the provider panicked: {}", panic_message(&*panic));
            Outcome::Panicked(Failure::new(ErrorCode::INTERNAL_ERROR, reason))
        }
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "no message",
    }
}
