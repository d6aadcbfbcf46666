//! Requests of readers: the answers, and the handling of misbehaving readers.

use crate::seen;

use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use tachograph_publish::dynamic::{Options, Provider};
use tachograph_publish::{
    Attributes, ControlCallback, Counter, CounterDescription, CounterSet, Description, Guid, InstanceKind,
    Publisher, RequestKind,
};
use tachograph_shm::control::{ANSWER, Kind, Request};
use tempfile::TempDir;

const PUMPS: Guid = Guid::parse("{5f2c9c3e-2f54-4b0e-9d4e-64a3d3a0c0a1}");

/// A set of pumps whose pressure is a counter by reference.
fn pumps() -> Description {
    let mut set = Description::new("Pumps", PUMPS, InstanceKind::Multiple);
    set.counters = vec![
        CounterDescription::new(1, "Strokes/sec", 0x1041_0500),
        CounterDescription::new(7, "Pressure", 0x0001_0000),
    ];
    set.counters[1].attributes = Attributes::BY_REFERENCE;
    set
}

fn provider(control: Option<ControlCallback>) -> (TempDir, Provider) {
    let folder = tempfile::tempdir().expect("a folder");
    let publisher = Publisher::new().folder(folder.path());
    let provider = Provider::start(PUMPS, Options { publisher, control }).expect("start provider");
    provider.register(pumps()).expect("registered");
    (folder, provider)
}

fn socket(folder: &Path) -> PathBuf {
    let set = seen::set(folder);
    assert!(set.has_control());
    folder.join(set.name()).with_extension("sock")
}

fn connect(folder: &Path) -> UnixStream {
    let stream = UnixStream::connect(socket(folder)).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    stream
}

fn encoded(kind: Kind) -> Vec<u8> {
    let mut bytes = Vec::new();
    Request { instance: "n*".into(), machine: "here".into(), ..Request::new(kind, PUMPS) }.encode(&mut bytes);
    bytes
}

fn answer(mut stream: &UnixStream) -> u32 {
    let mut answer = [0; ANSWER];
    stream.read_exact(&mut answer).expect("an answer");
    u32::from_le_bytes(answer)
}

/// Sends a request and returns the answer; `None` if the provider has closed the connection.
fn try_send(mut stream: &UnixStream, kind: Kind) -> Option<u32> {
    let mut answer = [0; ANSWER];
    stream.write_all(&encoded(kind)).ok()?;
    match stream.read_exact(&mut answer) {
        Ok(()) => Some(u32::from_le_bytes(answer)),
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("neither closed nor answered"),
        Err(_) => None,
    }
}

/// Sends a request and returns the answer.
fn send(mut stream: &UnixStream, kind: Kind) -> u32 {
    stream.write_all(&encoded(kind)).expect("sent");
    answer(stream)
}

/// Waits until the provider closes the connection or sends data; returns whether it closed.
#[track_caller]
fn is_closed(mut stream: &UnixStream) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionReset};
    match stream.read(&mut [0; 16]) {
        Ok(count) => count == 0,
        Err(error) if matches!(error.kind(), BrokenPipe | ConnectionReset) => true,
        Err(error) => panic!("the connection was neither closed nor answered: {error}"),
    }
}

#[test]
fn requests_reach_the_callback_and_its_code_reaches_the_reader() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let recorded = Arc::clone(&seen);
    let control: ControlCallback = Arc::new(move |request| {
        let ids = (request.counter_id, request.instance_id);
        let names = (request.instance.to_owned(), request.machine.to_owned());
        recorded.lock().expect("a lock").push((request.kind, request.set, ids, names));
        match request.kind {
            RequestKind::AddCounter => Err(1450),
            RequestKind::Filter => panic!("a callback that panics"),
            _ => Ok(()),
        }
    });
    let (folder, _provider) = provider(Some(control));
    let stream = connect(folder.path());
    let kinds = [
        Kind::AddCounter,
        Kind::RemoveCounter,
        Kind::EnumInstances,
        Kind::CollectStart,
        Kind::CollectEnd,
        Kind::Filter,
    ];
    let codes = kinds.map(|kind| send(&stream, kind));
    assert_eq!(codes, [1450, 0, 0, 0, 0, 574]);
    let expected =
        kinds.map(|kind| (kind, PUMPS, (u32::MAX, u32::MAX), ("n*".to_owned(), "here".to_owned())));
    assert_eq!(*seen.lock().expect("a lock"), expected);
    // The connection remains usable after the panic.
    assert_eq!(send(&stream, Kind::CollectStart), 0);
}

