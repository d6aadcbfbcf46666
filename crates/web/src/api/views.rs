//! Views: ready-made views, those in the folder of views, the one that the page opens with, and view files that clients send.

use std::path::{Path, PathBuf};

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Serialize;
use tachograph_counters::civil::{FileTime, TimeArgument};
use tachograph_counters::path::PathPattern;
use tachograph_counters::set::Counter;
use tachograph_counters::time_zone::TimeZone;
use tachograph_monitor::{
    Axis, AxisScale, Catalogue as _, Chosen, ColumnContent, LogCatalogue, MachineCatalogue, Panel, SetEntry,
    TableModel, View, ViewKind,
};

use super::Web;
use super::page::{check_type, read_body};
use super::sources::LIVE;
use crate::hub::Hub;
use crate::parameters::{Parameters, PathPart};
use crate::response::{ApiError, json};
use crate::series::rfc3339;

mod fitted;

use fitted::{FittedAnnotation, FittedColumn, FittedCounter, FittedPanel, FittedTable, FittedView};

/// The view with which the page opens.
const START: &str = "start";
/// The counters of Performance Monitor on one chart.
const CLASSIC: &str = "classic";
const OVERVIEW: &str = "overview";
/// The view that is added to the overview of a log: sets of databases, web servers and runtimes.
const APPLICATIONS: &str = "applications";
/// The overview of a log has panels for sets that no other panel shows, up to this number of panels.
const MAX_PANELS: usize = 6;
/// The maximum number of counters of a panel that is created for a set without instances.
const MAX_COUNTERS: usize = 4;

/// The maximum number of files in the folder of views.
const MAX_SHARED: usize = 1000;
/// Sets with too many instances for a readable chart; they are shown as tables.
const TABLES: [&str; 4] = ["Process", "Process V2", "Thread", "Cgroup"];

#[derive(Serialize)]
struct ViewList {
    views: Vec<ListedView>,
}

#[derive(Serialize)]
struct ListedView {
    name: String,
    title: String,
}

pub(super) async fn list(State(web): State<Web>, RawQuery(query): RawQuery) -> Result<Response, ApiError> {
    Parameters::parse(query.as_deref(), &[])?;
    web.clone().live_workers.run(move |_| Ok(json(&listed(web.views.as_deref())))).await
}

fn listed(folder: Option<&Path>) -> ViewList {
    let title =
        |name: &str| View::ready_made(name).and_then(|view| view.title).unwrap_or_else(|| name.to_owned());
    let views = View::ready_made_names().map(|name| ListedView { name: name.to_owned(), title: title(name) });
    let classic = ListedView { name: CLASSIC.to_owned(), title: "Performance Monitor".to_owned() };
    let shared = shared_files(folder).into_iter().map(|(name, file)| {
        let title = View::open(&file).ok().and_then(|view| view.title);
        ListedView { title: title.unwrap_or_else(|| name.clone()), name }
    });
    ViewList { views: views.chain([classic]).chain(shared).collect() }
}

/// The view files of a folder, with the names that clients see, sorted.
fn shared_files(folder: Option<&Path>) -> Vec<(String, PathBuf)> {
    let entries = folder.and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let named = entries.filter_map(|entry| {
        let file = entry.path();
        // Symbolic links are not followed, because they can lead out of the folder.
        let is_view = entry.file_type().is_ok_and(|kind| kind.is_file()) && file.extension()? == "toml";
        let name = file.file_name()?.to_str()?.to_owned();
        is_view.then_some((name, file))
    });
    let mut files: Vec<_> = named.take(MAX_SHARED).collect();
    files.sort();
    files
}

fn shared_view(folder: Option<&Path>, name: &str) -> Result<View, ApiError> {
    let files = shared_files(folder);
    let (name, file) = files
        .iter()
        .find(|(known, _)| known == name)
        .ok_or_else(|| ApiError::not_found("no such view; /api/views lists the views"))?;
    View::open(file).map_err(|error| {
        let message = error.to_string().replace(&file.display().to_string(), name);
        ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, message)
    })
}

