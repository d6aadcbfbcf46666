//! Tests of writing traces: from many threads, into a full buffer, to a full disk, with hooks that are too long, and after the
//! trace was closed.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::sync::Barrier;

use crate::fixture;
use tachograph_cpi::trace::{HookKind, Trace, TraceReader};
use tachograph_cpi::{CpiData, ErrorKind, Mode};

/// The hooks of a valid trace.
fn kinds(bytes: &[u8]) -> Vec<(u8, u64, HookKind)> {
    let hooks = TraceReader::new(bytes).map(|hook| hook.unwrap_or_else(|problem| panic!("{problem}")));
    hooks.map(|hook| (hook.minor, hook.time_stamp, hook.kind)).collect()
}

/// Many threads write at the same time: no hook is lost, and the hooks of a measurement are consecutive.
#[test]
fn hooks_of_a_measurement_stay_together() {
    const THREADS: u8 = 8;
    const GETS: u64 = 200;
    let folder = tempfile::tempdir().expect("a folder");
    let file = Trace::create(&folder.path().join("threads.nrm2")).expect("a file");
    let memory = Trace::in_memory(16 << 20);
    for trace in [&file, &memory] {
        let barrier = Barrier::new(THREADS.into());
        std::thread::scope(|scope| {
            for minor in 0..THREADS {
                let barrier = &barrier;
                scope.spawn(move || {
                    let mut data = fixture::data(u64::from(minor) + 1, true, true);
                    barrier.wait();
                    for get in 0..GETS {
                        data.ended_at = get;
                        let label = "x".repeat(usize::from(minor));
                        trace
                            .write(&data, minor, Mode::TRACE_EVERYTHING, Some(&label))
                            .expect("enough space");
                    }
                });
            }
        });
        trace.close().expect("a file");
        let hooks = kinds(&trace.bytes());
        assert_eq!(hooks.len() as u64, 6 * GETS * u64::from(THREADS));
        let mut gets = HashMap::new();
        for get in hooks.chunks(6) {
            let (minor, time, HookKind::LabelStart(label)) = &get[0] else { panic!("{:?}", get[0]) };
            assert!(get.iter().all(|(hook_minor, hook_time, _)| (hook_minor, hook_time) == (minor, time)));
            let HookKind::Processors(processors) = &get[3].2 else { panic!("{:?}", get[3]) };
            assert_eq!(processors.processors.len(), usize::from(*minor) + 1);
            assert_eq!(label.bytes.len(), usize::from(*minor));
            // The measurements of each thread are in order.
            assert_eq!(*gets.entry(*minor).and_modify(|get| *get += 1).or_insert(0), *time);
        }
        assert!(gets.len() == usize::from(THREADS) && gets.values().all(|&last| last == GETS - 1));
    }
}

#[test]
fn a_full_buffer_accepts_only_complete_measurements() {
    let data = fixture::data(1, true, true);
    let get = fixture::hooks(&data, 1, true, true, Some("a"));
    let trace = Trace::in_memory(2 * get.len() + get.len() - 1);
    for _ in 0..2 {
        trace.write(&data, 1, Mode::TRACE_EVERYTHING, Some("a")).expect("enough space");
    }
    let before = trace.bytes();
    assert!(before == fixture::section(fixture::ENDED_AT, 0, &[get.clone(), get.clone()].concat()));
    let error = trace.write(&data, 1, Mode::TRACE_EVERYTHING, Some("a")).expect_err("full");
    assert_eq!(error.kind(), ErrorKind::TraceFull);
    let (left, limit) = (get.len() - 1, 3 * get.len() - 1);
    assert_eq!(
        error.to_string(),
        format!(
            "the trace is full: {left} of {limit} bytes are left, and the hooks take {}; use a larger buffer, or trace to \
             a file",
            get.len()
        )
    );
    assert!(trace.bytes() == before);
    // Shorter measurements still fit.
    trace.write(&data, 2, Mode::TRACE_SUMMARY, None).expect("enough space");
    assert!(trace.bytes().len() > before.len());
}

#[test]
fn buffers_without_space_are_full_immediately() {
    let empty = Trace::in_memory(0);
    let error = empty.write(&CpiData::default(), 0, Mode::TRACE_SUMMARY, None).expect_err("full");
    assert_eq!(error.kind(), ErrorKind::TraceFull);
    assert!(empty.bytes() == fixture::section(0, 0, &[]));
    // An empty measurement needs no space.
    empty.write(&CpiData::default(), 0, Mode::RAW, None).expect("nothing is written");

    let impossible = Trace::in_memory(usize::MAX);
    let error = impossible.write(&CpiData::default(), 0, Mode::TRACE_SUMMARY, None).expect_err("full");
    assert_eq!(error.kind(), ErrorKind::TraceFull);
}

