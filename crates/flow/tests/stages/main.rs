//! Stages and sinks over samples of the tests.

mod fixture;
mod live_sinks;
mod name_sums;
mod periodic;
mod readahead;
mod segments;
mod select;
mod statistics;
mod union;
mod window;
