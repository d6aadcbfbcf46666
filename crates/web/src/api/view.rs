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

impl<'a> OpeningView<'a> {
    /// A saved view, with its paths resolved for this machine.
    pub(super) fn of(view: &'a View, hub: &Hub) -> Self {
        let paths: Vec<_> = view.counters.iter().map(|chosen| chosen.path.clone()).collect();
        let counters = view.counters.iter().zip(hub.resolve_paths(&paths)).map(|(chosen, path)| {
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
        let kind = match view.kind {
            // The page has no tables.
            ViewKind::Table => ViewKind::Line,
            kind => kind,
        };
        Self { view: kind.name(), points: view.points, counters: counters.collect() }
    }
}
