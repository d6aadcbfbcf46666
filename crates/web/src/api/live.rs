//! Values of now: queries, streams, raw data blocks.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::Extensions;
use axum::response::Response;
use serde::Serialize;
use tachograph_flow::sinks::LiveValues;
use tachograph_perflib::Query;

use super::Web;
use crate::answer::{Refusal, json, typed};
use crate::connection::Overrun;
use crate::download::EventBody;
use crate::hub::Layout;
use crate::parameters::Parameters;
use crate::series::{SeriesName, unix_seconds};

/// Most collections that make one event of a stream.
const MAX_EVERY: usize = 1000;

#[derive(Serialize)]
struct Values<'a> {
    time: f64,
    series: Vec<Value<'a>>,
}

#[derive(Serialize)]
struct Value<'a> {
    #[serde(flatten)]
    name: SeriesName<'a>,
    value: Option<f64>,
}

pub(super) async fn query(State(web): State<Web>, RawQuery(query): RawQuery) -> Result<Response, Refusal> {
    let paths = Parameters::parse(query.as_deref(), &["path"])?.some_paths()?;
    let looking = web.clone();
    let paths = web.live.run(move |_| Ok(looking.hub.paths_here(&paths))).await?;
    web.hub.looked_up(web.hub.lease(&paths)?).await?;
    let missing = web.hub.live().missing(&paths);
    if missing.len() == paths.len() {
        let lines: Vec<_> = missing.iter().map(|(path, why)| format!("'{path}': {why}")).collect();
        return Err(Refusal::unknown(lines.join("; ")));
    }
    let live = web.hub.collected(&paths).await?;
    web.live
        .run(move |_| {
            let mut values = LiveValues::default();
            let last = live.samples.len().saturating_sub(2);
            live.samples[last..].iter().for_each(|sample| values.take(sample));
            let layout = Layout::of(&values, &paths);
            let named = layout
                .cells
                .iter()
                .zip(layout.values(&values))
                .map(|(cell, value)| Value { name: cell.name(), value });
            let time = live.samples.last().map_or(0.0, |sample| unix_seconds(sample.at.utc));
            Ok(json(&Values { time, series: named.collect() }))
        })
        .await
}

pub(super) async fn stream(
    State(web): State<Web>,
    RawQuery(query): RawQuery,
    extensions: Extensions,
) -> Result<Response, Refusal> {
    let parameters = Parameters::parse(query.as_deref(), &["path", "every"])?;
    let paths = parameters.some_paths()?;
    // What is averaged must be kept.
    let most = web.hub.options().points.clamp(1, MAX_EVERY);
    let every = parameters.count("every", 1, most)?;
    let looking = web.clone();
    let paths = web.live.run(move |_| Ok(looking.hub.paths_here(&paths))).await?;
    let overrun = extensions.get::<Overrun>().map(|overrun| overrun.0.clone()).unwrap_or_default();
    let reader = web.hub.subscribe(paths, every, overrun)?;
    Ok(typed("text/event-stream", Body::new(EventBody::new(reader))))
}

pub(super) async fn block(State(web): State<Web>, RawQuery(query): RawQuery) -> Result<Response, Refusal> {
    let paths = Parameters::parse(query.as_deref(), &["path"])?.some_paths()?;
    let looking = web.clone();
    let collect = web.live.run(move |_| {
        let registry = looking.hub.registry();
        let failed = |code: tachograph_perflib::ErrorCode| Refusal::conflict(code.to_string());
        let mut query = Query::open(&registry, None).map_err(failed)?;
        let matches = query.add_paths(&looking.hub.paths_here(&paths));
        if matches.iter().all(Vec::is_empty) {
            return Err(Refusal::unknown("this machine has no such counter"));
        }
        query.collect();
        let mut block = Vec::new();
        query.data(&mut block).map_err(failed)?;
        Ok(typed("application/octet-stream", block))
    });
    match tokio::time::timeout(Duration::from_secs(30), collect).await {
        Ok(answer) => answer,
        Err(_) => Err(Refusal::busy("this machine's counters are not collected in time; try again")),
    }
}
