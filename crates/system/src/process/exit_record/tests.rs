//! Messages assembled from named fields, and one recorded from the kernel.

use super::*;
use crate::process::taskstats::TASKSTATS_TYPE_STATS;

const FAMILY: u16 = 31;
const STATISTICS_BYTES: usize = 416;

/// The fields of a message.
#[derive(Clone, Copy, Debug)]
struct Fields {
    version: u16,
    flags: u8,
    thread: u32,
    process: u32,
    parent: u32,
    /// The run time of the thread, in ns.
    run_time: u64,
    /// The run time of all threads, in ns, if the process had several.
    group_run_time: Option<u64>,
    /// User time in microseconds.
    user: u64,
    /// System time in microseconds.
    system: u64,
}

const LAST: Fields = Fields {
    version: 13,
    flags: AGROUP | 1,
    thread: 501,
    process: 500,
    parent: 7,
    run_time: 5_000_000,
    group_run_time: None,
    user: 3000,
    system: 1000,
};

fn bytes_of(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn message(fields: &Fields) -> Vec<u8> {
    let mut thread = vec![0; STATISTICS_BYTES];
    let mut put = |at: usize, bytes: &[u8]| thread[at..at + bytes.len()].copy_from_slice(bytes);
    put(offset::VERSION, &fields.version.to_ne_bytes());
    put(offset::FLAGS, &[fields.flags]);
    put(offset::RUN_TIME_NS, &fields.run_time.to_ne_bytes());
    // ac_pid comes before ac_ppid.
    put(offset::PARENT - 4, &fields.thread.to_ne_bytes());
    put(offset::PARENT, &fields.parent.to_ne_bytes());
    put(offset::USER_MICROSECONDS, &fields.user.to_ne_bytes());
    put(offset::SYSTEM_MICROSECONDS, &fields.system.to_ne_bytes());
    put(offset::PROCESS, &fields.process.to_ne_bytes());
    let aggregate = |kind, id_kind, id: u32, statistics: &[u8]| {
        let parts = [bytes_of(id_kind, &id.to_ne_bytes()), bytes_of(TASKSTATS_TYPE_STATS, statistics)];
        bytes_of(kind, &parts.concat())
    };
    let mut body = vec![TASKSTATS_CMD_NEW, 1, 0, 0];
    body.extend(aggregate(TASKSTATS_TYPE_AGGR_PID | 0x8000, 1, fields.thread, &thread));
    if let Some(run_time) = fields.group_run_time {
        let mut group = vec![0; STATISTICS_BYTES];
        group[offset::RUN_TIME_NS..][..8].copy_from_slice(&run_time.to_ne_bytes());
        body.extend(aggregate(TASKSTATS_TYPE_AGGR_TGID, 2, fields.process, &group));
    }
    let mut message = ((HEAD_BYTES + body.len()) as u32).to_ne_bytes().to_vec();
    message.extend(FAMILY.to_ne_bytes());
    message.extend([0; 10]);
    message.extend(body);
    message
}

fn parsed(fields: &Fields) -> Option<ExitRecord> {
    parse(&message(fields), FAMILY).expect("a message")
}

#[test]
fn a_process_has_the_run_time_of_all_its_threads() {
    let record = |user, system| Some(ExitRecord { process: 500, parent: 7, user, system });
    // 5 ms in units of 100 ns, three quarters of it user time.
    assert_eq!(parsed(&LAST), record(37_500, 12_500));
    assert_eq!(parsed(&Fields { group_run_time: Some(9_000_000), ..LAST }), record(67_500, 22_500));
    // Too short for the kernel's ticks.
    assert_eq!(parsed(&Fields { user: 0, system: 0, ..LAST }), record(50_000, 0));
    assert_eq!(parsed(&Fields { user: 0, ..LAST }), record(0, 50_000));
    let largest = Fields { run_time: u64::MAX, user: u64::MAX, system: u64::MAX, ..LAST };
    assert!(parsed(&largest).is_some_and(|record| record.user + record.system == u64::MAX / 100));
}

#[test]
fn a_thread_of_a_living_process_has_no_record() {
    // The main thread can end before the others.
    for thread in [500, 501] {
        assert_eq!(parsed(&Fields { flags: 1, thread, ..LAST }), None);
    }
}

#[test]
fn each_broken_field_is_an_error() {
    let error = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = message(&LAST);
        change(&mut bytes);
        parse(&bytes, FAMILY).expect_err("broken").to_string()
    };
    assert!(error(&|bytes| bytes.truncate(15)).contains("of 15 bytes"));
    assert!(error(&|bytes| bytes[0] += 4).contains("which should have"));
    assert!(error(&|bytes| bytes[4] = 2).contains("of type 2"));
    assert!(error(&|bytes| bytes[HEAD_BYTES] = 1).contains("of type 31"));
    // The type of the outer attribute, that of the statistics, and their lengths.
    let (outer, inner) = (HEAD_BYTES + GENL_BYTES, HEAD_BYTES + GENL_BYTES + 4 + 8);
    for at in [outer + 2, inner + 2, outer, inner] {
        assert!(error(&|bytes| bytes[at] ^= 8).contains("without its statistics"), "{at}");
    }
    assert!(error(&|bytes| bytes[inner + 4] = 11).contains("version 11"));
    // The statistics end before the process.
    let short = (4 + offset::PROCESS as u16 + 3).to_ne_bytes();
    assert!(
        error(&|bytes| bytes[inner..inner + 2].copy_from_slice(&short)).contains("without its statistics")
    );
}

#[test]
fn truncated_and_corrupted_messages_cause_no_panic() {
    for whole in [message(&LAST), message(&Fields { group_run_time: Some(9_000_000), ..LAST })] {
        for length in 0..whole.len() {
            assert!(parse(&whole[..length], FAMILY).is_err(), "{length}");
            // The length field matches the truncated message.
            if length >= HEAD_BYTES {
                let mut cut = whole[..length].to_vec();
                cut[..4].copy_from_slice(&(length as u32).to_ne_bytes());
                let kept = parse(&cut, FAMILY);
                assert!(!matches!(kept, Ok(None)), "{length}");
            }
        }
        for bit in 0..whole.len() * 8 {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            // Both times are parts of one run time, so their sum does not overflow.
            if let Ok(Some(record)) = parse(&flipped, FAMILY) {
                assert!(record.user.checked_add(record.system).is_some(), "{bit}");
            }
        }
    }
}

/// A message of Linux 6.18 about a process with three threads. The expected values are those of a C program with the
/// kernel's `struct taskstats`.
const RECORDED: &[u8] = include_bytes!("recorded.bin");

#[test]
fn a_recorded_message_has_the_values_of_the_kernels_structure() {
    let record = parse(RECORDED, FAMILY).expect("a message");
    // 467,034 ns, in which the kernel took no sample.
    assert_eq!(record, Some(ExitRecord { process: 20_011, parent: 20_010, user: 4670, system: 0 }));
    assert_eq!(version(&RECORDED[HEAD_BYTES..]), Some(16));
}