#[test]
fn references_are_read_before_each_collection() {
    let (folder, provider) = provider(None);
    let north = provider.create_instance(PUMPS, "north", 0).expect("room");
    let south = provider.create_instance(PUMPS, "south", 0).expect("room");
    let pressure = Arc::new(AtomicU64::new(40));
    let referred = Arc::clone(&pressure);
    north.set_reference(7, Box::new(move || referred.load(Ordering::Relaxed))).expect("by reference");
    south.set_reference(7, Box::new(|| panic!("a reference that panics"))).expect("by reference");
    let values = || {
        let rows = seen::rows(&mut seen::set(folder.path()));
        rows.into_iter().map(|row| row.values[1].map(|value| value.0)).collect::<Vec<_>>()
    };
    assert_eq!(values(), [None, None]);
    let stream = connect(folder.path());
    assert_eq!(send(&stream, Kind::EnumInstances), 0);
    assert_eq!(values(), [None, None], "references are read only for a collection");
    for expected in [40, 41] {
        pressure.store(expected, Ordering::Relaxed);
        assert_eq!(send(&stream, Kind::CollectStart), 0);
        assert_eq!(values(), [Some(expected), None]);
    }
    // Another reference replaces the first.
    north.set_reference(7, Box::new(|| 7)).expect("by reference");
    assert_eq!(send(&stream, Kind::CollectStart), 0);
    assert_eq!(values(), [Some(7), None]);
    assert_eq!(Arc::strong_count(&pressure), 1, "it was dropped");
}

#[test]
fn references_are_not_read_after_the_instance_is_deleted() {
    let (folder, provider) = provider(None);
    let stream = connect(folder.path());
    let ended = Arc::new(AtomicU64::new(0));
    let sender = {
        let stream = stream.try_clone().expect("a clone");
        std::thread::spawn(move || (0..2000).for_each(|_| assert_eq!(send(&stream, Kind::CollectStart), 0)))
    };
    for round in 1..500 {
        let north = provider.create_instance(PUMPS, "north", 0).expect("room");
        let ended_before = Arc::clone(&ended);
        let read = move || {
            assert!(
                ended_before.load(Ordering::SeqCst) < round,
                "the reference was read after its instance was deleted"
            );
            round
        };
        north.set_reference(7, Box::new(read)).expect("by reference");
        provider.delete_instance(PUMPS, "north", 0).expect("the instance");
        ended.store(round, Ordering::SeqCst);
        assert_eq!(north.value(7).expect("a counter") % round, 0);
    }
    sender.join().expect("all answered");
}

#[test]
fn the_socket_has_the_access_rights_of_the_file_and_is_removed_with_it() {
    let (folder, provider) = provider(None);
    let metadata = std::fs::symlink_metadata(socket(folder.path())).expect("the socket");
    assert!(metadata.file_type().is_socket());
    assert_eq!(metadata.permissions().mode() & 0o7777, 0o600);
    assert_eq!(seen::all_entries(folder.path()).len(), 2, "the file and its socket");
    let stream = connect(folder.path());
    assert_eq!(send(&stream, Kind::CollectEnd), 0);
    let before = Instant::now();
    drop(provider);
    assert!(before.elapsed() < Duration::from_secs(5), "a connected reader does not delay it");
    assert!(is_closed(&stream));
    assert_eq!(seen::all_entries(folder.path()), [""; 0]);

    let gid = std::fs::metadata(folder.path()).expect("the folder").gid();
    let publisher = Publisher::new().folder(folder.path()).gid(gid);
    let provider = Provider::start(PUMPS, Options { publisher, control: None }).expect("start provider");
    provider.register(pumps()).expect("registered");
    let metadata = std::fs::symlink_metadata(socket(folder.path())).expect("the socket");
    assert_eq!((metadata.permissions().mode() & 0o7777, metadata.gid()), (0o660, gid));
}

#[test]
fn sockets_can_be_created_in_a_folder_with_a_long_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let long = folder.path().join("x".repeat(200));
    std::fs::create_dir(&long).expect("a folder");
    let publisher = Publisher::new().folder(&long);
    let provider = Provider::start(PUMPS, Options { publisher, control: None }).expect("start provider");
    provider.register(pumps()).expect("registered");
    assert_eq!(seen::all_entries(&long).len(), 2, "the file and its socket");
    drop(provider);
    assert_eq!(seen::all_entries(&long), [""; 0]);
}

