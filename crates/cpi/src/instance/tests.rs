//! Tests of instances on a fake machine.

use rustix::io::Errno;

use super::*;
use crate::data::{Measured, ProcessorData};
use crate::fake_machine::FakeMachine;
use crate::kernel::CoreUnit;

fn machine_of(processors: u32) -> Arc<FakeMachine> {
    Arc::new(FakeMachine::new(processors))
}

fn instance(machine: &Arc<FakeMachine>, mode: Mode) -> Cpi {
    Cpi::with_kernel(Arc::<FakeMachine>::clone(machine), mode.into()).expect("counted")
}

const RAW_AND_SCALED: Mode = Mode::SCALED;

#[test]
fn one_step_has_exact_counts() {
    let machine = machine_of(2);
    let mut cpi = instance(&machine, RAW_AND_SCALED | Mode::ON_THREAD);
    assert_eq!(cpi.mode(), Mode::RAW | Mode::SCALED | Mode::ON_THREAD);
    cpi.start().expect("started");
    let data = cpi.get().expect("measured");
    assert_eq!((data.elapsed_cycles, data.elapsed.as_millis(), data.tid), (1_000_000, 1, 4242));
    let [first, second] = data.processors.as_slice() else { panic!("{data:?}") };
    assert_eq!(
        *second,
        ProcessorData {
            state: ProcessorState::Measured,
            measured: Measured {
                instructions: 401_000,
                cycles: 1_000_000,
                cycles_scaled: 510_000,
                core_cycles: 601_000,
                busy_ticks: 51,
                elapsed_ticks: 100,
                enabled_ns: 1_000_000,
                running_ns: 1_000_000,
            },
        }
    );
    assert_eq!(first.measured.cpi(), Some(2.5));
    assert_eq!(first.measured.cpi_scaled(), Some(1.25));
    assert_eq!(first.measured.core_cpi(), Some(1.5));
    assert_eq!(first.measured.busy_percent(), Some(50.0));
    // The CPI of the system is a ratio of sums, not a mean of ratios.
    assert_eq!(data.system.cpi(), Some(2_000_000.0 / 801_000.0));
    assert_eq!(data.system.cpi_scaled(), Some(1_010_000.0 / 801_000.0));
    assert_eq!(data.system.busy_percent(), Some(100.0 * 101.0 / 200.0));
    let thread = data.thread.expect("the thread");
    assert_eq!((thread.instructions, thread.cycles, thread.core_cycles), (300_000, 450_000, 450_000));
    assert_eq!(thread.cpi(), Some(1.5));
}

#[test]
fn an_interval_starts_at_the_last_start() {
    let machine = machine_of(1);
    let mut cpi = instance(&machine, Mode::ON_THREAD);
    let instructions = |data: &CpiData| data.thread.map(|thread| thread.instructions);
    // Without a call of `start`, the interval begins when the instance is created.
    assert_eq!(cpi.get().map(instructions), Ok(Some(300_000)));
    assert_eq!(cpi.get().map(instructions), Ok(Some(600_000)));
    cpi.start().expect("started");
    assert_eq!(cpi.get().map(instructions), Ok(Some(300_000)));
    // Each interval starts at the end of the previous one.
    let mut sum = 300_000;
    cpi.start().expect("started");
    for _ in 0..3 {
        sum += cpi.get_and_start().map(instructions).expect("measured").expect("the thread");
    }
    assert_eq!(sum, 4 * 300_000);
    assert!(cpi.data.processors.is_empty());
}

#[test]
fn instances_can_be_nested_and_overlap() {
    let machine = machine_of(1);
    let mut outer = instance(&machine, Mode::RAW);
    let mut inner = instance(&machine, Mode::RAW);
    outer.start().expect("started");
    inner.start().expect("started");
    assert_eq!(inner.get().map(|data| data.system.instructions), Ok(400_000));
    inner.start().expect("started");
    assert_eq!(outer.get().map(|data| data.system.instructions), Ok(4 * 400_000));
    drop(outer);
    assert_eq!(inner.get().map(|data| data.system.instructions), Ok(2 * 400_000));
}

