//! The chosen counters, and how each is shown.

mod chosen;
mod column;
mod item;
mod names;

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_counters::wildcard::{eq_ignore_case, fold_case};

use crate::palette::Style;
use crate::reduced::Reduced;
use crate::scale::Scale;
use crate::series::SeriesInfo;

pub use chosen::{Alternative, Chosen, Settings};
pub use column::{LegendColumn, SortOrder};
pub(crate) use column::{compare_naturally, none_last};
pub use item::{ItemId, LegendItem};
pub use names::are_of_several_machines;

/// A chosen path, with the id by which its items refer to it.
struct Entry {
    id: u64,
    chosen: Chosen,
}

/// The chosen counters and the series that they select at present.
#[derive(Default)]
pub struct Legend {
    entries: Vec<Entry>,
    items: Vec<LegendItem>,
    order: Option<SortOrder>,
    /// Settings that the user had changed on items that disappeared, by case-folded path, in case the items return.
    remembered: HashMap<String, (Style, Settings)>,
    next: u64,
}

/// Maximum number of settings of disappeared items; without it, a monitor that runs for weeks would keep the settings of
/// every ended process.
const MAX_REMEMBERED: usize = 10_000;

impl Legend {
    /// Adds a path. Returns false without effect if the path, or the counter that it selects, is already in the legend.
    pub fn add(&mut self, chosen: Chosen) -> bool {
        let text = chosen.path.to_string();
        let is_same = |entry: &Entry| eq_ignore_case(&entry.chosen.path.to_string(), &text);
        if let Some(entry) = self.entries.iter_mut().find(|entry| is_same(entry)) {
            // Adding a path again restores the counters that were removed from it.
            let had_exceptions = !entry.chosen.except.is_empty();
            entry.chosen.except.clear();
            return had_exceptions;
        }
        if chosen.path.is_literal() {
            for entry in &mut self.entries {
                let before = entry.chosen.except.len();
                entry.chosen.except.retain(|path| !eq_ignore_case(path, &text));
                if entry.chosen.except.len() < before {
                    return true;
                }
            }
            let is_selected =
                |item: &LegendItem| item.info.as_ref().is_some_and(|info| info.is_selected_by(&chosen.path));
            if self.items.iter().any(is_selected) {
                return false;
            }
        }
        let id = self.next_id();
        if chosen.path.is_literal() {
            self.add_item(id, None, &chosen.settings);
        }
        self.entries.push(Entry { id, chosen });
        true
    }

    fn next_id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn add_item(&mut self, entry: u64, info: Option<&Arc<SeriesInfo>>, settings: &Settings) -> usize {
        let remembered = info.and_then(|info| self.remembered.remove(&fold_case(&info.path)));
        let id = ItemId(self.next_id());
        let is_first = !self.items.iter().any(|item| item.entry == entry);
        let chosen = settings.style.filter(|_| is_first);
        let style = remembered.map(|(style, _)| style).or(chosen);
        let style = style.unwrap_or_else(|| Style::next_free(self.items.iter().map(|item| item.style)));
        self.items.push(LegendItem {
            id,
            entry,
            info: info.cloned(),
            style,
            settings: remembered.map_or(*settings, |(_, settings)| settings),
            is_changed: remembered.is_some(),
            row: None,
        });
        self.items.len() - 1
    }

    /// The chosen paths in order. [`update`](Self::update) needs the series that a [`Board`](crate::Board) reduces for them.
    pub fn paths(&self) -> Vec<PathPattern> {
        self.entries.iter().map(|entry| entry.chosen.path.clone()).collect()
    }

    /// Updates the items from the reduced series of the [`paths`](Self::paths): new instances become items.
    ///
    /// Items of paths with wildcards are removed if they are absent, unless `keep_absent`.
    pub fn update(&mut self, reduced: &Reduced, keep_absent: bool) {
        self.items.iter_mut().for_each(|item| item.row = None);
        let mut known: HashMap<_, usize> = HashMap::with_capacity(self.items.len());
        for (index, item) in self.items.iter().enumerate() {
            if let Some(info) = &item.info {
                known.insert(info.id, index);
            }
        }
        let mut new = Vec::new();
        for (row, series) in reduced.series.iter().enumerate() {
            let info = &series.info;
            match known.get(&info.id).copied().or_else(|| self.item_without_series(info)) {
                Some(index) => self.assign(index, row, info),
                None => new.push((row, info)),
            }
        }
        // Removed first, so that new items can use their colours.
        if !keep_absent {
            self.remove_absent();
        }
        for (row, info) in new {
            let Some(entry) = self.entries.iter().find(|entry| entry.chosen.selects(info)) else { continue };
            let (id, settings) = (entry.id, entry.chosen.settings);
            let index = self.add_item(id, Some(info), &settings);
            self.assign(index, row, info);
        }
    }

