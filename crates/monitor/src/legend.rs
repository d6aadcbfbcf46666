//! The counters that were chosen, and how each is shown.

mod column;

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_counters::wildcard::{eq_ignore_case, fold_case};

use crate::palette::Style;
use crate::reduced::{Reduced, ReducedSeries};
use crate::scale::Scale;
use crate::series::SeriesInfo;

pub use column::{LegendColumn, SortOrder};

/// How a counter is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Colour and line; `None`: the next that is free. Of a path with wildcards: that of its first instance.
    pub style: Option<Style>,
    /// The factor on the chart.
    pub scale: Scale,
    /// Whether it is on the chart.
    pub is_shown: bool,
    /// Whether it is drawn so that it stands out.
    pub is_highlighted: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { style: None, scale: Scale::Default, is_shown: true, is_highlighted: false }
    }
}

/// A path that was chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// The path; with wildcards it takes in instances as they come.
    pub path: PathPattern,
    /// How what it selects is shown.
    pub settings: Settings,
    /// Full paths that it selects and that were removed.
    pub except: Vec<String>,
}

impl Chosen {
    /// A path shown as usual.
    pub fn new(path: PathPattern) -> Self {
        Self { path, settings: Settings::default(), except: Vec::new() }
    }

    fn selects(&self, info: &SeriesInfo) -> bool {
        info.is_selected_by(&self.path) && !self.except.iter().any(|path| is_path_of(path, info))
    }
}

/// Whether a path, with or without a machine, is that of a series.
fn is_path_of(path: &str, info: &SeriesInfo) -> bool {
    eq_ignore_case(path, &info.path) || eq_ignore_case(path, info.path_here())
}

/// Number of an item; never given to another one of the same legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId(u64);

/// A line of a legend: a counter of an instance.
#[derive(Clone, Debug)]
pub struct LegendItem {
    id: ItemId,
    entry: u64,
    info: Option<Arc<SeriesInfo>>,
    style: Style,
    settings: Settings,
    is_touched: bool,
    place: Option<usize>,
}

impl LegendItem {
    /// Its number.
    pub fn id(&self) -> ItemId {
        self.id
    }

    /// What it is; `None` while nothing of its path was ever there.
    pub fn info(&self) -> Option<&Arc<SeriesInfo>> {
        self.info.as_ref()
    }

    /// Its colour and line.
    pub fn style(&self) -> Style {
        self.style
    }

    /// The factor on the chart.
    pub fn scale(&self) -> Scale {
        self.settings.scale
    }

    /// The exponent of ten of that factor.
    pub fn exponent(&self) -> i32 {
        self.settings.scale.exponent(self.default_scale())
    }

    fn default_scale(&self) -> i32 {
        self.info.as_ref().map_or(0, |info| info.counter.default_scale)
    }

    /// Whether it is on the chart.
    pub fn is_shown(&self) -> bool {
        self.settings.is_shown
    }

    /// Whether it is drawn so that it stands out.
    pub fn is_highlighted(&self) -> bool {
        self.settings.is_highlighted
    }

    /// Its figures in what was [taken](Legend::take) last; `None` where it has none there.
    pub fn series<'a>(&self, reduced: &'a Reduced) -> Option<&'a ReducedSeries> {
        reduced.series.get(self.place?)
    }
}

struct Entry {
    id: u64,
    chosen: Chosen,
}

/// Chosen counters with what they select now.
#[derive(Default)]
pub struct Legend {
    entries: Vec<Entry>,
    items: Vec<LegendItem>,
    order: Option<SortOrder>,
    /// By folded path: settings that were changed, of items that are gone and may come again.
    remembered: HashMap<String, (Style, Settings)>,
    next: u64,
}

/// Processes that come and go for months must not fill the memory.
const MOST_REMEMBERED: usize = 10_000;

