//! The threads that answer requests from consumers (here called readers): one that accepts connections, and one for each
//! reader.
//!
//! Readers are not trusted: the size of requests is limited, and a reader that stalls within a request or does not read
//! the answer is disconnected after a second. If there are too many readers, the one that has been silent for the
//! longest time is disconnected, after its pending requests were answered. If too many disconnected readers still wait
//! for the callback, a new reader waits for up to a second, and is then rejected.

use std::cell::Cell;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tachograph_shm::control as message;
use tachograph_shm::{Guid, IgnorePoison, Readers};

use super::{ControlCallback, Request, RequestKind, socket};
use crate::{PublishError, signals};

/// Maximum number of connected readers.
const MAX_READERS: usize = 16;

/// Maximum number of readers' threads at a time, including those of disconnected readers.
const MAX_THREADS: usize = MAX_READERS + 4;

/// The time limit for a reader to send the rest of a request, to read an answer, and, after connecting, to wait for a
/// thread.
const DEADLINE: Duration = Duration::from_secs(1);

/// The answer if the callback panicked: `ERROR_UNHANDLED_EXCEPTION`.
const UNHANDLED_EXCEPTION: u32 = 574;

/// The answer to a request for another set or after the set was stopped: `ERROR_INVALID_PARAMETER`.
const INVALID_PARAMETER: u32 = 87;

thread_local! {
    /// The address of the `Shared` whose callback this thread runs, or 0.
    static RUNNING_CALLBACK: Cell<usize> = const { Cell::new(0) };
}

/// Stores the current values of counters by reference. Called before each collection, after the callback.
pub(crate) type Refresh = Box<dyn Fn() + Send + Sync>;

/// The socket of one set, and the threads that serve it. Dropping it ends the threads after the current calls.
pub(crate) struct Control {
    shared: Arc<Shared>,
    listener: UnixStream,
    /// The thread that accepts connections; `None` after [`stop`](Self::stop).
    accepting: Mutex<Option<JoinHandle<()>>>,
    /// The path of the socket.
    path: PathBuf,
    /// The id of the process that started the threads.
    process: u32,
}

/// The state that the threads of a set share.
struct Shared {
    /// The GUID of the set.
    set: Guid,
    callback: Option<ControlCallback>,
    refresh: Refresh,
    /// Locked during a call of the callback, so that calls do not overlap.
    callback_lock: Mutex<()>,
    /// Whether the threads must end.
    is_stopped: AtomicBool,
    /// The connected readers.
    readers: Mutex<Vec<Reader>>,
    /// Notified when a reader's thread ends.
    thread_ended: Condvar,
    /// The number of requests and connections so far. It orders the last requests of readers by time.
    request_count: AtomicU64,
}

/// A connected reader, and the thread that answers its requests.
struct Reader {
    /// The connection to the reader.
    stream: Arc<UnixStream>,
    /// The value of `request_count` at the last request, or when the reader connected.
    last_request: Arc<AtomicU64>,
    thread: JoinHandle<()>,
    /// Whether the reader is being disconnected. Its thread may still run.
    is_disconnecting: bool,
    /// Whether the reader's thread has ended. Only accessed while the list of readers is locked.
    has_ended: Arc<AtomicBool>,
}

