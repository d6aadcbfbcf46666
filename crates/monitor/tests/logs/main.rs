//! Compares the board of logs with the pipeline of `tacho stats`: equal figures for any span of any logs.

#![allow(clippy::unwrap_used, reason = "in a test, a failure is a panic")]

mod board;
mod corpus;
mod fixture;
mod opening;
mod reference;
