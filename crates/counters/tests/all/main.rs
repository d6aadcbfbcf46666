//! Tests of the model and its maths.

mod deviation;
mod laws;
mod paths;
mod runs;
mod statistics;
mod times;
mod vectors;
