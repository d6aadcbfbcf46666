//! The board of logs beside the pipeline of `tacho stats`: the same figures for any span, whatever the logs are like.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod board;
mod corpus;
mod made;
mod opening;
mod reference;