pub(super) async fn show(
    State(web): State<Web>,
    PathPart(name): PathPart,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let parameters = Parameters::parse(query.as_deref(), &["source"])?;
    let target = Target::find(&web, parameters.one("source")?.unwrap_or(LIVE))?;
    web.clone()
        .live_workers
        .run(move |_| {
            let target = target.with_sets(&web.hub);
            let view = match name.as_str() {
                START => return Ok(json(&start(web.view.as_ref(), &target))),
                CLASSIC => classic(&target.first_paths()),
                OVERVIEW => return Ok(json(&overview(&target))),
                name => match View::ready_made(name) {
                    Some(view) => view,
                    None => shared_view(web.views.as_deref(), name)?,
                },
            };
            Ok(json(&target.fit(name, view)))
        })
        .await
}

/// Fits a view file, which is the body, to a source.
pub(super) async fn fit(
    State(web): State<Web>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let parameters = Parameters::parse(query.as_deref(), &["source"])?;
    check_type(&headers, "application/toml")?;
    let target = Target::find(&web, parameters.one("source")?.unwrap_or(LIVE))?;
    let text = read_body(body).await?;
    let text = str::from_utf8(&text).map_err(|_| ApiError::bad_request("the view file is not UTF-8"))?;
    let view = View::parse(text).map_err(|error| ApiError::bad_request(format!("the view file, {error}")))?;
    web.clone()
        .live_workers
        .run(move |_| Ok(json(&target.with_sets(&web.hub).fit(String::new(), view))))
        .await
}

/// The counters on one chart, as Performance Monitor shows them.
fn classic(paths: &[String]) -> View {
    let parsed = paths.iter().filter_map(|path| PathPattern::parse(path).ok());
    View {
        title: Some("Performance Monitor".to_owned()),
        ..View::of_counters(parsed.map(Chosen::new).collect())
    }
}

/// The view of the command line, if the source has some of its counters; otherwise the overview.
fn start(chosen: Option<&View>, target: &FittingTarget<'_>) -> FittedView {
    if let Some(view) = chosen
        && (target.has_any(view) || target.log.is_none())
    {
        return target.fit(START.to_owned(), view.clone());
    }
    overview(target)
}

fn overview(target: &FittingTarget<'_>) -> FittedView {
    let mut view = View::ready_made(OVERVIEW).unwrap_or_default();
    if target.log.is_none() {
        return target.fit(OVERVIEW.to_owned(), view);
    }
    // Removes missing counters from the optional views, so that `fit` does not report them.
    view.resolve(|path| target.has(path));
    let mut applications = View::ready_made(APPLICATIONS).unwrap_or_default();
    applications.resolve(|path| target.has(path));
    view.panels.append(&mut applications.panels);
    let known = view.panels.len();
    view.add_other_sets(&target.sets, MAX_PANELS);
    for panel in &mut view.panels[known..] {
        simplify(panel, &target.sets);
    }
    target.fit(OVERVIEW.to_owned(), view)
}

/// Reduces a panel of all counters of a set to a readable one: processes as a table, and otherwise counters of one unit.
fn simplify(panel: &mut Panel, sets: &[SetEntry]) {
    let Some(set) = sets.iter().find(|set| Some(&*set.name) == panel.title.as_deref()) else { return };
    if TABLES.contains(&&*set.name) {
        panel.kind = ViewKind::Table;
        panel.table.set = Some(set.name.to_string());
        panel.counters.clear();
        return;
    }
    let unit_of = |chosen: &Chosen| {
        let entry = set.counters.iter().find(|entry| chosen.path.matches_counter(&entry.counter.name));
        entry.map(|entry| entry.counter.unit().into_owned())
    };
    let first = panel.counters.first().and_then(unit_of);
    panel.counters.retain(|chosen| unit_of(chosen) == first);
    panel.counters.truncate(if set.has_instances { 1 } else { MAX_COUNTERS });
    panel.axis = Axis { scale: AxisScale::Linear, ..Axis::default() };
}

