//! PDH's functions over a made machine, over made logs and, where there are some, over real ones.

mod collector;
mod corpus;
mod formats;
mod laws;
mod live;
mod logs;
mod made;
mod objects;
mod paths;
mod written;
