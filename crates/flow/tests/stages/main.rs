//! Stages and sinks over samples of the tests.

mod fixture;
mod live_sinks;
mod readahead;
mod segments;
mod select;
mod statistics;
mod union;
mod window;
