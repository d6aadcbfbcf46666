//! The protocol between an agent and consumers, without sockets.

mod closing;
mod fixture;
mod invalid_messages;
mod limits;
mod restarts;
mod sent_ahead;
mod unresponsive_machine;
mod values;
mod vectors;

#[path = "../../../perflib/tests/all/blocks_vectors.rs"]
mod blocks_vectors;
#[path = "../../../perflib/tests/all/reference_cases.rs"]
mod reference_cases;

#[path = "../../../../fuzz/remote_checks.rs"]
mod remote_checks;
