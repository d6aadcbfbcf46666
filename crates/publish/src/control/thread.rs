//! The threads that answer the requests of readers: one that waits for readers, and one for each reader.
//!
//! A reader is trusted with nothing: what it sends is bounded before it is kept, one that stops in the middle of a request
//! or does not take the answer is cut off after a second, and of too many readers, the one that has been silent the longest
//! has to go: what it asked before is answered, and then its connection ends. Where those who had to go still wait for the
//! callback, the next one waits for a second to come in.

use std::cell::Cell;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tachograph_shm::control as message;
use tachograph_shm::{Guid, Readers};

use super::{ControlCallback, Request, RequestKind, socket};
use crate::{PublishError, signals};

/// Most readers at a time.
const MAX_READERS: usize = 16;

/// Most threads of readers at a time, those included that had to go and are not done yet.
const MAX_THREADS: usize = MAX_READERS + 4;

/// How long a reader may take for the rest of a request, or to take an answer.
const DEADLINE: Duration = Duration::from_secs(1);

/// The callback panicked: `ERROR_UNHANDLED_EXCEPTION`.
const UNHANDLED_EXCEPTION: u32 = 574;

/// The request is for another set, or comes too late: `ERROR_INVALID_PARAMETER`.
const INVALID_PARAMETER: u32 = 87;

thread_local! {
    /// Whose callback this thread is in, as the address of its `Shared`.
    static INSIDE: Cell<usize> = const { Cell::new(0) };
}

/// What is done before each collection, after the callback.
pub(crate) type Refresh = Box<dyn Fn() + Send + Sync>;

/// The control of one set. Dropping it ends the threads, after the calls that are under way.
pub(crate) struct Control {
    shared: Arc<Shared>,
    listener: UnixStream,
    accepting: Mutex<Option<JoinHandle<()>>>,
    path: PathBuf,
    process: u32,
}

struct Shared {
    set: Guid,
    callback: Option<ControlCallback>,
    refresh: Refresh,
    /// Callbacks come one at a time.
    calling: Mutex<()>,
    is_stopped: AtomicBool,
    readers: Mutex<Vec<Reader>>,
    /// Told when a reader's thread is done.
    done: Condvar,
    /// Numbers the requests, so that it is known who has been silent the longest.
    requests: AtomicU64,
}

struct Reader {
    stream: Arc<UnixStream>,
    last_request: Arc<AtomicU64>,
    thread: JoinHandle<()>,
    /// It had to go for another, and its thread may not be done yet.
    is_leaving: bool,
    /// Its thread ends. Written and read with the list locked.
    is_done: Arc<AtomicBool>,
}

