//! The negative test vectors of the reference (`perflib/tests/all/reference_cases.rs`), sent by an agent.

use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_counters::path::PathPattern;
use tachograph_perflib::block::Rule;
use tachograph_perflib::registration::{CounterInfo, CounterSetInfo, InstanceType};
use tachograph_perflib::{ErrorCode, FREQUENCY, Failure, Guid, InstanceKey, Query, Registry, Rows};
use tachograph_remote::message::CollectReply;
use tachograph_remote::{RemoteMachine, difference};

use crate::blocks_vectors::{A, B, C, E};
use crate::fixture::{BOOT, FakeProvider, FakeTime, Network, agent};
use crate::reference_cases::{Change, REFERENCE_CASES, changed};

/// A machine whose only set has the counters and instances of the block E.
fn machine() -> Arc<Registry> {
    let mut registry = Registry::new("WEB1", FakeTime::default().clock());
    let mut info = CounterSetInfo::new("Processors", Guid::from_u128(0xE), InstanceType::Multiple);
    info.counters.push(CounterInfo::new(0, "% Idle Time", CounterType::TIMER_100NS));
    info.counters.push(CounterInfo::new(3, "Interrupts", CounterType::RAWCOUNT));
    let fill = |rows: &mut Rows| {
        for (name, id) in [("0,0", 0), ("0,_Total", 1)] {
            let mut row = rows.push(&Arc::new(InstanceKey::new(name, id, 0)));
            row.set(0, 5);
            row.set(3, 7);
        }
        Ok(())
    };
    registry
        .register(Box::new(FakeProvider { info: Arc::new(info), fill: Box::new(fill) }))
        .expect("a valid set");
    Arc::new(registry)
}

/// A frame with this block, and the attributes of a number of instances.
fn frame(block: &[u8], instances: usize) -> Vec<u8> {
    let mut frame = Vec::new();
    let sizes = [block.len(), 16 * instances, 0, 0];
    [BOOT, BOOT].iter().for_each(|time| frame.extend_from_slice(&time.to_le_bytes()));
    sizes.iter().for_each(|&size| frame.extend_from_slice(&(size as u64).to_le_bytes()));
    frame.extend_from_slice(block);
    frame.resize((frame.len() + 16 * instances).next_multiple_of(8), 0);
    frame
}

/// The rows of a set: the name and the numbers of each instance; `None` for a number that cannot be read.
type NamedRows = Vec<(String, [Option<i64>; 2])>;

/// Collects from an agent that sends this frame.
fn collect(frame: Vec<u8>) -> Result<NamedRows, Failure> {
    let network = Network::to(agent(&machine()));
    let remote = RemoteMachine::new("web1", network.transport());
    let registry = remote.refresh().expect("the agent answers");
    let mut query = Query::open(&registry, None).expect("a query");
    query.add_path(&PathPattern::parse(r"\Processors(*)\*").expect("a path"));
    query.collect();
    assert_eq!(query.sets()[0].outcome(), Ok(()), "the agent's own frame is valid");
    network.with_state(|state| {
        state.change = Some(Box::new(move |path, body| {
            if path.ends_with("/collect") {
                let reply = CollectReply::decode(body).expect("a reply");
                let reply = CollectReply { base: 0, frame_bytes: frame.len(), differences: &[], ..reply };
                let mut changed = Vec::new();
                reply.encode_head(&mut changed);
                difference::encode(&[], &frame, &mut changed);
                *body = changed;
            }
        }));
    });
    query.collect();
    let set = &query.sets()[0];
    let rows = set.rows();
    let number = |row: usize, column: usize| {
        let value = rows.values(row)[column];
        value.status.is_good().then_some(value.first)
    };
    let names = rows.instances().iter().enumerate();
    let named = names.map(|(row, key)| (key.full_name().to_owned(), [number(row, 0), number(row, 1)]));
    let named = named.collect();
    set.outcome().map_err(Clone::clone).map(|()| named)
}

/// A block whose clock frequency is that of agents, unless a case has changed it.
fn with_frequency(mut block: Vec<u8>) -> Vec<u8> {
    if let Some(frequency) = block.get_mut(0x18..0x20).filter(|bytes| **bytes == 2_630_633_i64.to_le_bytes())
    {
        frequency.copy_from_slice(&FREQUENCY.to_le_bytes());
    }
    block
}

fn collect_changed(block: &str, changes: &[Change]) -> Result<NamedRows, Failure> {
    let instances = if block == E { 2 } else { 0 };
    collect(frame(&with_frequency(changed(block, changes)), instances))
}

const VALUES: [Option<i64>; 2] = [Some(4_903_144_765_625), Some(574_088_259)];

fn named(first: &str, values: [Option<i64>; 2]) -> Result<NamedRows, Failure> {
    Ok(vec![(first.to_owned(), values), ("0,_Total".to_owned(), VALUES)])
}

#[test]
fn unchanged_blocks_of_the_reference_are_collected() {
    assert_eq!(collect_changed(E, &[]), named("0,0", VALUES));
    assert_eq!(collect_changed(A, &[]).map_err(|failure| failure.code), Err(ErrorCode::ITEM_ID_NOT_FOUND));
    // Frames have only results of type 6 and errors.
    for block in [B, C] {
        let failure = collect_changed(block, &[]).expect_err("another type");
        assert!(failure.code == ErrorCode::INVALID_DATA && failure.reason.contains("type 6"), "{failure}");
    }
}

#[test]
fn changed_blocks_of_the_reference_are_refused_over_the_wire() {
    for (block, changes, rule, offset, _) in REFERENCE_CASES {
        let outcome = collect_changed(block, changes);
        match (changes, rule) {
            // The name is accepted, with replacement characters.
            (_, None) => assert_eq!(outcome, named("\u{FFFD}\u{FFFD}0", VALUES)),
            // Agents send a value that cannot be read as a value of size 0.
            ([Change::Put(0x68, 0)], _) => assert_eq!(outcome, named("0,0", [None, VALUES[1]])),
            // The status is reported, and the data is not used.
            ([Change::Put(0x30, 5)], _) => {
                let reported = collect(frame(&with_frequency(changed(block, changes)), 0));
                assert_eq!(
                    reported.map_err(|failure| (failure.code, failure.is_of_machine)),
                    Err((ErrorCode::ACCESS_DENIED, false))
                );
                assert!(outcome.is_err(), "attributes of data that is not used");
            }
            (_, Some(rule)) => {
                let failure = outcome.expect_err("an invalid block");
                let expected = match changes {
                    // The parts of a frame have sizes that are multiples of 8.
                    [Change::Cut(_)] => "a multiple of 8".to_owned(),
                    _ => format!("offset {offset:#x}: {rule}: "),
                };
                assert_eq!(failure.code, ErrorCode::INVALID_DATA, "{changes:x?}");
                assert!(
                    failure.is_of_machine && failure.reason.contains(&expected),
                    "{changes:x?}: {failure}"
                );
            }
        }
    }
    for (length, rule) in [(40, Rule::BlockTooShort), (192, Rule::BlockSizeTooLarge)] {
        let failure = collect_changed(E, &[Change::Cut(length)]).expect_err("an invalid block");
        assert!(failure.reason.contains(&format!("offset 0x0: {rule}: ")), "{failure}");
    }
}

#[test]
fn attributes_of_other_instances_are_refused() {
    let block = with_frequency(changed(E, &[]));
    for instances in [0, 1, 3] {
        let failure = collect(frame(&block, instances)).expect_err("invalid attributes");
        assert!(failure.reason.contains("attributes of 2 instances"), "{failure}");
    }
}
