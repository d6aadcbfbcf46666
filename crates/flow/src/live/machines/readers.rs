//! Threads that take samples of machines which have to be waited for.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::{IgnorePoison, Status};

use super::super::LiveSource;

/// How long a thread without work waits for more before it ends.
const MAX_IDLE: Duration = Duration::from_secs(10);

/// Maximum number of threads. If all are in use, other machines that have to be waited for are read later.
const MAX_THREADS: usize = 128;

/// Takes samples of one machine.
pub(super) struct Reader {
    pub(super) source: LiveSource,
    pub(super) boot_time: Box<dyn Fn() -> FileTime + Send>,
    /// The buffer of the sample.
    pub(super) sample: Sample,
}

impl Reader {
    /// Takes a sample into the buffer.
    pub(super) fn collect(&mut self) {
        self.source.collect(&mut self.sample);
        let boot_time = (self.boot_time)();
        self.sample.boot_time = boot_time;
        self.sample.groups.iter_mut().for_each(|group| group.boot_time = boot_time);
    }

    /// Whether the machine could not be read for the last sample.
    pub(super) fn is_unreachable(&self) -> bool {
        let is_of_machine = |group: &Group| {
            group.status == Status::NO_MACHINE
                || group.values.first().is_some_and(|raw| raw.status == Status::NO_MACHINE)
        };
        self.sample.groups.iter().any(is_of_machine)
    }
}

/// A sample of a machine to take, or one that was taken.
pub(super) struct Work {
    /// The index of the machine.
    pub(super) machine: usize,
    /// The number of the sample.
    pub(super) number: u64,
    pub(super) reader: Box<Reader>,
}

/// Threads that take samples. There are as many as there is work at the same time, up to a limit, and none while there is no work.
pub(super) struct Readers {
    shared: Arc<Shared>,
    taken: Receiver<Work>,
    sender: Sender<Work>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// Wakes a thread when there is work.
    added: Condvar,
}

#[derive(Default)]
struct Queue {
    work: VecDeque<Work>,
    /// The number of threads that wait for work.
    idle: usize,
    threads: usize,
    is_closed: bool,
}

impl Default for Readers {
    fn default() -> Self {
        let (sender, taken) = channel();
        Self { shared: Arc::default(), taken, sender }
    }
}

impl Readers {
    /// Takes a sample on a thread. If there is no thread and none can be started, takes it now.
    pub(super) fn start(&self, mut work: Work) {
        let mut queue = self.shared.lock();
        let needs_thread = queue.idle <= queue.work.len() && queue.threads < MAX_THREADS;
        if needs_thread && self.start_thread() {
            queue.threads += 1;
        } else if queue.threads == 0 {
            drop(queue);
            work.reader.collect();
            let _ = self.sender.send(work);
            return;
        }
        queue.work.push_back(work);
        self.shared.added.notify_one();
    }

    fn start_thread(&self) -> bool {
        let (shared, sender) = (Arc::clone(&self.shared), self.sender.clone());
        let thread = std::thread::Builder::new().name("machine".to_owned());
        thread.spawn(move || shared.work(&sender)).is_ok()
    }

    /// A sample that was taken, if there is one before `until`.
    pub(super) fn taken(&self, until: Instant) -> Option<Work> {
        let left = until.saturating_duration_since(Instant::now());
        self.taken.recv_timeout(left).ok()
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.is_closed = true;
        queue.work.clear();
        self.shared.added.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().ignore_poison()
    }

    /// Works until there has been no work for a while.
    fn work(&self, sender: &Sender<Work>) {
        while let Some(mut work) = self.next() {
            work.reader.collect();
            if sender.send(work).is_err() {
                break;
            }
        }
        self.lock().threads -= 1;
    }

    fn next(&self) -> Option<Work> {
        let mut queue = self.lock();
        loop {
            if queue.is_closed {
                return None;
            }
            if let Some(work) = queue.work.pop_front() {
                return Some(work);
            }
            queue.idle += 1;
            let (woken, waited) = self.added.wait_timeout(queue, MAX_IDLE).ignore_poison();
            queue = woken;
            queue.idle -= 1;
            if waited.timed_out() && queue.work.is_empty() {
                return None;
            }
        }
    }
}