impl Control {
    /// Starts to listen at `path`.
    pub(crate) fn start(
        path: PathBuf,
        readers: Readers,
        set: Guid,
        callback: Option<ControlCallback>,
        refresh: Refresh,
    ) -> Result<Self, PublishError> {
        let control_error = |error| PublishError::Control(path.clone(), error);
        let listener = socket::listen(&path, readers).map_err(control_error)?;
        let shared = Arc::new(Shared {
            set,
            callback,
            refresh,
            callback_lock: Mutex::new(()),
            is_stopped: AtomicBool::new(false),
            readers: Mutex::new(Vec::new()),
            thread_ended: Condvar::new(),
            request_count: AtomicU64::new(0),
        });
        let started = listener.try_clone().and_then(|clone| {
            let shared = Arc::clone(&shared);
            let thread = spawn("tacho-control", move || shared.accept(&listener))?;
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
    /// Whether this process started the threads; `false` in a forked child.
    pub(crate) fn is_of_this_process(&self) -> bool {
        std::process::id() == self.process
    }

    /// Ends the threads. Waits for a running callback, unless that callback calls this function.
    pub(crate) fn stop(&self) {
        self.shared.is_stopped.store(true, Ordering::SeqCst);
        if !self.is_of_this_process() {
            // A forked child has none of the threads, and does not own the socket. It must neither drop the handle of a
            // thread that exists only in the parent, nor wait for a lock that such a thread may hold.
            if let Ok(mut accepting) = self.accepting.try_lock() {
                std::mem::forget(accepting.take());
            }
            return;
        }
        let _ = std::fs::remove_file(&self.path);
        // Wakes up the thread that waits for connections.
        let _ = self.listener.shutdown(Shutdown::Both);
        // Wakes up this thread if it waits for another thread to end.
        drop(self.shared.readers.lock().ignore_poison());
        self.shared.thread_ended.notify_all();
        let is_own_callback = RUNNING_CALLBACK.get() == self.shared.address();
        if let Some(thread) = self.accepting.lock().ignore_poison().take()
            && !is_own_callback
        {
            let _ = thread.join();
        }
        let readers = std::mem::take(&mut *self.shared.readers.lock().ignore_poison());
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

    /// Accepts connections until the set is stopped.
    fn accept(self: Arc<Self>, listener: &UnixListener) {
        let mut wait_deadline = None;
        loop {
            let accepted = listener.accept();
            if self.is_stopped.load(Ordering::SeqCst) {
                return;
            }
            match accepted {
                Ok((stream, _)) => {
                    // Readers that connect while another reader waits share the deadline of that reader.
                    let deadline = *wait_deadline.get_or_insert_with(|| Instant::now() + DEADLINE);
                    if let Some(readers) = self.wait_for_free_thread(deadline) {
                        wait_deadline = None;
                        self.admit(stream, readers);
                    }
                }
                // For example, too many files are open. The reader gives up at its own deadline.
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Waits until another reader may have a thread. Returns the locked list of readers; `None` at the deadline or when the set
    /// is stopped.
    fn wait_for_free_thread(&self, deadline: Instant) -> Option<MutexGuard<'_, Vec<Reader>>> {
        let mut readers = self.readers.lock().ignore_poison();
        loop {
            let has_ended = |reader: &mut Reader| reader.has_ended.load(Ordering::Relaxed);
            readers.extract_if(.., has_ended).for_each(|reader| drop(reader.thread.join()));
            if readers.len() < MAX_THREADS {
                return Some(readers);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || self.is_stopped.load(Ordering::SeqCst) {
                return None;
            }
            readers = self.thread_ended.wait_timeout(readers, left).ignore_poison().0;
        }
    }

    /// Starts a thread for a new reader.
    fn admit(self: &Arc<Self>, stream: UnixStream, mut readers: MutexGuard<'_, Vec<Reader>>) {
        disconnect_one_if_full(&mut readers);
        let stream = Arc::new(stream);
        let last_request = Arc::new(AtomicU64::new(self.request_count.fetch_add(1, Ordering::Relaxed)));
        let has_ended = Arc::new(AtomicBool::new(false));
        let (shared, for_thread, last) = (Arc::clone(self), Arc::clone(&stream), Arc::clone(&last_request));
        let has_ended_in_thread = Arc::clone(&has_ended);
        let started = spawn("tacho-control", move || {
            // An error of a connection affects only its reader.
            let _ = shared.serve(&for_thread, &last);
            let _ = for_thread.shutdown(Shutdown::Both);
            let _readers = shared.readers.lock().ignore_poison();
            has_ended_in_thread.store(true, Ordering::Relaxed);
            shared.thread_ended.notify_all();
        });
        if self.is_stopped.load(Ordering::SeqCst) {
            // The thread that stops the set may already have disconnected the readers in the list.
            let _ = stream.shutdown(Shutdown::Both);
        }
        if let Ok(thread) = started {
            readers.push(Reader { stream, last_request, thread, is_disconnecting: false, has_ended });
        }
    }

    /// Answers the requests of one reader until it disconnects.
    fn serve(self: &Arc<Self>, mut stream: &UnixStream, last_request: &AtomicU64) -> io::Result<()> {
        stream.set_write_timeout(Some(DEADLINE))?;
        let mut received = Vec::new();
        while let Some(request) = receive(stream, &mut received)? {
            last_request.store(self.request_count.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
            let answer = self.answer(&request);
            stream.write_all(&answer.to_le_bytes())?;
        }
        Ok(())
    }

    /// Answers a request: 0, or a code of winerror.h.
    fn answer(self: &Arc<Self>, message: &message::Request) -> u32 {
        let _callback_lock = self.callback_lock.lock().ignore_poison();
        if message.set != self.set || self.is_stopped.load(Ordering::SeqCst) {
            return INVALID_PARAMETER;
        }
        let request = Request::from_message(message);
        RUNNING_CALLBACK.set(self.address());
        let answer = catch_unwind(AssertUnwindSafe(|| {
            let answer = self.callback.as_ref().map_or(Ok(()), |callback| callback(&request));
            if request.kind == RequestKind::CollectStart {
                (self.refresh)();
            }
            answer.err().unwrap_or(0)
        }));
        RUNNING_CALLBACK.set(0);
        answer.unwrap_or(UNHANDLED_EXCEPTION)
    }
}

/// If the maximum number of readers is reached, disconnects the one that has been silent for the longest time. Its
/// pending requests are answered; it can connect again.
fn disconnect_one_if_full(readers: &mut [Reader]) {
    if readers.iter().filter(|reader| !reader.is_disconnecting).count() < MAX_READERS {
        return;
    }
    let remaining = readers.iter_mut().filter(|reader| !reader.is_disconnecting);
    if let Some(reader) = remaining.min_by_key(|reader| reader.last_request.load(Ordering::Relaxed)) {
        reader.is_disconnecting = true;
        let _ = reader.stream.shutdown(Shutdown::Read);
    }
}

/// Receives a request; `None` at the end of the connection. Bytes of the next request remain in `received`.
fn receive(mut stream: &UnixStream, received: &mut Vec<u8>) -> io::Result<Option<message::Request>> {
    // There is no time limit between requests, only within a request.
    stream.set_read_timeout(None)?;
    let mut deadline = None;
    loop {
        let decoded = message::Request::decode(received);
        if let Some((request, length)) =
            decoded.map_err(|problem| io::Error::new(io::ErrorKind::InvalidData, problem))?
        {
            received.drain(..length);
            return Ok(Some(request));
        }
        if !received.is_empty() {
            // The deadline applies to the whole request: receiving single bytes does not extend it.
            let deadline = *deadline.get_or_insert_with(|| Instant::now() + DEADLINE);
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            stream.set_read_timeout(Some(left))?;
        }
        let length_before = received.len();
        received.resize(message::MAX_REQUEST, 0);
        let read = stream.read(&mut received[length_before..]);
        received.truncate(length_before + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => return Ok(None),
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
    }
}

/// Starts a thread that blocks the application's signals.
fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    signals::with_signals_blocked(|| std::thread::Builder::new().name(name.to_owned()).spawn(work))
}
