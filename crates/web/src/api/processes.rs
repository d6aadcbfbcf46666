//! Properties of this machine's processes that are not counters: user, state, command line, control group.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use serde::Serialize;
use tachograph_counters::IgnorePoison as _;

use super::Web;
use crate::parameters::Parameters;
use crate::response::{ApiError, json};

/// Maximum number of processes in a request.
const MAX_PROCESSES: usize = 1000;

#[derive(Serialize)]
struct Processes {
    processes: Vec<Process>,
}

#[derive(Serialize)]
struct Process {
    id: u32,
    user: Option<String>,
    state: Option<char>,
    command: Option<String>,
    cgroup: Option<String>,
}

/// The properties of the processes with these ids; those that have ended are omitted.
pub(super) async fn show(State(web): State<Web>, RawQuery(query): RawQuery) -> Result<Response, ApiError> {
    let ids = Parameters::parse(query.as_deref(), &["id"])?.numbers("id", MAX_PROCESSES)?;
    let Some(properties) = web.processes.clone() else {
        return Err(ApiError::not_found("this server reads no properties of processes"));
    };
    web.clone()
        .live_workers
        .run(move |_| {
            let mut reader = properties.lock().ignore_poison();
            let read = |id: &u32| {
                let read = reader.process(*id)?;
                let text = |text: std::sync::Arc<str>| text.to_string();
                Some(Process {
                    id: *id,
                    user: read.user.map(text),
                    state: read.state,
                    command: read.command.map(text),
                    cgroup: read.cgroup.map(text),
                })
            };
            Ok(json(&Processes { processes: ids.iter().filter_map(read).collect() }))
        })
        .await
}
