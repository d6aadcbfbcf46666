//! Processors that go offline and online during a measurement.

use rustix::thread::{CpuSet, sched_setaffinity};
use tachograph_cpi::{Cpi, CpiData, Mode, ProcessorState};

use crate::guest;
use crate::region::{assert_within, instructions, region};

/// The length of a region, in iterations of its loop.
const ITERATIONS: u64 = 1_000_000;

/// Sets the processors on which this thread may run.
fn run_on(processors: &[usize]) {
    let mut set = CpuSet::new();
    for processor in processors {
        set.set(*processor);
    }
    sched_setaffinity(None, &set).expect("the processors are online");
}

fn switch(processor: usize, is_on: bool) {
    let file = format!("/sys/devices/system/cpu/cpu{processor}/online");
    std::fs::write(file, if is_on { "1" } else { "0" }).expect("root can write it");
}

fn state(data: &CpiData, processor: usize) -> ProcessorState {
    data.processors.get(processor).map_or(ProcessorState::Offline, |processor| processor.state)
}

/// Asserts that an instance counts a region on the second processor, and returns the number of instructions. The tolerance
/// is 0.5 %, because the counts of several emulated processors are not exact.
fn assert_measures_the_second(cpi: &mut Cpi) -> u64 {
    run_on(&[1]);
    cpi.start().expect("started");
    region(ITERATIONS);
    let data = cpi.get().expect("counted").clone();
    run_on(&[0, 1]);
    assert_eq!((state(&data, 0), state(&data, 1)), (ProcessorState::Measured, ProcessorState::Measured));
    let found = data.processors[1].measured.instructions;
    assert_within("its instructions", found as f64 / instructions(ITERATIONS) as f64, 0.995..1.005);
    assert_eq!(data.system.instructions, data.processors[0].measured.instructions + found, "the sum");
    found
}

#[test]
fn a_processor_has_data_only_if_it_is_online_for_the_whole_interval() {
    if !guest::is_machine("two-processors") {
        return;
    }
    let measure = |cpi: &mut Cpi, between: &dyn Fn()| {
        cpi.start().expect("started");
        region(ITERATIONS);
        between();
        region(ITERATIONS);
        cpi.get().expect("one processor is enough").clone()
    };
    let mut cpi = Cpi::new(guest::user_code(Mode::SCALED)).expect("hardware counters");
    assert_measures_the_second(&mut cpi);

    let goes = measure(&mut cpi, &|| switch(1, false));
    assert_eq!((state(&goes, 0), state(&goes, 1)), (ProcessorState::Measured, ProcessorState::Offline));
    assert_eq!(goes.system, goes.processors[0].measured, "the sum over the processors with data");
    guest::report_pass("processor goes offline in the interval", "it has no data, the other has");

    let gone = measure(&mut cpi, &|| ());
    assert_eq!((state(&gone, 0), state(&gone, 1)), (ProcessorState::Measured, ProcessorState::Offline));

    let comes = measure(&mut cpi, &|| switch(1, true));
    assert_eq!((state(&comes, 0), state(&comes, 1)), (ProcessorState::Measured, ProcessorState::Offline));
    let found = assert_measures_the_second(&mut cpi);
    guest::report_pass(
        "processor is online again",
        format_args!("counted from the next start on: {found} instructions"),
    );

    let between = measure(&mut cpi, &|| {
        switch(1, false);
        switch(1, true);
    });
    assert_eq!((state(&between, 0), state(&between, 1)), (ProcessorState::Measured, ProcessorState::Offline));
    let found = assert_measures_the_second(&mut cpi);
    guest::report_pass(
        "processor goes offline and online in one interval",
        format_args!("no data of it; next interval: {found} instructions"),
    );
}

#[test]
fn a_processor_that_was_offline_at_the_start_is_counted_once_online() {
    if !guest::is_machine("two-processors") {
        return;
    }
    run_on(&[0, 1]);
    switch(1, false);
    let mut cpi = Cpi::new(guest::user_code(Mode::RAW)).expect("the other processor is online");
    cpi.start().expect("started");
    region(ITERATIONS);
    let data = cpi.get().expect("counted").clone();
    assert_eq!((state(&data, 0), state(&data, 1)), (ProcessorState::Measured, ProcessorState::Offline));
    switch(1, true);
    let found = assert_measures_the_second(&mut cpi);
    guest::report_pass(
        "processor offline at the start",
        format_args!("skipped; counted once it is online: {found} instructions"),
    );
}

#[test]
fn a_thread_is_counted_on_all_processors_it_runs_on() {
    if !guest::is_machine("two-processors") {
        return;
    }
    run_on(&[0, 1]);
    let mut cpi = Cpi::new(guest::user_code(Mode::ON_THREAD)).expect("hardware counters");
    cpi.start().expect("started");
    for turn in 0..10 {
        run_on(&[turn % 2]);
        region(ITERATIONS);
    }
    let result = cpi.get().cloned();
    run_on(&[0, 1]);
    let data = result.unwrap_or_else(|error| panic!("{:?}: {error}", error.kind()));
    let found = data.thread.expect("measured").instructions;
    assert_within("its instructions", found as f64 / instructions(10 * ITERATIONS) as f64, 0.995..1.005);
    guest::report_pass(
        "thread that changes processors",
        format_args!("{found} instructions of {}", instructions(10 * ITERATIONS)),
    );
}
