//! PDH's functions over a fake machine, over generated logs and, if available, over real ones.

mod collector;
mod corpus;
mod formats;
mod laws;
mod live;
mod logs;
mod machines;
mod made;
mod objects;
mod paths;
mod written;
