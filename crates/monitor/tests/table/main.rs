//! Tables: rows, order, trees, and figures that equal those of `tacho stats`.

mod figures;
mod order;
mod processes;

#[path = "../logs/fixture.rs"]
#[allow(dead_code, reason = "logs that several tests share")]
mod fixture;