#[test]
fn one_group_per_processor_and_one_reading_per_start() {
    let machine = machine_of(3);
    let mut many: Vec<Cpi> = (0..10).map(|_| instance(&machine, Mode::RAW | Mode::ON_THREAD)).collect();
    let before = machine.state().readings;
    many[7].start().expect("started");
    assert_eq!(machine.state().readings - before, 4);
    many[7].get().expect("measured");
    assert_eq!(machine.state().readings - before, 8);
    assert_eq!(machine.state().open_counters(), 8);
}

#[test]
fn multiplexed_counts_are_scaled_and_reported() {
    let machine = machine_of(2);
    let mut cpi = instance(&machine, RAW_AND_SCALED | Mode::ON_THREAD);
    machine.state().running_quarters = 1;
    cpi.start().expect("started");
    let data = cpi.get().expect("measured");
    assert_eq!(data.processors[0].measured.instructions, 400_000);
    assert_eq!(data.processors[0].measured.running_share(), Some(0.25));
    let thread = data.thread.expect("the thread");
    assert_eq!((thread.instructions, thread.running_share()), (300_000, Some(0.25)));
}

#[test]
fn counters_that_never_ran_are_an_error() {
    let machine = machine_of(1);
    machine.state().running_quarters = 0;
    let mut cpi = instance(&machine, Mode::ON_THREAD);
    let error = cpi.get().expect_err("nothing counted");
    assert_eq!(error.kind(), ErrorKind::NeverRan);
    assert!(error.to_string().contains("never ran in this interval of 1.000 ms"), "{error}");
    let mut cpi = instance(&machine, RAW_AND_SCALED);
    assert_eq!(cpi.get().expect_err("nothing counted").kind(), ErrorKind::NeverRan);
    let data = cpi.last();
    assert_eq!(data.processors[0].state, ProcessorState::NeverRan);
    assert_eq!(data.system.cpi(), None);
    // Busy shares are known even if no counter ran.
    assert_eq!(data.system.busy_percent(), Some(50.0));
}

#[test]
fn counters_that_never_ran_keep_their_start() {
    let machine = machine_of(1);
    machine.state().running_quarters = 0;
    let mut cpi = instance(&machine, RAW_AND_SCALED | Mode::ON_THREAD);
    cpi.get_and_start().expect_err("nothing counted");
    machine.state().running_quarters = 4;
    let data = cpi.get_and_start().expect("measured");
    assert_eq!(data.thread.map(|thread| thread.instructions), Some(600_000));
    assert_eq!(data.system.instructions, 800_000);
    let data = cpi.get_and_start().expect("measured");
    assert_eq!(data.system.instructions, 400_000);
}

fn units() -> Vec<CoreUnit> {
    vec![
        CoreUnit { name: "cpu_atom".to_owned(), kind: 10, processors: vec![2, 3] },
        CoreUnit { name: "cpu_core".to_owned(), kind: 4, processors: vec![0, 1] },
    ]
}

#[test]
fn cores_of_two_kinds_are_counted_separately() {
    let machine = machine_of(4);
    machine.state().units = units();
    machine.state().thread_unit = Some(4);
    let mut cpi = instance(&machine, Mode::RAW | Mode::ON_THREAD);
    // Each processor has one group, on its unit; the thread has two.
    assert_eq!(machine.state().open_counters(), 2 * 6);
    for number in 0..4 {
        let kinds = machine.state().units_of(Target::Processor(number));
        assert_eq!(kinds, if number < 2 { [4, 4] } else { [10, 10] }, "processor {number}");
    }
    assert_eq!(machine.state().units_of(Target::Thread(None)), [10, 10, 4, 4]);
    cpi.start().expect("started");
    let data = cpi.get().expect("measured");
    let thread = data.thread.expect("the thread");
    // The counts of one kind are not scaled by the halted time of the other.
    assert_eq!((thread.instructions, thread.running_share()), (300_000, Some(1.0)));
    assert_eq!(data.processors.len(), 4);
}