    fn assign(&mut self, index: usize, row: usize, info: &Arc<SeriesInfo>) {
        let item = &mut self.items[index];
        item.row = Some(row);
        if item.info.as_ref().is_none_or(|known| !Arc::ptr_eq(known, info)) {
            item.info = Some(Arc::clone(info));
        }
    }

    /// The item that a series with a new id belongs to: an item whose earlier series had the same path, or an item of a
    /// literal path that has had no series yet.
    fn item_without_series(&self, info: &Arc<SeriesInfo>) -> Option<usize> {
        let entry = self.entries.iter().find(|entry| entry.chosen.selects(info))?;
        let matches = |item: &LegendItem| {
            item.row.is_none()
                && item.entry == entry.id
                && match &item.info {
                    Some(known) => eq_ignore_case(&known.path, &info.path),
                    None => entry.chosen.path.is_literal(),
                }
        };
        self.items.iter().position(matches)
    }

    fn remove_absent(&mut self) {
        let literal: Vec<_> = self
            .entries
            .iter()
            .filter(|entry| entry.chosen.path.is_literal())
            .map(|entry| entry.id)
            .collect();
        let remembered = &mut self.remembered;
        self.items.retain(|item| {
            let stays = item.row.is_some() || literal.contains(&item.entry);
            if !stays
                && item.is_changed
                && remembered.len() < MAX_REMEMBERED
                && let Some(info) = &item.info
            {
                remembered.insert(fold_case(&info.path), (item.style, item.settings));
            }
            stays
        });
    }

    /// The items in order of addition.
    pub fn items(&self) -> &[LegendItem] {
        &self.items
    }

    /// The item with this id.
    pub fn item(&self, id: ItemId) -> Option<&LegendItem> {
        self.items.iter().find(|item| item.id == id)
    }

    /// Whether nothing was chosen.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The path of an item's series, or the chosen path if the item has no series yet.
    pub fn path_of(&self, item: &LegendItem) -> String {
        match &item.info {
            Some(info) => info.path.clone(),
            None => self
                .entries
                .iter()
                .find(|entry| entry.id == item.entry)
                .map_or_else(String::new, |entry| entry.chosen.path.to_string()),
        }
    }

    /// Whether an item is on the chart: not hidden, not a capacity, and not omitted because it is not
    /// [active](Chosen::only_active).
    pub fn is_charted(&self, item: &LegendItem, reduced: &Reduced) -> bool {
        if !item.is_shown() {
            return false;
        }
        let entry = self.entries.iter().find(|entry| entry.id == item.entry);
        if entry.is_some_and(|entry| entry.chosen.is_capacity) {
            return false;
        }
        if !entry.is_some_and(|entry| entry.chosen.only_active) {
            return true;
        }
        let summary = item.series(reduced).map(|series| &series.summary);
        summary.is_some_and(|summary| {
            [summary.minimum, summary.maximum].into_iter().flatten().any(|value| value != 0.0)
        })
    }

    /// The items that are [capacities](Chosen::is_capacity), which are not drawn as lines.
    pub fn capacities(&self) -> impl Iterator<Item = &LegendItem> {
        let is_capacity = |item: &&LegendItem| {
            self.entries.iter().any(|entry| entry.id == item.entry && entry.chosen.is_capacity)
        };
        self.items.iter().filter(is_capacity)
    }

    /// The instances that the chosen paths leave out by name.
    pub fn excluded_instances(&self) -> Vec<String> {
        let paths = self.entries.iter().flat_map(|entry| &entry.chosen.except);
        let parsed = paths.filter_map(|path| PathPattern::parse(path).ok());
        let mut names: Vec<_> = parsed
            .filter_map(|path| path.path().instance.as_ref().map(|instance| instance.to_string()))
            .collect();
        names.dedup();
        names
    }

    /// The chosen paths that have no item, because they have wildcards and have not selected anything yet.
    pub fn without_items(&self) -> impl Iterator<Item = &PathPattern> {
        self.entries
            .iter()
            .filter(|entry| !self.items.iter().any(|item| item.entry == entry.id))
            .map(|entry| &entry.chosen.path)
    }

    fn change(&mut self, id: ItemId, change: impl FnOnce(&mut LegendItem)) {
        if let Some(item) = self.items.iter_mut().find(|item| item.id == id) {
            change(item);
            item.is_changed = true;
        }
    }

