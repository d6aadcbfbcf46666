//! The panels of the screen.

use tachograph_counters::path::PathPattern;
use tachograph_monitor::{Panel, Reduced};

use super::Pane;

/// The panels, of which one has the focus. Several panels share the screen, or the focused one fills it.
pub(crate) struct Panes {
    /// Never empty.
    list: Vec<Pane>,
    focus: usize,
    is_zoomed: bool,
}

impl Panes {
    pub(super) fn new(panels: Vec<Panel>) -> Self {
        let mut list: Vec<_> = panels.into_iter().map(Pane::new).collect();
        if list.is_empty() {
            list.push(Pane::new(Panel::default()));
        }
        Self { list, focus: 0, is_zoomed: false }
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Pane> {
        self.list.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn focused(&self) -> &Pane {
        &self.list[self.focus]
    }

    pub(crate) fn focused_mut(&mut self) -> &mut Pane {
        &mut self.list[self.focus]
    }

    /// The index of the focused panel.
    pub(crate) fn focus(&self) -> usize {
        self.focus
    }

    /// Whether several panels share the screen.
    pub(crate) fn is_grid(&self) -> bool {
        self.list.len() > 1 && !self.is_zoomed
    }

    /// Whether the focused one of several panels fills the screen.
    pub(crate) fn is_zoomed(&self) -> bool {
        self.list.len() > 1 && self.is_zoomed
    }

    pub(super) fn set_zoomed(&mut self, is_zoomed: bool) {
        self.is_zoomed = is_zoomed;
    }

    pub(super) fn set_focus(&mut self, index: usize) {
        self.focus = index.min(self.list.len() - 1);
    }

    pub(super) fn move_focus(&mut self, by: isize) {
        self.focus = (self.focus as isize + by).rem_euclid(self.list.len() as isize) as usize;
    }

    /// Adds a panel after the focused one, and moves the focus to it.
    pub(super) fn split(&mut self, panel: Panel) {
        self.focus += 1;
        self.list.insert(self.focus, Pane::new(panel));
        self.is_zoomed = false;
    }

    /// Removes the focused panel; the last one is only emptied.
    pub(super) fn remove(&mut self) {
        if self.list.len() == 1 {
            return self.list[0].clear();
        }
        self.list.remove(self.focus);
        self.set_focus(self.focus);
    }

    /// Replaces all panels.
    pub(super) fn replace(&mut self, panels: Vec<Panel>) {
        *self = Self::new(panels);
    }

    /// Updates all legends.
    pub(super) fn update(&mut self, reduced: &Reduced, keep_absent: bool) {
        self.list.iter_mut().for_each(|pane| pane.update(reduced, keep_absent));
    }

    /// The paths of all panels, each once.
    pub(super) fn paths(&self) -> Vec<PathPattern> {
        let mut paths: Vec<PathPattern> = Vec::new();
        for path in self.list.iter().flat_map(|pane| pane.legend.paths()) {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths
    }
}