impl Control {
    /// Listens at `path`.
    pub(crate) fn start(
        path: PathBuf,
        readers: Readers,
        set: Guid,
        callback: Option<ControlCallback>,
        refresh: Refresh,
    ) -> Result<Self, PublishError> {
        let wrong = |error| PublishError::Control(path.clone(), error);
        let listener = socket::listen(&path, readers).map_err(wrong)?;
        let shared = Arc::new(Shared {
            set,
            callback,
            refresh,
            calling: Mutex::new(()),
            is_stopped: AtomicBool::new(false),
            readers: Mutex::new(Vec::new()),
            done: Condvar::new(),
            requests: AtomicU64::new(0),
        });
        let started = listener.try_clone().and_then(|clone| {
            let for_thread = Arc::clone(&shared);
            let thread = thread("tacho-control", move || for_thread.accept(&listener))?;
            Ok((UnixStream::from(OwnedFd::from(clone)), thread))
        });
        match started {
            Ok((listener, accepting)) => {
                let process = std::process::id();
                Ok(Self { shared, listener, accepting: Mutex::new(Some(accepting)), path, process })
            }
            Err(error) => {
                let _ = std::fs::remove_file(&path);
                Err(PublishError::Control(path, error))
            }
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Control {
    /// Whether this process started it, and not one that it was forked from.
    pub(crate) fn is_of_this_process(&self) -> bool {
        std::process::id() == self.process
    }

    /// Ends the threads. Called by another thread than that of the callback, it waits for the callback.
    pub(crate) fn stop(&self) {
        self.shared.is_stopped.store(true, Ordering::SeqCst);
        if !self.is_of_this_process() {
            // A forked child has neither the threads nor a right to the socket. A handle of a thread that it has not must
            // not be dropped; and a lock may be held by such a thread.
            if let Ok(mut accepting) = self.accepting.try_lock() {
                std::mem::forget(accepting.take());
            }
            return;
        }
        let _ = std::fs::remove_file(&self.path);
        // What waits for readers, or for their requests, wakes up from this.
        let _ = self.listener.shutdown(Shutdown::Both);
        // And what waits for the end of a reader, from this.
        drop(lock(&self.shared.readers));
        self.shared.done.notify_all();
        let is_own_callback = INSIDE.get() == self.shared.address();
        if let Some(thread) = lock(&self.accepting).take()
            && !is_own_callback
        {
            let _ = thread.join();
        }
        let readers = std::mem::take(&mut *lock(&self.shared.readers));
        for reader in &readers {
            let _ = reader.stream.shutdown(Shutdown::Both);
        }
        if !is_own_callback {
            readers.into_iter().for_each(|reader| drop(reader.thread.join()));
        }
    }
}

impl Shared {
    fn address(self: &Arc<Self>) -> usize {
        Arc::as_ptr(self) as usize
    }

    fn accept(self: Arc<Self>, listener: &UnixListener) {
        let mut until = None;
        loop {
            let accepted = listener.accept();
            if self.is_stopped.load(Ordering::SeqCst) {
                return;
            }
            match accepted {
                Ok((stream, _)) => {
                    // Those who come after one who waited in vain do not wait as well.
                    let deadline = *until.get_or_insert_with(|| Instant::now() + DEADLINE);
                    if let Some(readers) = self.wait_for_room(deadline) {
                        until = None;
                        self.admit(stream, readers);
                    }
                }
                // Too many open files, say: the one who asked gives up after its deadline.
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// The readers, when one more may have a thread; nothing where there is no room before the deadline.
    fn wait_for_room(&self, deadline: Instant) -> Option<MutexGuard<'_, Vec<Reader>>> {
        let mut readers = lock(&self.readers);
        loop {
            let is_done = |reader: &mut Reader| reader.is_done.load(Ordering::Relaxed);
            readers.extract_if(.., is_done).for_each(|reader| drop(reader.thread.join()));
            if readers.len() < MAX_THREADS {
                return Some(readers);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || self.is_stopped.load(Ordering::SeqCst) {
                return None;
            }
            readers = self.done.wait_timeout(readers, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn admit(self: &Arc<Self>, stream: UnixStream, mut readers: MutexGuard<'_, Vec<Reader>>) {
        make_room(&mut readers);
        let stream = Arc::new(stream);
        let last_request = Arc::new(AtomicU64::new(self.requests.fetch_add(1, Ordering::Relaxed)));
        let is_done = Arc::new(AtomicBool::new(false));
        let (shared, for_thread, last) = (Arc::clone(self), Arc::clone(&stream), Arc::clone(&last_request));
        let done = Arc::clone(&is_done);
        let started = thread("tacho-control", move || {
            // An error of a reader's connection concerns the reader.
            let _ = shared.serve(&for_thread, &last);
            let _ = for_thread.shutdown(Shutdown::Both);
            let _readers = lock(&shared.readers);
            done.store(true, Ordering::Relaxed);
            shared.done.notify_all();
        });
        if self.is_stopped.load(Ordering::SeqCst) {
            // The one who stopped it may have looked through the list already.
            let _ = stream.shutdown(Shutdown::Both);
        }
        if let Ok(thread) = started {
            readers.push(Reader { stream, last_request, thread, is_leaving: false, is_done });
        }
    }

    fn serve(self: &Arc<Self>, mut stream: &UnixStream, last_request: &AtomicU64) -> io::Result<()> {
        stream.set_write_timeout(Some(DEADLINE))?;
        let mut received = Vec::new();
        while let Some(request) = receive(stream, &mut received)? {
            last_request.store(self.requests.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
            let answer = self.answer(&request);
            stream.write_all(&answer.to_le_bytes())?;
        }
        Ok(())
    }

    /// The answer to a request: 0, or a code of winerror.h.
    fn answer(self: &Arc<Self>, message: &message::Request) -> u32 {
        let _one_at_a_time = lock(&self.calling);
        if message.set != self.set || self.is_stopped.load(Ordering::SeqCst) {
            return INVALID_PARAMETER;
        }
        let request = Request::of(message);
        INSIDE.set(self.address());
        let answer = catch_unwind(AssertUnwindSafe(|| {
            let answer = self.callback.as_ref().map_or(Ok(()), |callback| callback(&request));
            if request.kind == RequestKind::CollectStart {
                (self.refresh)();
            }
            answer.err().unwrap_or(0)
        }));
        INSIDE.set(0);
        answer.unwrap_or(UNHANDLED_EXCEPTION)
    }
}

/// Where there are the most readers already, the most silent has to go. It can send nothing any more, and connects anew where
/// it has to; what it sent before is answered.
fn make_room(readers: &mut [Reader]) {
    if readers.iter().filter(|reader| !reader.is_leaving).count() < MAX_READERS {
        return;
    }
    let staying = readers.iter_mut().filter(|reader| !reader.is_leaving);
    if let Some(reader) = staying.min_by_key(|reader| reader.last_request.load(Ordering::Relaxed)) {
        reader.is_leaving = true;
        let _ = reader.stream.shutdown(Shutdown::Read);
    }
}

/// The next request; `None` at the end of the connection. What was received of the one after it stays in `received`.
fn receive(mut stream: &UnixStream, received: &mut Vec<u8>) -> io::Result<Option<message::Request>> {
    // A reader may be silent between requests, but not within one.
    stream.set_read_timeout(None)?;
    let mut deadline = None;
    loop {
        let decoded = message::Request::decode(received);
        if let Some((request, length)) =
            decoded.map_err(|wrong| io::Error::new(io::ErrorKind::InvalidData, wrong))?
        {
            received.drain(..length);
            return Ok(Some(request));
        }
        if !received.is_empty() {
            // One byte now and then does not put it off.
            let deadline = *deadline.get_or_insert_with(|| Instant::now() + DEADLINE);
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            stream.set_read_timeout(Some(left))?;
        }
        let had = received.len();
        received.resize(message::MAX_REQUEST, 0);
        let read = stream.read(&mut received[had..]);
        received.truncate(had + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => return Ok(None),
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
    }
}

/// A thread that leaves the application's signals to the threads of the application.
fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    signals::blocked(|| std::thread::Builder::new().name(name.to_owned()).spawn(work))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
