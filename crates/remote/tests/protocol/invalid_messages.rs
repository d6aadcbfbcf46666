//! Agents and consumers that receive invalid messages.

use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_counters::path::PathPattern;
use tachograph_perflib::registration::{CounterInfo, CounterSetInfo, InstanceType};
use tachograph_perflib::{ErrorCode, InstanceKey, Query, Registry, Rows};
use tachograph_remote::RemoteMachine;
use tachograph_remote::limits::MAX_ERRORS;
use tachograph_remote::message::{
    CollectRequest, Greeting, InstanceReply, ListedSet, OpenReply, Sets, decode_selections, encode_selections,
};

use crate::fixture::{
    DISK, FakeProvider, FakeTime, LARGE, Network, TASKS, agent, frame, is_valid_frame, machine, selections,
};

#[test]
fn truncated_frames_are_refused() {
    let (selections, frame) = frame();
    assert!(is_valid_frame(&frame, &selections));
    for length in 0..frame.len() {
        // The error messages are last; a frame without them is valid.
        let is_cut_at_errors = is_valid_frame(&frame[..length], &selections);
        assert!(!is_cut_at_errors || length.is_multiple_of(8) && length > frame.len() - 200, "{length}");
    }
    assert!(!is_valid_frame(&[&frame[..], &[0; 4]].concat(), &selections));
    assert!(!is_valid_frame(&frame, &selections[1..]));
    let mut other = selections.clone();
    other[0].counter_ids.swap(0, 1);
    assert!(!is_valid_frame(&frame, &other), "the counters must be those that were selected");
}

#[test]
fn changed_words_do_not_make_a_consumer_panic() {
    let (selections, frame) = frame();
    for offset in (0..frame.len() - 3).step_by(4) {
        let value = u32::from_le_bytes(frame[offset..offset + 4].try_into().expect("4 bytes"));
        for changed in [
            0,
            1,
            7,
            8,
            value.wrapping_add(1),
            value.wrapping_sub(1),
            value.wrapping_add(8),
            value.wrapping_sub(8),
            0x7FFF_FFFF,
            0x8000_0000,
            0xFFFF_FFF8,
            u32::MAX,
        ] {
            let mut bytes = frame.clone();
            bytes[offset..offset + 4].copy_from_slice(&changed.to_le_bytes());
            is_valid_frame(&bytes, &selections);
        }
    }
}

#[test]
fn a_frame_has_a_limited_number_of_reasons() {
    let (selections, frame) = frame();
    // The frame without its reasons, which are last.
    let size = |at: usize| u64::from_le_bytes(frame[at..at + 8].try_into().expect("8 bytes")) as usize;
    let frame = &frame[..48 + size(16) + size(24) + size(32)];
    // A reason without texts: the result 0, the counter 1, one value, lengths 0 and 0.
    let reason = [0_u32, 1, 1, 0, 0, 0].map(u32::to_le_bytes).concat();
    for (count, is_valid) in [(0, true), (MAX_ERRORS, true), (MAX_ERRORS + 1, false)] {
        assert_eq!(
            is_valid_frame(&[frame, &reason.repeat(count)].concat(), &selections),
            is_valid,
            "{count}"
        );
    }
}

#[test]
fn times_out_of_range_are_refused() {
    let (selections, frame) = frame();
    // The wall clock, the boot time; ticks, system time and frequency of the block.
    for (offset, number) in [(0, -1), (8, i64::MAX), (48 + 8, -5), (48 + 16, i64::MIN), (48 + 24, 1)] {
        let mut bytes = frame.clone();
        bytes[offset..offset + 8].copy_from_slice(&i64::to_le_bytes(number));
        assert!(!is_valid_frame(&bytes, &selections), "{offset}");
    }
}

#[test]
fn times_outside_frames_are_checked_too() {
    let agent = agent(&machine(&FakeTime::default()));
    let greeting = agent.greet("a").expect("a reply");
    let instances = agent.instances("a", &DISK.to_bytes()).expect("a reply");
    for (message, offsets) in [(&greeting, &[20, 28][..]), (&instances, &[0, 8, 16])] {
        for &offset in offsets {
            for number in [-1, i64::MIN, i64::MAX] {
                let mut bytes = message.clone();
                bytes[offset..offset + 8].copy_from_slice(&number.to_le_bytes());
                assert!(Greeting::decode(&bytes).is_err() && InstanceReply::decode(&bytes).is_err());
            }
        }
    }
    assert!(Greeting::decode(&greeting).is_ok() && InstanceReply::decode(&instances).is_ok());
}

