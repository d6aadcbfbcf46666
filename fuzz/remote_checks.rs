//! Checks that the decoders of the agents' protocol must pass for any bytes. They also run as a plain test
//! (crates/remote/tests/protocol/invalid_messages.rs).

#![allow(unreachable_pub, reason = "this module is part of a fuzz target and of a test")]

use tachograph_perflib::{Guid, InstanceFilter, SetSelection};
use tachograph_remote::difference;
use tachograph_remote::frame::Frame;
use tachograph_remote::message::{
    CollectReply, CollectRequest, Greeting, InstanceReply, OpenReply, Sets, decode_selections,
    encode_selections,
};

/// The selections of the frame in [`remote_message`].
pub fn selections() -> [SetSelection; 2] {
    [(0xD15C_u128, vec![1, 2, 3, 4, 5]), (0x7A5C, vec![7])].map(|(set, counter_ids)| SetSelection {
        set: Guid::from_u128(set),
        counter_ids,
        instances: vec![InstanceFilter::all()],
    })
}

/// Input: bytes that may be any message, a frame, or differences of a frame.
pub fn remote_message(data: &[u8]) {
    if let Ok(greeting) = Greeting::decode(data) {
        assert_eq!(Greeting::decode(&greeting.encode()), Ok(greeting));
    }
    if let Ok(selections) = decode_selections(data) {
        assert_eq!(decode_selections(&encode_selections(selections.iter())), Ok(selections));
    }
    if let Ok(request) = CollectRequest::decode(data) {
        assert_eq!(CollectRequest::decode(&request.encode()), Ok(request));
    }
    if let Ok(reply) = OpenReply::decode(data, 2) {
        assert_eq!(OpenReply::decode(&reply.encode(), 2), Ok(reply));
    }
    if let Ok(reply) = InstanceReply::decode(data) {
        assert_eq!(InstanceReply::decode(&reply.encode()), Ok(reply));
    }
    let mut problems = Vec::new();
    if let Ok(sets) = Sets::decode(data, &mut problems)
        && problems.is_empty()
    {
        assert_eq!(Sets::decode(&sets.encode(), &mut problems), Ok(sets));
    }
    let mut frame = Vec::new();
    if let Ok(reply) = CollectReply::decode(data) {
        // A fuzzer finds large frames too easily.
        let length = reply.frame_bytes.min(1 << 16) & !7;
        if difference::decode(&[], length, reply.differences, &mut frame).is_ok() {
            let mut encoded = Vec::new();
            difference::encode(&[], &frame, &mut encoded);
            let mut decoded = Vec::new();
            assert_eq!(difference::decode(&[], length, &encoded, &mut decoded), Ok(()));
            assert_eq!(decoded, frame);
        }
    }
    let selections = selections();
    let selections: Vec<_> = selections.iter().collect();
    for bytes in [data.to_vec(), frame] {
        if let Ok(frame) = Frame::new(bytes, &selections) {
            assert!(frame.timestamps().ticks >= 0);
        }
    }
}
