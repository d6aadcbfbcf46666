//! Compares the board of logs with the pipeline of `tacho stats`: the statistics are equal for any span of any logs.

#![allow(clippy::unwrap_used, reason = "in a test, a failure is a panic")]

mod board;
mod corpus;
mod fixture;
mod opening;
mod reference;