/// Applies the negative test vectors of the block format to the first result of a frame. A vector is an offset in the block,
/// and the value that is written there.
#[test]
fn invalid_blocks_in_frames_are_refused() {
    let (selections, frame) = frame();
    let block_bytes = u64::from_le_bytes(frame[16..24].try_into().expect("8 bytes")) as u32;
    let u32_at =
        |offset: usize| u32::from_le_bytes(frame[48 + offset..48 + offset + 4].try_into().expect("4 bytes"));
    // The result begins at 0x30, its ids at 0x40 (8 + 5 * 4 bytes, padded to 32), the instances at 0x60, the first at 0x68.
    assert_eq!((u32_at(0x34), u32_at(0x44), u32_at(0x64)), (6, 5, 4));
    let instance = u32_at(0x68) as usize;
    let value = 0x68 + instance;
    for (offset, changed) in [
        (0x00, 47),
        (0x00, block_bytes + 8),
        (0x00, block_bytes - 4),
        (0x04, u32::MAX),
        (0x04, 4),
        (0x04, 0),
        (0x38, 15),
        (0x38, block_bytes),
        (0x34, 3),
        (0x34, 0),
        (0x40, 4),
        (0x40, block_bytes),
        (0x44, 0x4000_0002),
        (0x44, 7),
        (0x44, 0),
        (0x4C, 1),
        (0x4C, u32::MAX),
        (0x60, block_bytes),
        (0x60, 4),
        (0x64, 5),
        (0x64, u32::MAX),
        (0x64, 3),
        (0x68, 8),
        (0x68, 18),
        (0x68, 0x1000_0000),
        (value, 9),
        (value + 4, 8),
        (value + 4, 18),
        (value + 4, 0xFFFF_FFF8),
    ] {
        let mut bytes = frame.clone();
        bytes[48 + offset..48 + offset + 4].copy_from_slice(&changed.to_le_bytes());
        assert!(!is_valid_frame(&bytes, &selections), "u32 at {offset:#x} = {changed:#x}");
    }
}

/// Decodes a message; returns whether it is valid.
type Decode = fn(&[u8]) -> bool;

#[test]
fn truncated_messages_are_refused_and_flipped_bits_do_not_panic() {
    let selections = selections();
    let agent = agent(&machine(&FakeTime::default()));
    let opened = agent.open("a", &encode_selections(selections.iter())).expect("a query");
    let query = OpenReply::decode(&opened, 3).expect("a reply").query;
    let messages: [(&str, Vec<u8>, Decode); 6] = [
        ("greeting", agent.greet("a").expect("a reply"), |bytes| Greeting::decode(bytes).is_ok()),
        ("sets", agent.sets("a").expect("a reply"), |bytes| {
            let mut problems = Vec::new();
            Sets::decode(bytes, &mut problems).is_ok_and(|_| problems.is_empty())
        }),
        ("selections", encode_selections(selections.iter()), |bytes| decode_selections(bytes).is_ok()),
        ("open", opened, |bytes| OpenReply::decode(bytes, 3).is_ok()),
        ("request", CollectRequest { number: 3, held: 2 }.encode().to_vec(), |bytes| {
            CollectRequest::decode(bytes).is_ok()
        }),
        ("instances", agent.instances("a", &DISK.to_bytes()).expect("a reply"), |bytes| {
            InstanceReply::decode(bytes).is_ok()
        }),
    ];
    agent.close("a", query).expect("an open query");
    for (name, message, decode) in messages {
        assert!(decode(&message), "{name}");
        for length in 0..message.len() {
            // A list of instances has no end marker, so a list without all attributes is refused only when it is used.
            assert!(!decode(&message[..length]) || name == "instances", "{name} cut to {length}");
        }
        for bit in 0..message.len() * 8 {
            let mut changed = message.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            decode(&changed);
        }
        assert!(!decode(&[&message[..], &[0]].concat()), "{name} with a trailing byte");
    }
}

