//! The saved view that the page opens with.

use serde::Serialize;
use tachograph_monitor::scale::Scale;
use tachograph_monitor::{View, ViewKind};

use crate::hub::Hub;

#[derive(Serialize)]
pub(super) struct OpeningView<'a> {
    view: &'static str,
    points: Option<usize>,
    counters: Vec<ViewCounter<'a>>,
}

#[derive(Serialize)]
struct ViewCounter<'a> {
    path: String,
    /// The line style, counted from 1.
    colour: Option<usize>,
    scale: Option<i32>,
    is_shown: bool,
    is_highlighted: bool,
    except: &'a [String],
}

/// The kind of chart: that of the only panel. Several panels are one line chart.
fn kind_of(view: &View) -> &'static str {
    match &view.panels[..] {
        [panel] => match panel.kind {
            ViewKind::Line | ViewKind::Area | ViewKind::Stacked => "line",
            ViewKind::Bars => "histogram",
            ViewKind::Report | ViewKind::Table => "report",
        },
        _ => "line",
    }
}

impl<'a> OpeningView<'a> {
    /// A saved view, with its paths resolved for this machine.
    pub(super) fn new(view: &'a View, hub: &Hub) -> Self {
        let paths: Vec<_> = view.counters().map(|chosen| chosen.path.clone()).collect();
        let counters = view.counters().zip(hub.resolve_paths(&paths)).map(|(chosen, path)| {
            let settings = &chosen.settings;
            ViewCounter {
                path: path.to_string(),
                colour: settings.style.map(|style| style.0 + 1),
                scale: match settings.scale {
                    Scale::Default => None,
                    Scale::Exponent(exponent) => Some(exponent),
                },
                is_shown: settings.is_shown,
                is_highlighted: settings.is_highlighted,
                except: &chosen.except,
            }
        });
        Self { view: kind_of(view), points: view.points, counters: counters.collect() }
    }
}