#[test]
fn an_invalid_request_only_ends_its_connection() {
    let (folder, _provider) = provider(None);
    let good = connect(folder.path());
    let request = encoded(Kind::CollectStart);
    let mut broken: Vec<Vec<u8>> =
        vec![vec![b'X'; 8], [&b"TREQ"[..], &[0xFF; 44]].concat(), vec![0; 100_000]];
    for offset in [4, 8, 36, 40] {
        let mut bytes = request.clone();
        bytes[offset + 3] = 0x7F;
        broken.push(bytes);
    }
    for bytes in broken {
        let mut stream = connect(folder.path());
        // The connection may be closed before all bytes are sent.
        let _ = stream.write_all(&bytes);
        assert!(is_closed(&stream), "{:02x?}", &bytes[..8]);
    }
    // A request for another set is answered, but has no effect.
    let mut other = Vec::new();
    Request::new(Kind::CollectStart, Guid::from_u128(1)).encode(&mut other);
    (&good).write_all(&other).expect("sent");
    assert_eq!(answer(&good), 87);
    assert_eq!(send(&good, Kind::CollectStart), 0);
}

#[test]
fn requests_may_arrive_in_parts_and_together() {
    let (folder, _provider) = provider(None);
    let stream = connect(folder.path());
    let request = encoded(Kind::CollectStart);
    for byte in &request {
        (&stream).write_all(std::slice::from_ref(byte)).expect("sent");
    }
    assert_eq!(answer(&stream), 0);
    (&stream).write_all(&request.repeat(50)).expect("sent");
    (0..50).for_each(|_| assert_eq!(answer(&stream), 0));
}

#[test]
fn a_reader_that_stops_within_a_request_is_disconnected() {
    let (folder, _provider) = provider(None);
    let stream = connect(folder.path());
    let request = encoded(Kind::CollectStart);
    let before = Instant::now();
    // A byte every 100 ms does not extend the deadline.
    for byte in &request {
        if (&stream).write_all(std::slice::from_ref(byte)).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(is_closed(&stream));
    assert!(before.elapsed() < Duration::from_secs(15), "{:?}", before.elapsed());
    // A reader that sends nothing stays connected.
    assert_eq!(send(&connect(folder.path()), Kind::CollectStart), 0);
}

#[test]
fn if_there_are_too_many_readers_the_least_recently_active_one_is_disconnected() {
    let (folder, _provider) = provider(None);
    let streams: Vec<_> = (0..16).map(|_| connect(folder.path())).collect();
    // All are connected, and the first one has been silent for the longest time.
    streams.iter().for_each(|stream| assert_eq!(send(stream, Kind::CollectEnd), 0));
    streams[1..].iter().for_each(|stream| assert_eq!(send(stream, Kind::CollectEnd), 0));
    let one_more = connect(folder.path());
    assert_eq!(send(&one_more, Kind::CollectEnd), 0);
    assert!(is_closed(&streams[0]));
    streams[1..].iter().for_each(|stream| assert_eq!(send(stream, Kind::CollectEnd), 0));
}

#[test]
fn readers_that_wait_for_a_slow_callback_are_limited() {
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let (wait, calls) = (Mutex::new(wait), Arc::new(AtomicU64::new(0)));
    let called = Arc::clone(&calls);
    let control: ControlCallback = Arc::new(move |request| {
        // Waits until the sender is dropped.
        let _ = wait.lock().expect("a lock").recv();
        called.fetch_add(u64::from(request.kind == RequestKind::AddCounter), Ordering::SeqCst);
        Ok(())
    });
    let (folder, _provider) = provider(Some(control));
    let connect_and_send = |_| {
        let mut stream = connect(folder.path());
        // A connection may be rejected before all bytes are sent.
        let _ = stream.write_all(&encoded(Kind::AddCounter));
        stream
    };
    let streams: Vec<_> = (0..100).map(connect_and_send).collect();
    assert!(is_closed(&streams[99]), "the last one is rejected, so all have been processed");
    drop(release);
    let before = Instant::now();
    while calls.load(Ordering::SeqCst) < 16 && before.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(300));
    let calls = calls.load(Ordering::SeqCst);
    assert!((16..=20).contains(&calls), "{calls} readers were served by a thread");
    // Disconnected readers are answered too.
    streams[..20].iter().for_each(|stream| assert_eq!(answer(stream), 0));
    // Which ones are disconnected depends on the order in which requests were read.
    let is_gone = |stream: &&UnixStream| try_send(stream, Kind::CollectEnd).is_none();
    assert_eq!(streams[..20].iter().filter(is_gone).count(), 4);
    assert_eq!(send(&connect(folder.path()), Kind::CollectEnd), 0, "there is room again");
}

