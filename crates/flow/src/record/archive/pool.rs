//! A pool of threads that convert segments. The recorders of several machines can share it.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard};

use tachograph_counters::IgnorePoison;

/// Does jobs on a limited number of threads, in the order in which they were added. The threads end when there are no jobs.
pub(in crate::record) struct Pool {
    queue: Mutex<Queue>,
    max_threads: usize,
}

#[derive(Default)]
struct Queue {
    work: VecDeque<Box<dyn FnOnce() + Send>>,
    threads: usize,
    /// The number of jobs that are in a long part; see [`Pool::start_long`].
    long: usize,
}

/// The long part of a job, which ends when this is dropped; see [`Pool::start_long`].
pub(super) struct Long<'a>(&'a Pool);

impl Drop for Long<'_> {
    fn drop(&mut self) {
        self.0.queue().long -= 1;
    }
}

/// A job of a [`Pool`].
pub(super) struct Job<T> {
    outcome: Receiver<T>,
    is_finished: Arc<AtomicBool>,
}

/// Marks a job as finished when dropped, even if the job panics.
struct Finished(Arc<AtomicBool>);

impl Drop for Finished {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl<T> Job<T> {
    /// Whether the job has ended, so that [`join`](Self::join) does not wait.
    pub(super) fn is_finished(&self) -> bool {
        self.is_finished.load(Ordering::Acquire)
    }

    /// Waits for the outcome; `None` if the job has panicked.
    pub(super) fn join(self) -> Option<T> {
        self.outcome.recv().ok()
    }
}

impl Pool {
    /// A pool of at most `max_threads` threads.
    pub(in crate::record) fn new(max_threads: usize) -> Arc<Self> {
        Arc::new(Self { queue: Mutex::default(), max_threads })
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().ignore_poison()
    }

    /// Adds a job.
    ///
    /// # Errors
    ///
    /// If no thread is running and none can be started. The job is dropped.
    pub(super) fn start<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<Job<T>> {
        let (sender, outcome) = sync_channel(1);
        let is_finished = Arc::<AtomicBool>::default();
        let finished = Finished(Arc::clone(&is_finished));
        let work = move || {
            // Dropped last, after the outcome was sent.
            let _finished = finished;
            // Fails only if the recorder was dropped.
            let _ = sender.send(work());
        };
        let mut queue = self.queue();
        queue.work.push_back(Box::new(work));
        if queue.threads < self.max_threads {
            let pool = Arc::clone(self);
            match std::thread::Builder::new().name("archive".to_owned()).spawn(move || pool.run()) {
                Ok(_) => queue.threads += 1,
                Err(error) if queue.threads == 0 => {
                    queue.work.pop_back();
                    return Err(error);
                }
                // The threads that are running do the job.
                Err(_) => {}
            }
        }
        Ok(Job { outcome, is_finished })
    }

    /// Begins a long part of a job; `None` if half of the threads are already busy with long parts.
    pub(super) fn start_long(&self) -> Option<Long<'_>> {
        let mut queue = self.queue();
        if queue.long >= self.max_threads.div_ceil(2) {
            return None;
        }
        queue.long += 1;
        Some(Long(self))
    }

    fn run(&self) {
        loop {
            let mut queue = self.queue();
            let Some(work) = queue.work.pop_front() else {
                queue.threads -= 1;
                return;
            };
            drop(queue);
            // If the job panics, the panic hook reports it. The job has no outcome, and the thread does the next job.
            let _ = catch_unwind(AssertUnwindSafe(work));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn no_more_jobs_run_at_once_than_the_pool_has_threads() {
        let pool = Pool::new(2);
        let (begin, begun) = channel();
        let gates: Vec<_> = (0..20).map(|_| channel::<()>()).collect();
        let mut jobs = Vec::new();
        let mut opens = VecDeque::new();
        for (index, (open, opened)) in gates.into_iter().enumerate() {
            let begin = begin.clone();
            opens.push_back(open);
            let work = move || {
                begin.send(index).expect("the test waits");
                opened.recv().expect("the test continues");
                index
            };
            jobs.push(pool.start(work).expect("a thread"));
        }
        // Each job that ends lets one other begin, in order.
        let mut running = vec![begun.recv().expect("a job"), begun.recv().expect("a job")];
        for next in 2..20 {
            assert!(begun.try_recv().is_err(), "two run");
            assert!(pool.queue().threads <= 2);
            running.sort_unstable();
            let ended = running.remove(0);
            opens[ended].send(()).expect("the job waits");
            running.push(begun.recv().expect("the next job"));
            assert_eq!(running.last(), Some(&next));
        }
        running.into_iter().for_each(|index| opens[index].send(()).expect("the job waits"));
        let outcomes: Vec<_> = jobs.into_iter().map(Job::join).collect();
        assert_eq!(outcomes, (0..20).map(Some).collect::<Vec<_>>());
    }

    #[test]
    fn half_of_the_threads_are_left_for_short_jobs() {
        for (threads, expected) in [(1, 1), (2, 1), (8, 4)] {
            let pool = Pool::new(threads);
            let mut long: Vec<_> = std::iter::from_fn(|| pool.start_long()).collect();
            assert_eq!(long.len(), expected);
            long.pop();
            assert!(pool.start_long().is_some());
        }
    }

    #[test]
    fn a_job_that_panics_has_no_outcome_and_others_run() {
        let pool = Pool::new(1);
        let failed: Job<()> = pool.start(|| panic!("the panic of a test")).expect("a thread");
        let other = pool.start(|| 7).expect("a thread");
        assert_eq!((failed.join(), other.join()), (None, Some(7)));
    }
}
