//! Whole screens as text. `TACHO_UPDATE=1` rewrites the expected screens in `shown/`; review them before committing.

mod arithmetic;
mod behaviour;
mod boards;
mod frozen;
mod groups;
mod limits;
mod machines;
mod marks;
mod overview;
mod panels;
mod pictures;
mod range;
mod tables;
mod test_screen;

#[path = "../../../flow/tests/live/fixture.rs"]
#[allow(dead_code, reason = "a machine that several tests share")]
mod machine;

#[path = "../../../monitor/tests/logs/fixture.rs"]
#[allow(dead_code, reason = "logs that several tests share")]
mod logs;
