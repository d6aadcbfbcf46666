//! Threads that take samples when this can block, for example to connect to a machine.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::{IgnorePoison, Status};
use tachograph_perflib::Failure;

use super::super::LiveSource;

/// How long a thread without work waits for more before it ends.
const MAX_IDLE: Duration = Duration::from_secs(10);

/// Maximum number of threads. If all are in use, other machines are queued.
const MAX_THREADS: usize = 128;
/// Maximum number of threads for machines that did not answer last time, since such a thread can wait for the whole time
/// limit.
const MAX_SILENT: usize = MAX_THREADS / 2;

/// How soon a sample is taken if all threads are in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Urgency {
    /// Before all other samples, on an additional thread if necessary. For samples of this machine.
    First,
    /// In the order in which samples were added.
    Usual,
    /// After all other samples, on at most [`MAX_SILENT`] threads. For machines that did not answer last time.
    Silent,
}

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

    /// Why the machine could not be read for the last sample.
    pub(super) fn failure(&self) -> Option<&Failure> {
        let mut failures = self.source.query().sets().iter().filter_map(|set| set.outcome().err());
        failures.find(|failure| failure.is_of_machine)
    }
}

/// A sample of a machine to take, or one that was taken.
pub(super) struct Work {
    /// The index of the machine.
    pub(super) machine: usize,
    /// The number of the sample.
    pub(super) number: u64,
    pub(super) urgency: Urgency,
    pub(super) reader: Box<Reader>,
}

/// Threads that take samples. They are started as needed, up to a limit, and end when they have been idle.
pub(super) struct Readers {
    shared: Arc<Shared>,
    /// The samples that were taken.
    taken_samples: Receiver<Work>,
    sender: Sender<Work>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// Wakes a thread when there is work.
    work_added: Condvar,
}

#[derive(Default)]
struct Queue {
    work: VecDeque<Work>,
    /// The work of machines that did not answer last time.
    silent: VecDeque<Work>,
    /// The number of threads that are doing work from `silent`.
    busy_with_silent: usize,
    /// The number of threads that wait for work.
    idle_threads: usize,
    threads: usize,
    is_closed: bool,
}

impl Queue {
    fn add(&mut self, work: Work) {
        match work.urgency {
            Urgency::First => self.work.push_front(work),
            Urgency::Usual => self.work.push_back(work),
            Urgency::Silent => self.silent.push_back(work),
        }
    }

    /// Removes the next item that a thread can do now.
    fn take(&mut self) -> Option<Work> {
        if let Some(work) = self.work.pop_front() {
            return Some(work);
        }
        let work = (self.busy_with_silent < MAX_SILENT).then(|| self.silent.pop_front())??;
        self.busy_with_silent += 1;
        Some(work)
    }

    /// The number of items of work that threads could do now.
    fn runnable_work(&self) -> usize {
        self.work.len() + self.silent.len().min(MAX_SILENT.saturating_sub(self.busy_with_silent))
    }

    /// Whether another thread is needed for the work that is ready, if an item of this urgency is added.
    fn needs_thread(&self, urgency: Urgency) -> bool {
        let (ready, max_threads) = match urgency {
            Urgency::First => (self.runnable_work() + 1, MAX_THREADS + 1),
            Urgency::Usual => (self.runnable_work() + 1, MAX_THREADS),
            Urgency::Silent => {
                let is_ready = self.busy_with_silent + self.silent.len() < MAX_SILENT;
                (self.runnable_work() + usize::from(is_ready), MAX_THREADS)
            }
        };
        ready > self.idle_threads && self.threads < max_threads
    }
}

impl Default for Readers {
    fn default() -> Self {
        let (sender, taken) = channel();
        Self { shared: Arc::default(), taken_samples: taken, sender }
    }
}