#[test]
fn a_kernel_that_refuses_units_in_generic_events_counts_without_them() {
    let machine = machine_of(4);
    machine.state().units = units();
    machine.state().refuses_units = true;
    let mut cpi = instance(&machine, Mode::RAW);
    assert_eq!(machine.state().units_of(Target::Processor(0)), [0, 0]);
    assert_eq!(cpi.get().map(|data| data.processors.len()), Ok(4));
}

#[test]
fn a_processor_that_goes_offline_and_online_is_measured_in_whole_intervals_only() {
    let machine = machine_of(3);
    let mut cpi = instance(&machine, RAW_AND_SCALED);
    cpi.start().expect("started");
    machine.state().set_offline(1);
    let data = cpi.get().expect("measured");
    let states = |data: &CpiData| -> Vec<_> { data.processors.iter().map(|data| data.state).collect() };
    use ProcessorState::{Measured, Offline};
    assert_eq!(states(data), [Measured, Offline, Measured]);
    assert_eq!(data.system.instructions, 400_000 + 402_000);

    machine.state().set_online(1);
    // Processor 1 was not online for the whole interval.
    assert_eq!(cpi.get().map(states), Ok(vec![Measured, Offline, Measured]));
    cpi.start().expect("started");
    let data = cpi.get().expect("measured");
    assert_eq!(states(data), [Measured, Measured, Measured]);
    assert_eq!(data.processors[1].measured.instructions, 401_000);
}

#[test]
fn a_processor_that_was_offline_between_two_readings_is_omitted_and_reopened() {
    let machine = machine_of(2);
    let mut cpi = instance(&machine, RAW_AND_SCALED);
    cpi.start().expect("started");
    machine.state().set_offline(1);
    machine.state().set_online(1);
    machine.state().advance(20);
    // The only indication is that the processor's counters were halted.
    let data = cpi.get().expect("measured");
    assert_eq!(data.processors.len(), 1);
    assert_eq!(data.processors[0].state, ProcessorState::Measured);
    cpi.start().expect("started");
    machine.state().advance(20);
    let data = cpi.get().expect("measured");
    assert_eq!(data.processors[1].state, ProcessorState::Measured);
    assert_eq!(data.processors[1].measured.instructions, 21 * 401_000);
}

/// When a processor goes offline, the kernel splits its group; the leader remains without members.
#[test]
fn a_group_that_was_split_is_reopened() {
    let machine = machine_of(2);
    let mut cpi = instance(&machine, RAW_AND_SCALED);
    cpi.start().expect("started");
    machine.state().split_group(1);
    let data = cpi.get().expect("measured");
    assert_eq!(data.processors.len(), 1);
    assert_eq!(data.system.instructions, 400_000);
    cpi.start().expect("started");
    let data = cpi.get().expect("measured");
    assert_eq!(data.processors[1].measured.instructions, 401_000);
    // The same if `start` reads the split group first.
    machine.state().split_group(1);
    cpi.start().expect("started");
    let data = cpi.get().expect("measured");
    assert_eq!(data.processors[1].measured.instructions, 401_000);
}

#[test]
fn a_processor_that_comes_online_later_is_counted() {
    let machine = machine_of(1);
    let mut cpi = instance(&machine, RAW_AND_SCALED);
    machine.state().set_online(3);
    cpi.start().expect("started");
    let data = cpi.get().expect("measured");
    assert_eq!(data.processors.len(), 4);
    assert_eq!(data.processors[2].state, ProcessorState::Offline);
    assert_eq!(data.processors[3].state, ProcessorState::Measured);
}