    /// Shows an item on the chart or hides it.
    pub fn set_shown(&mut self, id: ItemId, is_shown: bool) {
        self.change(id, |item| item.settings.is_shown = is_shown);
    }

    /// Sets whether an item is highlighted on the chart.
    pub fn set_highlighted(&mut self, id: ItemId, is_highlighted: bool) {
        self.change(id, |item| item.settings.is_highlighted = is_highlighted);
    }

    /// Changes the colour and line of an item.
    pub fn set_style(&mut self, id: ItemId, style: Style) {
        self.change(id, |item| {
            item.style = style;
            item.settings.style = Some(style);
        });
    }

    /// Changes the scale of an item.
    pub fn set_scale(&mut self, id: ItemId, scale: Scale) {
        self.change(id, |item| item.settings.scale = scale);
    }

    /// Moves the scale of an item up (`by` = 1) or down (-1) by one power of ten.
    pub fn move_scale(&mut self, id: ItemId, by: i32) {
        self.change(id, |item| {
            let default = item.default_scale();
            item.settings.scale = item.settings.scale.moved(by, default);
        });
    }

    /// Changes the scales of these items (all shown items if `ids` is empty) so that their visible values fit on the chart.
    pub fn fit(&mut self, ids: &[ItemId], reduced: &Reduced) {
        let fitting: Vec<_> = self
            .items
            .iter()
            .filter(|item| if ids.is_empty() { item.is_shown() } else { ids.contains(&item.id) })
            .filter_map(|item| {
                let summary = &item.series(reduced)?.summary;
                let farthest = summary.maximum?.abs().max(summary.minimum?.abs());
                Some((item.id, Scale::to_fit(Some(farthest))))
            })
            .collect();
        fitting.into_iter().for_each(|(id, scale)| self.set_scale(id, scale));
    }

    /// Removes an item. A path with wildcards continues to select its other instances. Returns true if the path was
    /// removed too, so that its series are no longer needed.
    pub fn remove(&mut self, id: ItemId) -> bool {
        let Some(index) = self.items.iter().position(|item| item.id == id) else { return false };
        let item = self.items.remove(index);
        let is_last = !self.items.iter().any(|other| other.entry == item.entry);
        let Some(index) = self.entries.iter().position(|entry| entry.id == item.entry) else { return false };
        if is_last {
            self.entries.remove(index);
            return true;
        }
        if let Some(info) = item.info {
            self.entries[index].chosen.except.push(info.path_without_machine().to_owned());
        }
        false
    }

    /// Removes all items.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.items.clear();
    }

    /// The sort order; `None`: in the order of the paths.
    pub fn order(&self) -> Option<SortOrder> {
        self.order
    }

    /// Changes the sort order.
    pub fn set_order(&mut self, order: Option<SortOrder>) {
        self.order = order;
    }

    /// The items in sort order, by the figures in `reduced`, which must be those of the last [`update`](Self::update).
    pub fn sorted<'a>(&'a self, reduced: &Reduced) -> Vec<&'a LegendItem> {
        let mut items: Vec<_> = self.items.iter().collect();
        match self.order {
            Some(order) => order.sort(&mut items, reduced),
            None => {
                let position =
                    |item: &&LegendItem| self.entries.iter().position(|entry| entry.id == item.entry);
                items.sort_by_cached_key(position);
            }
        }
        items
    }

    /// The chosen paths and settings, for a saved view. An instance with changed settings gets its own path, before the
    /// path that selected it. Paths contain machines only if `with_machines`.
    pub fn chosen(&self, with_machines: bool) -> Vec<Chosen> {
        let mut all = Vec::new();
        for entry in &self.entries {
            let items = self.items.iter().filter(|item| item.entry == entry.id);
            let mut own_choice = entry.chosen.clone();
            if own_choice.path.is_literal() {
                for item in items.take(1) {
                    own_choice.settings = Settings { style: Some(item.style), ..item.settings };
                }
            } else {
                for item in items.filter(|item| item.is_changed) {
                    let Some(info) = &item.info else { continue };
                    let text = if with_machines { info.path.as_str() } else { info.path_without_machine() };
                    let Ok(path) = PathPattern::parse(text) else { continue };
                    let settings = Settings { style: Some(item.style), ..item.settings };
                    all.push(Chosen {
                        path,
                        settings,
                        except: Vec::new(),
                        alternatives: Vec::new(),
                        ..entry.chosen.clone()
                    });
                }
            }
            all.push(own_choice);
        }
        all
    }
}

#[cfg(test)]
mod tests;