impl Readers {
    /// Takes a sample on one of the threads. If no thread exists and none can be started, takes it on the calling
    /// thread.
    pub(super) fn start(&self, mut work: Work) {
        let mut queue = self.shared.lock();
        if queue.needs_thread(work.urgency) && self.start_thread() {
            queue.threads += 1;
        } else if queue.threads == 0 {
            drop(queue);
            work.reader.collect();
            // Fails only if the source was dropped.
            let _ = self.sender.send(work);
            return;
        }
        queue.add(work);
        self.shared.work_added.notify_one();
    }

    fn start_thread(&self) -> bool {
        let (shared, sender) = (Arc::clone(&self.shared), self.sender.clone());
        let thread = std::thread::Builder::new().name("machine".to_owned());
        thread.spawn(move || shared.run(&sender)).is_ok()
    }

    /// Waits until a sample was taken, at most until `until`.
    pub(super) fn receive(&self, until: Instant) -> Option<Work> {
        let left = until.saturating_duration_since(Instant::now());
        self.taken_samples.recv_timeout(left).ok()
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.is_closed = true;
        let left = [std::mem::take(&mut queue.work), std::mem::take(&mut queue.silent)];
        self.shared.work_added.notify_all();
        // Dropping a reader can send messages, for which threads must not wait.
        drop(queue);
        drop(left);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().ignore_poison()
    }

    /// Takes samples until there has been none to take for [`MAX_IDLE`].
    fn run(&self, sender: &Sender<Work>) {
        let _thread = Counted(self, |queue| &mut queue.threads);
        while let Some(mut work) = self.next() {
            let silent =
                (work.urgency == Urgency::Silent).then(|| Counted(self, |queue| &mut queue.busy_with_silent));
            work.reader.collect();
            drop(silent);
            if sender.send(work).is_err() {
                break;
            }
        }
    }

    fn next(&self) -> Option<Work> {
        let mut queue = self.lock();
        loop {
            if queue.is_closed {
                return None;
            }
            if let Some(work) = queue.take() {
                return Some(work);
            }
            queue.idle_threads += 1;
            let (woken, waited) = self.work_added.wait_timeout(queue, MAX_IDLE).ignore_poison();
            queue = woken;
            queue.idle_threads -= 1;
            if waited.timed_out() && queue.runnable_work() == 0 {
                return None;
            }
        }
    }
}

/// Decrements a count of the queue when dropped, even if taking a sample panics.
struct Counted<'a>(&'a Shared, fn(&mut Queue) -> &mut usize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        let count = (self.1)(&mut queue);
        *count = count.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use tachograph_perflib::{Clock, Registry};

    use super::super::super::LiveOptions;
    use super::*;

    fn work(machine: usize, urgency: Urgency) -> Work {
        let registry = Arc::new(Registry::new("web1", Clock::of_this_machine()));
        let (source, _) = LiveSource::open(&registry, &[], LiveOptions::default()).expect("sets");
        let boot_time = Box::new(|| FileTime(0));
        let reader = Box::new(Reader { source, boot_time, sample: Sample::default() });
        Work { machine, number: 1, urgency, reader }
    }

    #[test]
    fn silent_machines_leave_half_of_the_threads_to_the_others() {
        let mut queue = Queue::default();
        for machine in 0..300 {
            if queue.needs_thread(Urgency::Silent) {
                queue.threads += 1;
            }
            queue.add(work(machine, Urgency::Silent));
            // A thread takes the work at once if the limit allows it.
            let _ = queue.take();
        }
        assert_eq!((queue.threads, queue.busy_with_silent, queue.silent.len()), (64, 64, 236));
        assert!(queue.needs_thread(Urgency::Usual), "the others have threads of their own");
        queue.add(work(1000, Urgency::Usual));
        queue.add(work(1001, Urgency::First));
        let mut next = || queue.take().map(|work| work.machine);
        assert_eq!([next(), next(), next()], [Some(1001), Some(1000), None]);
        queue.busy_with_silent -= 1;
        assert_eq!(queue.take().map(|work| work.machine), Some(64));
        // This machine has a thread even if all others are in use.
        queue.threads = MAX_THREADS;
        assert!(!queue.needs_thread(Urgency::Usual) && queue.needs_thread(Urgency::First));
    }
}