#[test]
fn elapsed_cycles_are_derived_from_a_cycle_counter_that_halts_in_idle() {
    let machine = machine_of(1);
    machine.state().clock_counts_cycles = false;
    let mut cpi = instance(&machine, RAW_AND_SCALED);
    cpi.start().expect("started");
    cpi.get().expect("measured");
    // The fake processors are never idle enough to decide.
    assert!(cpi.notes()[0].contains("assumed to halt"), "{:?}", cpi.notes());
    cpi.start().expect("started");
    let data = cpi.get().expect("measured");
    let measured = data.processors[0].measured;
    // The processor was busy half of the time, so twice the counted cycles have elapsed.
    assert_eq!(
        (measured.cycles, measured.cycles_scaled, measured.core_cycles),
        (1_200_000, 600_000, 600_000)
    );
    // With only `RAW`, the busy share is needed too, but not reported.
    let mut raw = instance(&machine, Mode::RAW);
    raw.start().expect("started");
    let data = raw.get().expect("measured");
    assert_eq!((data.system.cycles, data.system.busy_percent()), (1_200_000, None));
    // The idle behaviour was probed only once.
    assert_eq!(machine.state().slept, 1);
}

#[test]
fn elapsed_cycles_of_a_processor_without_busy_time_are_estimated_from_the_others() {
    let machine = machine_of(2);
    machine.state().clock_counts_cycles = false;
    machine.in_idle().store(InIdle::Halts as u8, std::sync::atomic::Ordering::Relaxed);
    machine.state().accounts_busy_of = Some(1);
    let mut cpi = instance(&machine, RAW_AND_SCALED);
    cpi.start().expect("started");
    let data = cpi.get().expect("measured");
    // Processor 1 had 601,000 cycles in 51 of 100 ticks. Of processor 0, only the cycles and the 100 elapsed ticks are known.
    let [idle, busy] = [data.processors[0].measured, data.processors[1].measured];
    assert_eq!((busy.cycles, busy.cycles_scaled), (1_178_431, 601_000));
    assert_eq!((idle.cycles, idle.cycles_scaled, idle.busy_ticks), (1_178_431, 600_000, 0));
    assert_eq!(idle.cpi_scaled(), Some(1.5));

    machine.state().accounts_busy_of = Some(7);
    cpi.start().expect("started");
    let data = cpi.get().expect("measured");
    assert_eq!((data.system.cpi(), data.processors[0].measured.cpi()), (None, None));
    assert_eq!(data.system.cpi_scaled(), Some(1_201_000.0 / 801_000.0));
}

#[test]
fn an_interval_has_no_length_if_the_clock_goes_backwards() {
    let machine = machine_of(2);
    machine.state().clock_offset = 10_000_000;
    let mut cpi = instance(&machine, RAW_AND_SCALED);
    cpi.start().expect("started");
    machine.state().clock_offset = 0;
    let data = cpi.get().expect("measured");
    assert_eq!((data.elapsed_cycles, data.system, data.processors.len()), (0, Measured::default(), 0));
    cpi.start().expect("started");
    assert_eq!(cpi.get().map(|data| data.system.instructions), Ok(801_000));
}

#[test]
fn busy_time_has_one_source_for_all_processors() {
    let machine = machine_of(2);
    // Only the first processor has the counter of reference cycles.
    machine.state().refused.clear();
    machine.state().refused_on = Some(("ref-cycles", 1));
    let mut cpi = instance(&machine, RAW_AND_SCALED);
    cpi.start().expect("started");
    let data = cpi.get().expect("measured");
    assert_eq!(data.system.busy_percent(), Some(50.5));
    assert_eq!(data.processors[0].measured.elapsed_ticks, 100);
}

#[test]
fn a_processor_that_cannot_be_reopened_does_not_affect_the_others() {
    let machine = machine_of(2);
    let mut cpi = instance(&machine, Mode::RAW);
    cpi.start().expect("started");
    machine.state().set_offline(1);
    machine.state().set_online(1);
    machine.state().advance(20);
    machine.state().refused.insert("cycles", Errno::BUSY);
    let data = cpi.get_and_start().expect("measured");
    assert_eq!(data.system.instructions, 21 * 400_000);
    // The next reading reports the error, and no counts are lost.
    assert_eq!(cpi.get_and_start().expect_err("busy").kind(), ErrorKind::Busy);
    machine.state().refused.remove("cycles");
    assert_eq!(cpi.get_and_start().map(|data| data.system.instructions), Ok(2 * 400_000));
}

