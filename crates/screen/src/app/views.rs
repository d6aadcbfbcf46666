//! The menu of ready-made views.

use ratatui::crossterm::event::{KeyCode, KeyEvent};
use tachograph_counters::path::PathPattern;
use tachograph_monitor::{SetEntry, View};

use super::{App, Overlay, Request};

/// The keys of the first views of the menu.
const DIGITS: [char; 10] = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '0'];

/// The entries of the menu: the key, the name and the title of each ready-made view.
pub(crate) fn menu() -> impl Iterator<Item = (char, &'static str, String)> {
    let keys = DIGITS.into_iter().chain(std::iter::repeat(' '));
    View::ready_made_names().zip(keys).map(|(name, key)| {
        let title = View::ready_made(name).and_then(|view| view.title);
        (key, name, title.unwrap_or_else(|| name.to_owned()))
    })
}

/// Whether one of the sets has a counter that a path selects.
pub(super) fn has_counter(sets: &[SetEntry], path: &PathPattern) -> bool {
    let mut matching = sets.iter().filter(|set| path.matches_set(&set.name, set.has_instances));
    matching.any(|set| set.counters.iter().any(|entry| path.matches_counter(&entry.counter.name)))
}

impl App {
    pub(super) fn open_views(&mut self, requests: &mut Vec<Request>) {
        let now = self.title.as_deref();
        let selected = menu().position(|(.., title)| Some(title.as_str()) == now).unwrap_or_default();
        self.overlay = Overlay::Views(selected);
        if self.sets.is_none() {
            requests.push(Request::Sets);
        }
    }

    /// Whether the machine or log has any counter of a ready-made view; `None` if its counters are not known yet.
    pub(crate) fn has_view(&self, name: &str) -> Option<bool> {
        let sets = self.sets.as_ref()?;
        let mut view = View::ready_made(name)?;
        view.resolve(|path| has_counter(sets, path));
        Some(!view.panels.is_empty())
    }

    pub(super) fn views_key(&mut self, key: &KeyEvent, requests: &mut Vec<Request>) {
        let Overlay::Views(selected) = &mut self.overlay else { return };
        let count = menu().count();
        let chosen = match key.code {
            KeyCode::Down | KeyCode::Char('j') => {
                *selected = (*selected + 1) % count.max(1);
                return;
            }
            KeyCode::Up | KeyCode::Char('k') => {
                *selected = (*selected + count.saturating_sub(1)) % count.max(1);
                return;
            }
            // `m` and a digit choose a view, also while the menu is open.
            KeyCode::Char('m') => return,
            KeyCode::Enter => menu().nth(*selected),
            KeyCode::Char(character) => menu().find(|(key, ..)| *key == character && character != ' '),
            _ => None,
        };
        if let Some((_, name, _)) = chosen
            && self.has_view(name) == Some(false)
        {
            return self.messages.push_response(format!("nothing to show in the view '{name}' here"), false);
        }
        self.overlay = Overlay::None;
        if let Some((_, name, _)) = chosen {
            self.show_ready_made(name, requests);
        }
    }
}
