//! Running providers so that one that panics or stalls takes nobody with it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use crate::provider::{CollectionId, TIME_TO_PREPARE};
use crate::{ErrorCode, Failure, Provider, Rows};

/// A provider and where it runs.
pub(crate) enum Host {
    /// In the thread that collects: providers of this machine, which do not wait for anybody.
    Inline(Box<dyn Provider>),
    /// In a thread of its own, which is waited for until a deadline.
    Worker(Box<Worker>),
    /// It panicked, and what it left behind is not trusted any more.
    Failed(Failure),
}

/// A provider's thread.
pub(crate) struct Worker {
    requests: SyncSender<Rows>,
    answers: Receiver<Answer>,
    deadline: Duration,
    /// The thread still works on a request that nobody waits for any more.
    is_late: bool,
    /// What stands in for the rows that the thread has: the other of two buffers.
    spare: Option<Rows>,
}

struct Answer {
    rows: Rows,
    outcome: Outcome,
}

/// How collecting ended.
enum Outcome {
    Answered(Result<(), Failure>),
    Panicked(Failure),
}

impl Host {
    /// A provider that runs in a thread of its own.
    pub(crate) fn on_worker(mut provider: Box<dyn Provider>, deadline: Duration) -> std::io::Result<Self> {
        let (requests, to_do) = sync_channel::<Rows>(1);
        let (done, answers) = sync_channel(1);
        let name = provider.info().name.chars().take(15).collect();
        std::thread::Builder::new().name(name).spawn(move || {
            while let Ok(mut rows) = to_do.recv() {
                let outcome = caught(|| {
                    let collection = CollectionId::next();
                    provider.ask(&rows, collection);
                    provider.prepare(&rows, collection, Instant::now() + TIME_TO_PREPARE);
                    provider.collect(&mut rows)
                });
                if done.send(Answer { rows, outcome }).is_err() {
                    break;
                }
            }
        })?;
        Ok(Self::Worker(Box::new(Worker { requests, answers, deadline, is_late: false, spare: None })))
    }

    /// Begins to get ready to collect into `rows`; failures come out of collecting.
    pub(crate) fn ask(&mut self, rows: &Rows, collection: CollectionId) {
        self.tell(|provider| provider.ask(rows, collection));
    }

    /// Gets ready to collect into `rows`; failures come out of collecting.
    pub(crate) fn prepare(&mut self, rows: &Rows, collection: CollectionId, until: Instant) {
        self.tell(|provider| provider.prepare(rows, collection, until));
    }

    /// Tells a provider that nobody asks for its set any more.
    pub(crate) fn rest(&mut self) {
        self.tell(|provider| provider.rest());
    }

    /// Tells something to a provider that runs in this thread.
    fn tell(&mut self, what: impl FnOnce(&mut dyn Provider)) {
        if let Self::Inline(provider) = self
            && let Outcome::Panicked(failure) = caught(|| {
                what(&mut **provider);
                Ok(())
            })
        {
            *self = Self::Failed(failure);
        }
    }

    /// Collects into `rows`, which say what is wanted and were cleared for the moment. On a failure they have no row.
    pub(crate) fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let outcome = match self {
            Self::Inline(provider) => caught(|| provider.collect(rows)),
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
            // The answer to an earlier question is of no use now; it only says that the thread is free again.
            match self.answers.try_recv() {
                Ok(answer) => {
                    self.is_late = false;
                    self.spare = Some(answer.rows);
                }
                Err(_) => return Outcome::Answered(Err(self.timeout())),
            }
        }
        let mut other = self.spare.take().unwrap_or_else(|| rows.without_values());
        other.want_as(rows);
        let question = std::mem::replace(rows, other);
        let has_ended =
            || Outcome::Panicked(Failure::new(ErrorCode::INTERNAL_ERROR, "the provider's thread has ended"));
        if self.requests.send(question).is_err() {
            return has_ended();
        }
        match self.answers.recv_timeout(self.deadline) {
            Ok(answer) => {
                self.spare = Some(std::mem::replace(rows, answer.rows));
                answer.outcome
            }
            Err(RecvTimeoutError::Timeout) => {
                self.is_late = true;
                Outcome::Answered(Err(self.timeout()))
            }
            Err(RecvTimeoutError::Disconnected) => has_ended(),
        }
    }

    fn timeout(&self) -> Failure {
        Failure::new(
            ErrorCode::TIMEOUT,
            format!("the provider did not answer within {} ms", self.deadline.as_millis()),
        )
    }
}

/// Asks a provider, and catches a panic.
fn caught(ask: impl FnOnce() -> Result<(), Failure>) -> Outcome {
    // After a panic neither the provider nor the rows are looked at again.
    match catch_unwind(AssertUnwindSafe(ask)) {
        Ok(outcome) => Outcome::Answered(outcome),
        Err(panic) => {
            let reason = format!("the provider panicked: {}", text_of(&*panic));
            Outcome::Panicked(Failure::new(ErrorCode::INTERNAL_ERROR, reason))
        }
    }
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "without a message",
    }
}