/// The counters of the first line: the capacities of the panels, which are not drawn as lines, with the titles of the panels, and
/// those of the view.
fn headline_of(view: &View) -> Vec<FittedCounter> {
    let capacities = view.panels.iter().flat_map(|panel| {
        let label = panel.title.as_ref().map(|title| title.to_lowercase());
        let capacities = panel.counters.iter().filter(|chosen| chosen.is_capacity);
        capacities.map(move |chosen| FittedCounter { label: label.clone(), ..FittedCounter::new(chosen) })
    });
    capacities.chain(view.headline.iter().map(FittedCounter::new)).collect()
}

/// The source to which a view is fitted: a log, or `None` for this machine.
struct Target(Option<TargetLog>);

/// The facts about a log that fitting needs.
struct TargetLog {
    catalogue: std::sync::Arc<LogCatalogue>,
    zone: TimeZone,
    default_paths: Vec<String>,
}

/// A [`Target`] with its counter sets.
struct FittingTarget<'a> {
    hub: &'a Hub,
    log: Option<TargetLog>,
    sets: Vec<SetEntry>,
}

impl Target {
    fn find(web: &Web, id: &str) -> Result<Self, ApiError> {
        if id == LIVE {
            return Ok(Self(None));
        }
        let facts = web.sources.get(id)?.facts()?;
        Ok(Self(Some(TargetLog {
            catalogue: facts.catalogue.clone(),
            zone: facts.zone.clone(),
            default_paths: facts.default_paths.clone(),
        })))
    }

    /// Adds the counter sets. Those of this machine may have to be read from the system.
    fn with_sets(self, hub: &Hub) -> FittingTarget<'_> {
        let sets = match &self.0 {
            Some(log) => log.catalogue.sets(),
            None => MachineCatalogue(hub.any_registry()).sets(),
        };
        FittingTarget { hub, log: self.0, sets }
    }
}