#[test]
fn a_reader_waits_for_a_free_thread() {
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let control: ControlCallback = Arc::new(move |_| {
        let _ = wait.lock().expect("a lock").recv();
        Ok(())
    });
    let (folder, _provider) = provider(Some(control));
    let connect_and_send = |_| {
        let mut stream = connect(folder.path());
        stream.write_all(&encoded(Kind::CollectStart)).expect("sent");
        stream
    };
    let streams: Vec<_> = (0..40).map(connect_and_send).collect();
    drop(release);
    streams.iter().for_each(|stream| assert_eq!(answer(stream), 0));
}

/// The signals that the calling thread blocks, as bits.
fn blocked_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").expect("the status");
    let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).expect("the mask");
    u64::from_str_radix(mask.trim(), 16).expect("hexadecimal")
}

#[test]
fn the_threads_block_the_signals_of_the_application() {
    let mask = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&mask);
    let control: ControlCallback = Arc::new(move |_| {
        seen.store(blocked_signals(), Ordering::SeqCst);
        Ok(())
    });
    let before = blocked_signals();
    let (folder, _provider) = provider(Some(control));
    assert_eq!(blocked_signals(), before, "the mask of the application's thread is restored");
    assert_eq!(send(&connect(folder.path()), Kind::CollectStart), 0);
    let mask = mask.load(Ordering::SeqCst);
    let blocks = |signal: i32| mask & (1 << (signal - 1)) != 0;
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGCHLD, libc::SIGUSR1, libc::SIGALRM] {
        assert!(blocks(signal), "{signal}");
    }
    for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL] {
        assert!(!blocks(fault), "{fault}");
    }
}

#[test]
fn a_callback_can_stop_its_provider() {
    let slot: Arc<OnceLock<Provider>> = Arc::default();
    let own = Arc::clone(&slot);
    let (stop_sender, stop_receiver) = std::sync::mpsc::channel();
    let control: ControlCallback = Arc::new(move |_| {
        own.get().expect("the provider").stop();
        stop_sender.send(()).expect("a thread waits");
        Ok(())
    });
    let (folder, provider) = provider(Some(control));
    let stream = connect(folder.path());
    assert!(slot.set(provider).is_ok());
    (&stream).write_all(&encoded(Kind::CollectStart)).expect("sent");
    stop_receiver.recv_timeout(Duration::from_secs(60)).expect("the callback does not wait for itself");
    // The connection is closed, with or without the answer.
    while !is_closed(&stream) {}
    assert_eq!(seen::all_entries(folder.path()), [""; 0]);
}

#[test]
fn stopping_waits_for_the_callback() {
    let (start_sender, start_receiver) = std::sync::mpsc::channel();
    let is_done = Arc::new(AtomicU64::new(0));
    let done = Arc::clone(&is_done);
    let control: ControlCallback = Arc::new(move |_| {
        start_sender.send(()).expect("a thread waits");
        std::thread::sleep(Duration::from_millis(300));
        done.store(1, Ordering::SeqCst);
        Ok(())
    });
    let (folder, provider) = provider(Some(control));
    let stream = connect(folder.path());
    (&stream).write_all(&encoded(Kind::CollectStart)).expect("sent");
    start_receiver.recv().expect("the callback was called");
    provider.stop();
    assert_eq!(is_done.load(Ordering::SeqCst), 1);
}

#[test]
fn sets_of_structs_have_callbacks_too() {
    #[derive(CounterSet)]
    #[counter_set(name = "Tank", guid = "{5f2c9c3e-2f54-4b0e-9d4e-64a3d3a0c0a1}")]
    struct Tank {
        #[counter(name = "Litres", type = "perf_counter_large_rawcount")]
        litres: Counter,
    }
    let folder = tempfile::tempdir().expect("a folder");
    let tank: Arc<OnceLock<Counter>> = Arc::default();
    let refreshed = Arc::clone(&tank);
    let control = move |request: &tachograph_publish::Request<'_>| {
        if request.kind == RequestKind::CollectStart
            && let Some(litres) = refreshed.get()
        {
            litres.add(5);
        }
        Ok(())
    };
    let published =
        Publisher::new().folder(folder.path()).control(control).start::<Tank>().expect("start provider");
    assert!(tank.set(published.litres.clone()).is_ok());
    let stream = connect(folder.path());
    assert_eq!(send(&stream, Kind::CollectStart), 0);
    assert_eq!(seen::row(folder.path()).values, [Some((5, None))]);
}
