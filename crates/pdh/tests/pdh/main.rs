//! PDH's functions with a fake machine, with logs of it and, if available, with logs of Windows.

mod collector;
mod corpus;
mod fake_machine;
mod formats;
mod laws;
mod live;
mod logs;
mod machines;
mod objects;
mod paths;
mod written;
