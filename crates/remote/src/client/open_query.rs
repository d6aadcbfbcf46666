//! A query that is open at an agent.

use std::sync::Arc;

use tachograph_perflib::{ErrorCode, Failure, SetSelection};

use crate::frame::Frame;
use crate::message::OpenReply;

/// For each selection of a query, the index of its result or the agent's error.
pub(super) type Results = Arc<[Result<usize, Failure>]>;

/// A query of the agent for certain selections.
#[derive(Debug)]
pub(super) struct OpenQuery {
    /// The path of the query, and the path of its collections.
    pub(super) path: String,
    pub(super) collect_path: String,
    /// The id of the agent that opened it.
    pub(super) agent_id: u64,
    /// The agent's generation of the counter sets when it opened the query.
    generation: u64,
    selections: Vec<Arc<SetSelection>>,
    pub(super) results: Results,
    /// The number and the frame of the last collection, which is the base for the next one.
    pub(super) held: Option<(u64, Arc<Frame>)>,
}

impl OpenQuery {
    /// The query that an agent has opened. `reply` has a status for each selection.
    pub(super) fn new(selections: &[Arc<SetSelection>], reply: &OpenReply) -> Self {
        let mut next_index = 0;
        let results = reply.statuses.iter().map(|&status| match status {
            0 => {
                next_index += 1;
                Ok(next_index - 1)
            }
            code => Err(Failure::new(ErrorCode(code), ErrorCode(code).to_string())),
        });
        let path = format!("/agent/v1/queries/{:016x}", reply.query);
        Self {
            results: results.collect(),
            collect_path: format!("{path}/collect"),
            path,
            agent_id: reply.agent_id,
            generation: reply.generation,
            selections: selections.to_vec(),
            held: None,
        }
    }

    /// Whether these are the selections of the query.
    pub(super) fn has_selections(&self, selections: &[Arc<SetSelection>]) -> bool {
        self.selections.len() == selections.len()
            && self.selections.iter().zip(selections).all(|(one, other)| Arc::ptr_eq(one, other))
    }

    /// Whether the agent refused a selection when it opened the query, and may accept it now because its counter sets have
    /// changed. False after a restart of the agent, because a restarted agent does not know the query at all. `version` is the
    /// agent's current id and generation.
    pub(super) fn is_outdated(&self, version: Option<(u64, u64)>) -> bool {
        let has_changed = version
            .is_some_and(|(agent_id, generation)| agent_id == self.agent_id && generation != self.generation);
        has_changed && self.results.iter().any(Result::is_err)
    }

    /// The selections that the agent has accepted, in the order of the results.
    pub(super) fn accepted_selections(&self) -> impl Iterator<Item = &SetSelection> + Clone {
        let accepted_selections =
            self.selections.iter().zip(&*self.results).filter(|(_, result)| result.is_ok());
        accepted_selections.map(|(selection, _)| &**selection)
    }

    /// The number of the collection whose frame is kept; 0 without one.
    pub(super) fn held_number(&self) -> u64 {
        self.held.as_ref().map_or(0, |(number, _)| *number)
    }
}