/// The per-processor hook with busy shares fits for 682 processors, but not for 683; then no hook of the measurement is
/// written.
#[test]
fn hooks_that_are_too_long_are_refused() {
    let trace = Trace::in_memory(1 << 20);
    trace.write(&fixture::data(682, true, false), 0, Mode::TRACE_DETAILED, None).expect("65,520 bytes");
    let before = trace.bytes();
    let too_many = fixture::data(683, true, false);
    let error = trace.write(&too_many, 0, Mode::TRACE_EVERYTHING, Some("label")).expect_err("65,616 bytes");
    assert_eq!(error.kind(), ErrorKind::HookTooLong);
    assert_eq!(
        error.to_string(),
        "the hook for 683 processors needs 65616 bytes, but a hook can have at most 65532: leave out the details, or the \
         busy shares"
    );
    assert!(trace.bytes() == before);
}

#[test]
fn a_closed_trace_refuses_writes() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = fixture::data(1, false, false);
    for trace in [Trace::create(&folder.path().join("closed.nrm2")).expect("a file"), Trace::in_memory(4096)]
    {
        trace.write(&data, 0, Mode::TRACE_SUMMARY, None).expect("enough space");
        trace.close().expect("open");
        let bytes = trace.bytes();
        assert!(
            bytes
                == fixture::section(
                    fixture::ENDED_AT,
                    fixture::ENDED_AT,
                    &fixture::summary(0x1000_0000, &data)
                )
        );
        trace.close().expect("closing again is allowed");
        let error = trace.write(&data, 0, Mode::TRACE_SUMMARY, None).expect_err("closed");
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (ErrorKind::NoTrace, "the trace was closed: open a new one")
        );
        assert!(trace.bytes() == bytes);
    }
}

#[test]
fn files_that_cannot_be_created_are_errors() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("no folder/trace.nrm2");
    for (path, text) in [
        (path.as_path(), "No such file or directory (os error 2); create the folder first, or use another"),
        (folder.path(), "Is a directory (os error 21); choose another file"),
        (
            Path::new("/dev/full"),
            "No space left on device (os error 28); free some space, or choose another disk",
        ),
    ] {
        let error = Trace::create(path).expect_err("no file");
        assert_eq!(error.kind(), ErrorKind::TraceFile);
        assert_eq!(error.to_string(), format!("the trace file {} cannot be written: {text}", path.display()));
    }
}

#[test]
fn an_existing_file_is_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.nrm2");
    std::fs::write(&path, [b'x'; 10_000]).expect("a file");
    let trace = Trace::create(&path).expect("a file");
    assert!(std::fs::read(&path).expect("a file") == fixture::section(0, 0, &[]));
    assert!(trace.bytes() == fixture::section(0, 0, &[]));
}

/// The environment variable that passes the file name to the child process, whose file size is limited.
const LIMITED: &str = "TACHO_TEST_LIMITED_TRACE";

/// A file limited to 8 KiB contains the measurements that fit completely, even after further attempts to write. (The limit
/// applies to a whole process, so the test runs itself under a shell that sets the limit.)
#[test]
fn a_file_with_a_size_limit_has_complete_measurements() {
    let data = fixture::data(4, true, true);
    let flags = Mode::TRACE_EVERYTHING;
    if let Some(path) = std::env::var_os(LIMITED) {
        let trace = Trace::create(Path::new(&path)).expect("a file");
        let mut written = 0;
        let error = loop {
            match trace.write(&data, written, flags, Some("label")) {
                Ok(()) => written += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::TraceFile);
        assert!(error.to_string().contains("File too large"), "{error}");
        trace.write(&data, 99, flags, Some("label")).expect_err("the limit is still reached");
        // A shorter measurement still fits, and follows the last complete one.
        trace.write(&CpiData::default(), 100, Mode::TRACE_SUMMARY, None).expect("64 bytes");
        trace.close().expect("the header can be rewritten");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("limited.nrm2");
    // The output is a pipe, because standard output may be a file that already exceeds the limit.
    let limited = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$0\" --exact write::a_file_with_a_size_limit_has_complete_measurements"])
        .arg(std::env::current_exe().expect("this test"))
        .env(LIMITED, &path)
        .output()
        .expect("sh");
    assert!(limited.status.success(), "{}", String::from_utf8_lossy(&limited.stdout));
    let bytes = std::fs::read(&path).expect("readable");
    let get = fixture::hooks(&data, 0, true, true, Some("label")).len();
    let gets = (8192 - 512) / get;
    assert_eq!(bytes.len(), 512 + gets * get + 16 + 6 * 8);
    let minors: Vec<_> = kinds(&bytes).into_iter().map(|(minor, ..)| minor).collect();
    let expected: Vec<_> = (0..gets as u8).flat_map(|get| [get; 6]).chain([100]).collect();
    assert_eq!(minors, expected);
}
