//! Whole screens as text. `TACHO_UPDATE=1` writes what is shown now into `shown/`, to be looked at before it is kept.

mod arithmetic;
mod behaviour;
mod boards;
mod frozen;
mod made;
mod pictures;
mod range;

#[path = "../../../flow/tests/live/made.rs"]
#[allow(dead_code, reason = "a machine that several tests share")]
mod machine;

#[path = "../../../monitor/tests/logs/made.rs"]
#[allow(dead_code, reason = "logs that several tests share")]
mod logs;