#[test]
fn a_cycle_counter_that_runs_in_idle_counts_elapsed_cycles() {
    let machine = machine_of(1);
    machine.state().clock_counts_cycles = false;
    let mut cpi = instance(&machine, RAW_AND_SCALED);
    machine.in_idle().store(InIdle::Counts as u8, std::sync::atomic::Ordering::Relaxed);
    cpi.start().expect("started");
    let data = cpi.get().expect("measured");
    assert_eq!((data.system.cycles, data.system.cycles_scaled), (600_000, 300_000));
}

#[test]
fn unhalted_reference_cycles_are_busy_time() {
    let machine = machine_of(2);
    machine.state().refused.clear();
    let mut cpi = instance(&machine, RAW_AND_SCALED);
    cpi.start().expect("started");
    let data = cpi.get().expect("measured");
    let measured = data.processors[1].measured;
    assert_eq!((measured.busy_ticks, measured.elapsed_ticks), (510_000, 1_000_000));
    assert_eq!((measured.cycles, measured.cycles_scaled), (1_000_000, 510_000));
}

#[test]
fn busy_shares_are_measured_without_counters() {
    let machine = machine_of(2);
    machine.state().refused.insert("cycles", Errno::NOENT);
    let refused = Cpi::with_kernel(Arc::<FakeMachine>::clone(&machine), RAW_AND_SCALED.into())
        .expect_err("no counters");
    assert_eq!(refused.kind(), ErrorKind::EventNotSupported { in_virtual_machine: false });
    let options = Options { mode: RAW_AND_SCALED, or_shares_only: true, ..Options::default() };
    let mut cpi = Cpi::with_kernel(Arc::<FakeMachine>::clone(&machine), options).expect("shares");
    assert_eq!(cpi.why_no_cpi(), Some(&refused));
    cpi.start().expect("started");
    let data = cpi.get().expect("measured");
    assert_eq!(data.processors[1].state, ProcessorState::NoCounters);
    assert_eq!(data.processors[1].measured.busy_percent(), Some(51.0));
    assert_eq!((data.system.cpi(), data.system.busy_percent()), (None, Some(50.5)));
}

#[test]
fn hardware_that_cannot_exclude_the_kernel_is_noted() {
    let machine = machine_of(1);
    machine.state().cannot_exclude = true;
    for mode in [Mode::RAW, Mode::ON_THREAD, Mode::RAW | Mode::ON_THREAD] {
        let options = Options { mode, user_only: true, ..Options::default() };
        let cpi = Cpi::with_kernel(Arc::<FakeMachine>::clone(&machine), options).expect("counted");
        assert!(cpi.notes()[0].contains("cannot count user code alone"), "{:?}", cpi.notes());
        assert!(!cpi.last().is_user_only);
    }
}

#[test]
fn too_many_files_are_an_error_with_the_number_needed() {
    let machine = machine_of(8);
    machine.state().file_limit = 5;
    let error =
        Cpi::with_kernel(Arc::<FakeMachine>::clone(&machine), Mode::RAW.into()).expect_err("too many");
    assert_eq!(error.kind(), ErrorKind::TooManyFiles);
    assert!(error.to_string().contains("needs 24 more (3 per processor)"), "{error}");
    machine.state().file_limit = 16;
    instance(&machine, Mode::RAW);
}

#[test]
fn tracing_needs_a_trace() {
    let machine = machine_of(1);
    let mut cpi = instance(&machine, Mode::RAW | Mode::TRACE_ON_GET | Mode::TRACE_SUMMARY);
    assert_eq!(cpi.get().expect_err("no trace").kind(), ErrorKind::NoTrace);
    assert_eq!(cpi.get_and_trace(1, Mode::default(), None).expect_err("no trace").kind(), ErrorKind::NoTrace);
}