impl Legend {
    /// Adds a path; false when it, or all that it could select, is there already.
    pub fn add(&mut self, chosen: Chosen) -> bool {
        let text = chosen.path.to_string();
        let is_same = |entry: &Entry| eq_ignore_case(&entry.chosen.path.to_string(), &text);
        if let Some(entry) = self.entries.iter_mut().find(|entry| is_same(entry)) {
            // What was removed of it is wanted again.
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
            let is_it =
                |item: &LegendItem| item.info.as_ref().is_some_and(|info| info.is_selected_by(&chosen.path));
            if self.items.iter().any(is_it) {
                return false;
            }
        }
        let id = self.number();
        if chosen.path.is_literal() {
            self.add_item(id, None, &chosen.settings);
        }
        self.entries.push(Entry { id, chosen });
        true
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn add_item(&mut self, entry: u64, info: Option<&Arc<SeriesInfo>>, settings: &Settings) -> usize {
        let remembered = info.and_then(|info| self.remembered.remove(&fold_case(&info.path)));
        let id = ItemId(self.number());
        let is_first = !self.items.iter().any(|item| item.entry == entry);
        let asked = settings.style.filter(|_| is_first);
        let style = remembered.map(|(style, _)| style).or(asked);
        let style = style.unwrap_or_else(|| Style::next_free(self.items.iter().map(|item| item.style)));
        self.items.push(LegendItem {
            id,
            entry,
            info: info.cloned(),
            style,
            settings: remembered.map_or(*settings, |(_, settings)| settings),
            is_touched: remembered.is_some(),
            place: None,
        });
        self.items.len() - 1
    }

    /// The paths, in their order: what a board is to be asked for.
    pub fn paths(&self) -> Vec<PathPattern> {
        self.entries.iter().map(|entry| entry.chosen.path.clone()).collect()
    }

    /// Takes in what a board gave for [`paths`](Self::paths): new instances become items, and items know their figures.
    ///
    /// Items of paths with wildcards go when they have nothing there any more, unless `keeps_absent`.
    pub fn take(&mut self, reduced: &Reduced, keeps_absent: bool) {
        self.items.iter_mut().for_each(|item| item.place = None);
        let mut known: HashMap<_, usize> = HashMap::with_capacity(self.items.len());
        for (number, item) in self.items.iter().enumerate() {
            if let Some(info) = &item.info {
                known.insert(info.id, number);
            }
        }
        let mut new = Vec::new();
        for (place, series) in reduced.series.iter().enumerate() {
            let info = &series.info;
            match known.get(&info.id).copied().or_else(|| self.waiting_for(info)) {
                Some(number) => self.place(number, place, info),
                None => new.push((place, info)),
            }
        }
        // Those that go give their colours back first.
        if !keeps_absent {
            self.forget_absent();
        }
        for (place, info) in new {
            let Some(entry) = self.entries.iter().find(|entry| entry.chosen.selects(info)) else { continue };
            let (id, settings) = (entry.id, entry.chosen.settings);
            let number = self.add_item(id, Some(info), &settings);
            self.place(number, place, info);
        }
    }

    fn place(&mut self, number: usize, place: usize, info: &Arc<SeriesInfo>) {
        let item = &mut self.items[number];
        item.place = Some(place);
        if item.info.as_ref().is_none_or(|known| !Arc::ptr_eq(known, info)) {
            item.info = Some(Arc::clone(info));
        }
    }

    /// The item that a series belongs to which had another number, or none, so far.
    fn waiting_for(&self, info: &Arc<SeriesInfo>) -> Option<usize> {
        let entry = self.entries.iter().find(|entry| entry.chosen.selects(info))?;
        let waits = |item: &LegendItem| {
            item.place.is_none()
                && item.entry == entry.id
                && match &item.info {
                    Some(known) => eq_ignore_case(&known.path, &info.path),
                    None => entry.chosen.path.is_literal(),
                }
        };
        self.items.iter().position(waits)
    }

    fn forget_absent(&mut self) {
        let literal: Vec<_> = self
            .entries
            .iter()
            .filter(|entry| entry.chosen.path.is_literal())
            .map(|entry| entry.id)
            .collect();
        let remembered = &mut self.remembered;
        self.items.retain(|item| {
            let stays = item.place.is_some() || literal.contains(&item.entry);
            if !stays
                && item.is_touched
                && remembered.len() < MOST_REMEMBERED
                && let Some(info) = &item.info
            {
                remembered.insert(fold_case(&info.path), (item.style, item.settings));
            }
            stays
        });
    }

    /// The items in the order in which they came.
    pub fn items(&self) -> &[LegendItem] {
        &self.items
    }

    /// An item.
    pub fn item(&self, id: ItemId) -> Option<&LegendItem> {
        self.items.iter().find(|item| item.id == id)
    }

    /// Whether nothing is chosen.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The path of an item: that of what it shows, or the chosen one while there is nothing.
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

    /// The chosen paths that nothing was found for so far: with wildcards, so that they have no item.
    pub fn without_items(&self) -> impl Iterator<Item = &PathPattern> {
        self.entries
            .iter()
            .filter(|entry| !self.items.iter().any(|item| item.entry == entry.id))
            .map(|entry| &entry.chosen.path)
    }

    fn change(&mut self, id: ItemId, change: impl FnOnce(&mut LegendItem)) {
        if let Some(item) = self.items.iter_mut().find(|item| item.id == id) {
            change(item);
            item.is_touched = true;
        }
    }

    /// Shows an item on the chart, or leaves it out.
    pub fn set_shown(&mut self, id: ItemId, is_shown: bool) {
        self.change(id, |item| item.settings.is_shown = is_shown);
    }

    /// Makes an item stand out on the chart, or not.
    pub fn set_highlighted(&mut self, id: ItemId, is_highlighted: bool) {
        self.change(id, |item| item.settings.is_highlighted = is_highlighted);
    }

    /// Gives an item another colour and line.
    pub fn set_style(&mut self, id: ItemId, style: Style) {
        self.change(id, |item| {
            item.style = style;
            item.settings.style = Some(style);
        });
    }

    /// Draws an item by another factor.
    pub fn set_scale(&mut self, id: ItemId, scale: Scale) {
        self.change(id, |item| item.settings.scale = scale);
    }

    /// Draws an item by one power of ten more (`by` = 1) or less (-1).
    pub fn move_scale(&mut self, id: ItemId, by: i32) {
        self.change(id, |item| {
            let default = item.default_scale();
            item.settings.scale = item.settings.scale.moved(by, default);
        });
    }

    /// Draws items so that their values in what was [taken](Self::take) last fit: these, or without any, all that are
    /// shown.
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

    /// Removes an item. Where its path has wildcards, that goes on without it; true when the path has gone too, so that a
    /// board need not be asked for it any more.
    pub fn remove(&mut self, id: ItemId) -> bool {
        let Some(number) = self.items.iter().position(|item| item.id == id) else { return false };
        let item = self.items.remove(number);
        let is_last = !self.items.iter().any(|other| other.entry == item.entry);
        let Some(place) = self.entries.iter().position(|entry| entry.id == item.entry) else { return false };
        if is_last {
            self.entries.remove(place);
            return true;
        }
        if let Some(info) = item.info {
            self.entries[place].chosen.except.push(info.path_here().to_owned());
        }
        false
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.items.clear();
    }

    /// By what the items are sorted; `None`: by the order of the paths.
    pub fn order(&self) -> Option<SortOrder> {
        self.order
    }

    /// Sorts the items from now on.
    pub fn set_order(&mut self, order: Option<SortOrder>) {
        self.order = order;
    }

    /// The items as they are sorted, by what was [taken](Self::take) last.
    pub fn sorted<'a>(&'a self, reduced: &Reduced) -> Vec<&'a LegendItem> {
        let mut items: Vec<_> = self.items.iter().collect();
        match self.order {
            Some(order) => order.sort(&mut items, reduced),
            None => {
                let place = |item: &&LegendItem| self.entries.iter().position(|entry| entry.id == item.entry);
                items.sort_by_cached_key(place);
            }
        }
        items
    }

    /// What was chosen, for a saved view. Instances of a path with wildcards that are shown otherwise than its others stand
    /// before it with a path of their own. Machines are left out of paths unless `with_machines`.
    pub fn chosen(&self, with_machines: bool) -> Vec<Chosen> {
        let mut all = Vec::new();
        for entry in &self.entries {
            let items = self.items.iter().filter(|item| item.entry == entry.id);
            let mut whole = entry.chosen.clone();
            if whole.path.is_literal() {
                for item in items.take(1) {
                    whole.settings = Settings { style: Some(item.style), ..item.settings };
                }
            } else {
                for item in items.filter(|item| item.is_touched) {
                    let Some(info) = &item.info else { continue };
                    let text = if with_machines { info.path.as_str() } else { info.path_here() };
                    let Ok(path) = PathPattern::parse(text) else { continue };
                    let settings = Settings { style: Some(item.style), ..item.settings };
                    all.push(Chosen { path, settings, except: Vec::new() });
                }
            }
            all.push(whole);
        }
        all
    }
}

#[cfg(test)]
mod tests;
