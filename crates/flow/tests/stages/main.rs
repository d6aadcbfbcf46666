//! The stages and sinks, over samples made in the test.

mod live_sinks;
mod made;
mod readahead;
mod segments;
mod select;
mod statistics;
mod union;
mod window;
