//! Every kernel error has a kind, and a message with the cause and the remedy.

use std::sync::Arc;

use super::*;
use crate::fake_machine::FakeMachine;
use crate::{Cpi, Mode, Options};

fn refusal(errno: Errno, mode: Mode, change: impl FnOnce(&FakeMachine)) -> Error {
    let machine = Arc::new(FakeMachine::new(2));
    for event in ["cycles", "instructions"] {
        machine.state().refused.insert(event, errno);
    }
    change(&machine);
    Cpi::with_kernel(machine, Options { mode, ..Options::default() }).expect_err("refused")
}

#[test]
fn every_kernel_error_has_a_kind_and_a_remedy() {
    let table = [
        (Errno::ACCESS, ErrorKind::AccessDenied, "'sysctl kernel.perf_event_paranoid=0'"),
        (Errno::PERM, ErrorKind::Blocked, "start a container with CAP_PERFMON and a seccomp profile"),
        (Errno::NOSYS, ErrorKind::NoSystemCall, "this kernel has no system call perf_event_open (ENOSYS)"),
        (Errno::OPNOTSUPP, ErrorKind::NotSupported, "cannot count cycles of processor 0"),
        (Errno::INVAL, ErrorKind::Refused, "refuses to count cycles of processor 0 (EINVAL)"),
        (Errno::MFILE, ErrorKind::TooManyFiles, "needs 6 more (3 per processor)"),
        (Errno::NFILE, ErrorKind::TooManyFiles, "raise fs.file-max"),
        (Errno::BUSY, ErrorKind::Busy, "exclusively (EBUSY)"),
        (Errno::NOMEM, ErrorKind::OutOfMemory, "(ENOMEM)"),
        (Errno::NOSPC, ErrorKind::AllCountersInUse, "(ENOSPC)"),
        (Errno::SRCH, ErrorKind::NoSuchThread, "(ESRCH)"),
        (Errno::IO, ErrorKind::System, "cycles of processor 0 cannot be counted"),
        (
            Errno::NOENT,
            ErrorKind::EventNotSupported { in_virtual_machine: false },
            "no hardware counter for cycles (no performance monitoring unit; usual in virtual machines)",
        ),
    ];
    for (errno, kind, text) in table {
        let error = refusal(errno, Mode::RAW, |_| {});
        assert_eq!(error.kind(), kind);
        assert!(error.to_string().contains(text), "{errno:?}: {error}");
    }
}

/// The message has the current setting, what it forbids, and the remedy.
#[test]
fn access_errors_name_the_setting_and_the_remedy() {
    let text = |mode, paranoid| {
        refusal(Errno::ACCESS, mode, |machine| machine.state().paranoid = paranoid).to_string()
    };
    let processors = text(Mode::RAW, 2);
    for part in [
        "perf_event_paranoid is 2",
        "forbids counting whole processors",
        "run as root",
        "'setcap cap_perfmon+ep'",
        "perf_event_paranoid=0",
    ] {
        assert!(processors.contains(part), "{processors}");
    }
    let thread = text(Mode::ON_THREAD, 3);
    assert!(thread.contains("forbids any counting") && thread.contains("paranoid=2"), "{thread}");
    // The setting permits counting, so something else forbids it.
    let other = text(Mode::RAW, -1);
    assert!(other.contains("by a security module of the kernel"), "{other}");
}

#[test]
fn a_unit_without_an_instruction_counter_is_reported() {
    let machine = Arc::new(FakeMachine::new(1));
    machine.state().refused.insert("instructions", Errno::NOENT);
    let unit = crate::kernel::CoreUnit { name: "cpu".to_owned(), kind: 4, processors: vec![0] };
    machine.state().units.push(unit);
    let error = Cpi::with_kernel(machine, Mode::RAW.into()).expect_err("refused");
    assert!(error.to_string().contains("does not count instructions, which CPI needs"), "{error}");
}

#[test]
fn read_errors_name_their_target() {
    let error = read_error(ReadFailure::NotScheduled, Target::Processor(3));
    assert_eq!(error.kind(), ErrorKind::AllCountersInUse);
    assert!(error.to_string().contains("of processor 3 could not be scheduled"), "{error}");
    let error = read_error(ReadFailure::Errno(Errno::BADF), Target::Thread(Some(7)));
    assert!(error.to_string().contains("of thread 7 cannot be read"), "{error}");
}