impl FittingTarget<'_> {
    fn has(&self, path: &PathPattern) -> bool {
        match &self.log {
            Some(log) => log.catalogue.has(path),
            None => self.sets.iter().any(|set| {
                path.matches_set(&set.name, set.has_instances)
                    && set.counters.iter().any(|entry| path.matches_counter(&entry.counter.name))
            }),
        }
    }

    fn has_any(&self, view: &View) -> bool {
        let has = |chosen: &Chosen| {
            self.has(&chosen.path) || chosen.alternatives.iter().any(|other| self.has(&other.path))
        };
        view.counters().any(has) || view.has_table()
    }

    fn first_paths(&self) -> Vec<String> {
        match &self.log {
            Some(log) => log.default_paths.clone(),
            None => self.hub.options().default_paths.clone(),
        }
    }

    /// Fits a view to the source: replaces counters that the source lacks by alternatives, and resolves table columns and local
    /// times.
    fn fit(&self, name: String, mut view: View) -> FittedView {
        if self.log.is_none() {
            // Paths may name this machine.
            let of_panels = view.panels.iter_mut().flat_map(|panel| &mut panel.counters);
            for chosen in view.headline.iter_mut().chain(of_panels) {
                let resolve = |path: &PathPattern| self.hub.resolve_paths(std::slice::from_ref(path)).pop();
                chosen.path = resolve(&chosen.path).unwrap_or_else(|| chosen.path.clone());
            }
        }
        let missing = view.resolve(|path| self.has(path));
        let utc = TimeZone::utc();
        let zone = self.log.as_ref().map_or(&utc, |log| &log.zone);
        let [begin, end] = [view.begin, view.end].map(|end| end.map(|time| utc_of(time, zone)));
        FittedView {
            name,
            interval: view.interval.map(|interval| interval.as_secs_f64()),
            points: view.points,
            begin: begin.map(rfc3339),
            end: end.map(rfc3339),
            headline: headline_of(&view),
            // The page has no panels that depend on the size of a terminal.
            panels: view
                .panels
                .iter()
                .filter(|panel| panel.min_size.is_none())
                .map(|panel| self.panel(panel))
                .collect(),
            title: view.title,
            group_by: view.sums_names.then_some("name"),
            annotations: view
                .annotations
                .into_iter()
                .map(|one| FittedAnnotation {
                    begin: rfc3339(utc_of(one.begin, zone)),
                    end: one.end.map(|end| rfc3339(utc_of(end, zone))),
                    text: one.text,
                })
                .collect(),
            missing,
        }
    }

    fn panel(&self, panel: &Panel) -> FittedPanel {
        // A capacity is not drawn as a line.
        let drawn = panel.counters.iter().filter(|chosen| !chosen.is_capacity);
        let counters = drawn.map(FittedCounter::new);
        FittedPanel {
            title: panel.title.clone(),
            kind: panel.kind.name(),
            unit: panel.unit.clone(),
            axis: panel.axis.scale.name(),
            min: panel.axis.min,
            max: panel.axis.max,
            limits: panel.limits.clone(),
            bands: panel.bands.clone(),
            top: panel.max_lines,
            width: panel.width,
            height: panel.height,
            counters: counters.collect(),
            table: self.table(panel),
        }
    }

    /// The set with descriptions. Those of this machine are used for logs, which have none.
    fn described(&self, set: &SetEntry) -> Option<SetEntry> {
        if self.log.is_none() {
            return Some(set.clone());
        }
        let sets = MachineCatalogue(self.hub.any_registry()).sets();
        sets.into_iter().find(|known| known.name.eq_ignore_ascii_case(&set.name))
    }

    /// The table of a panel, if the panel is a table and the source has its set.
    fn table(&self, panel: &Panel) -> Option<FittedTable> {
        if panel.kind != ViewKind::Table {
            return None;
        }
        let is_selected = |set: &&SetEntry| {
            panel.counters.iter().any(|chosen| set.has_instances && chosen.path.matches_set(&set.name, true))
        };
        let set = match &panel.table.set {
            Some(name) => self.sets.iter().find(|set| set.name.eq_ignore_ascii_case(name)),
            None => self.sets.iter().find(is_selected),
        }?;
        let model = TableModel::with_settings(set, &panel.table);
        let layout = model.layout();
        let columns = layout
            .columns
            .iter()
            .filter(|column| !matches!(column.content, ColumnContent::Machine | ColumnContent::Presence));
        let described = self.described(set);
        let help_of = |counter: &Counter| {
            let known = described.iter().flat_map(|set| &set.counters);
            let mut known = known.filter(|known| known.counter.name.eq_ignore_ascii_case(&counter.name));
            known.next().map(|known| known.help.to_string()).unwrap_or_default()
        };
        let columns = columns.map(|column| FittedColumn {
            title: column.title.to_string(),
            counter: column.counter().map(|counter| counter.name.to_string()),
            help: column.counter().map(help_of).unwrap_or_default(),
            property: matches!(column.content, ColumnContent::Property(_))
                .then(|| column.setting().to_owned()),
            is_last: column.figure() == tachograph_monitor::Figure::Last,
        });
        let order = model.order();
        Some(FittedTable {
            set: set.name.to_string(),
            machine: model.machine().map(str::to_owned),
            columns: columns.collect(),
            sort: layout.columns.get(order.column).map(|column| column.title.to_string()).unwrap_or_default(),
            is_descending: order.is_descending,
            top: model.max_rows(),
            filter: model.filter().to_owned(),
            tree: model.tree().name(),
            process: counter_of(set, &["ID Process", "Process ID"]),
            parent: counter_of(set, &["Creating Process ID"]),
        })
    }
}

/// The name of the first of these counters that a set has.
fn counter_of(set: &SetEntry, english: &[&str]) -> Option<String> {
    let named = |name: &str| {
        let mut counters = set.counters.iter().map(|entry| &entry.counter);
        counters.find(|it| it.english_name.as_deref().unwrap_or(&it.name).eq_ignore_ascii_case(name))
    };
    english.iter().find_map(|name| named(name)).map(|counter| counter.name.to_string())
}

fn utc_of(time: TimeArgument, zone: &TimeZone) -> FileTime {
    match time {
        TimeArgument::Utc(time) => time,
        TimeArgument::Local(local) => zone.local_to_moment(local, None).utc,
    }
}
