//! Running providers so that one that panics or stalls takes nobody with it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use crate::{ErrorCode, Failure, Provider, Rows};

/// A provider and where it runs.
pub(crate) enum Host {
    /// In the thread that collects: providers of this machine, which do not wait for anybody.
    Inline(Box<dyn Provider>),
    /// In a thread of its own, which is waited for until a deadline.
    Worker(Worker),
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
}

struct Answer {
    rows: Rows,
    outcome: Result<(), Failure>,
}

impl Host {
    /// A provider that runs in a thread of its own.
    pub(crate) fn on_worker(mut provider: Box<dyn Provider>, deadline: Duration) -> std::io::Result<Self> {
        let (requests, to_do) = sync_channel::<Rows>(1);
        let (done, answers) = sync_channel(1);
        let name = provider.info().name.chars().take(15).collect();
        std::thread::Builder::new().name(name).spawn(move || {
            while let Ok(mut rows) = to_do.recv() {
                let outcome = collect_caught(&mut *provider, &mut rows);
                if done.send(Answer { rows, outcome }).is_err() {
                    break;
                }
            }
        })?;
        Ok(Self::Worker(Worker { requests, answers, deadline, is_late: false }))
    }

    /// Collects into `rows`, which say what is wanted and were cleared for the moment. On a failure they have no row.
    pub(crate) fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let outcome = match self {
            Self::Inline(provider) => collect_caught(&mut **provider, rows),
            Self::Worker(worker) => worker.collect(rows),
            Self::Failed(failure) => Err(failure.clone()),
        };
        if let Err(failure) = &outcome {
            rows.truncate(0);
            if failure.code == ErrorCode::INTERNAL_ERROR {
                *self = Self::Failed(failure.clone());
            }
        }
        outcome
    }
}

impl Worker {
    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        if self.is_late {
            // The answer to an earlier question is of no use now; it only says that the thread is free again.
            match self.answers.try_recv() {
                Ok(_) => self.is_late = false,
                Err(_) => return Err(self.timeout()),
            }
        }
        let empty = rows.without_values();
        let question = std::mem::replace(rows, empty);
        if self.requests.send(question).is_err() {
            return Err(Failure::new(ErrorCode::INTERNAL_ERROR, "the provider's thread has ended"));
        }
        match self.answers.recv_timeout(self.deadline) {
            Ok(answer) => {
                *rows = answer.rows;
                answer.outcome
            }
            Err(RecvTimeoutError::Timeout) => {
                self.is_late = true;
                Err(self.timeout())
            }
            Err(RecvTimeoutError::Disconnected) => {
                Err(Failure::new(ErrorCode::INTERNAL_ERROR, "the provider's thread has ended"))
            }
        }
    }

    fn timeout(&self) -> Failure {
        Failure::new(
            ErrorCode::TIMEOUT,
            format!("the provider did not answer within {} ms", self.deadline.as_millis()),
        )
    }
}

/// Collects; a panic becomes a failure with the code [`ErrorCode::INTERNAL_ERROR`].
fn collect_caught(provider: &mut dyn Provider, rows: &mut Rows) -> Result<(), Failure> {
    // After a panic neither the provider nor the rows are looked at again.
    catch_unwind(AssertUnwindSafe(|| provider.collect(rows))).unwrap_or_else(|panic| {
        Err(Failure::new(ErrorCode::INTERNAL_ERROR, format!("the provider panicked: {}", text_of(&*panic))))
    })
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "without a message",
    }
}
