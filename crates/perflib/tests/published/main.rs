//! Published counter sets in a registry: instances, trust, requests, processes that exit.

mod aggregates;
mod concurrent_requests;
mod fixtures;
mod hostile;
mod processes;
mod requests;
mod seeds;
mod sets;
mod trust;