/// If the agent's answer was altered, a collection has values or an error with a reason.
#[test]
fn a_consumer_survives_an_agent_that_changes_its_answers() {
    let times = FakeTime::default();
    let network = Network::to(agent(&machine(&times)));
    let mut state = 12345_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    for round in 0..60 {
        network.with_state(|state| state.change = None);
        let remote = RemoteMachine::new("web1", network.transport());
        let registry = remote.refresh().expect("the agent answers");
        let mut query = Query::open(&registry, None).expect("a query");
        query.add_path(&PathPattern::parse(r"\PhysicalDisk(*)\*").expect("a path"));
        query.collect();
        let bits: Vec<u64> = (0..2).map(|_| random()).collect();
        let is_cut = round % 3 == 0;
        network.with_state(|state| {
            state.change = Some(Box::new(move |_, body| {
                for bit in &bits {
                    let bit = (*bit % (body.len().max(1) as u64 * 8)) as usize;
                    if let Some(byte) = body.get_mut(bit / 8) {
                        *byte ^= 1 << (bit % 8);
                    }
                }
                if is_cut {
                    body.truncate(body.len() / 2);
                }
            }));
        });
        times.advance(1_000_000);
        query.collect();
        if let Err(failure) = query.sets()[0].outcome() {
            assert!(!failure.reason.is_empty());
        }
        // A new agent, because each one limits the number of queries.
        network.with_state(|state| state.agent = Some(Arc::new(agent(&machine(&times)))));
    }
}

/// Runs the check of the fuzz target on all messages, truncated and with flipped bits.
#[test]
fn altered_messages_pass_the_check_of_the_fuzz_target() {
    let agent = agent(&machine(&FakeTime::default()));
    let wanted = crate::remote_checks::selections();
    let opened = agent.open("a", &encode_selections(wanted.iter())).expect("a query");
    let query = OpenReply::decode(&opened, 2).expect("a reply").query;
    let collected = agent.collect("a", query, &CollectRequest { number: 1, held: 0 }.encode());
    let collected = collected.expect("a frame");
    let messages = [
        agent.greet("a").expect("a reply"),
        agent.sets("a").expect("a reply"),
        agent.instances("a", &TASKS.to_bytes()).expect("a reply"),
        encode_selections(wanted.iter()),
        opened,
        collected,
    ];
    for message in messages {
        for length in 0..=message.len() {
            crate::remote_checks::remote_message(&message[..length]);
        }
        for bit in 0..message.len() * 8 {
            let mut changed = message.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            crate::remote_checks::remote_message(&changed);
        }
    }
}

#[test]
fn a_set_without_instances_has_one_row() {
    let times = FakeTime::default();
    // The agent's set has several instances, but the consumer receives its description as a set without instances.
    let mut registry = Registry::new("WEB1", times.clock());
    let mut info = CounterSetInfo::new("Several", LARGE, InstanceType::Multiple);
    info.counters.push(CounterInfo::new(1, "Value", CounterType::RAWCOUNT));
    let fill = |rows: &mut Rows| {
        (0..3).for_each(|id| rows.push(&Arc::new(InstanceKey::new("x", id, 0))).set(1, 7));
        Ok(())
    };
    let single = CounterSetInfo { instance_type: InstanceType::Single, ..info.clone() };
    registry
        .register(Box::new(FakeProvider { info: Arc::new(info), fill: Box::new(fill) }))
        .expect("a valid set");
    let network = Network::to(agent(&Arc::new(registry)));
    network.with_state(|state| {
        state.change = Some(Box::new(move |path, body| {
            if path == "/agent/v1/sets" {
                let sets = Sets::decode(body, &mut Vec::new()).expect("sets");
                let set = ListedSet { info: Arc::new(single.clone()), is_published: false };
                *body = Sets { sets: vec![set], ..sets }.encode();
            }
        }));
    });
    let remote = RemoteMachine::new("web1", network.transport());
    let registry = remote.refresh().expect("the agent answers");
    let mut query = Query::open(&registry, None).expect("a query");
    query.add_path(&PathPattern::parse(r"\Several\*").expect("a path"));
    query.collect();
    let set = &query.sets()[0];
    assert_eq!(set.outcome().map_err(|failure| failure.code), Err(ErrorCode::INVALID_DATA));
    assert!(set.rows().instances().is_empty());
}
