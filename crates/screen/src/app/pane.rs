//! A panel of the screen: its counters, and how they are shown.

use std::borrow::Cow;

use tachograph_monitor::palette::{STYLES, Style};
use tachograph_monitor::scale::Scale;
use tachograph_monitor::{
    AxisScale, ItemId, Legend, LegendColumn, LegendItem, Panel, Reduced, SortOrder, ViewKind,
    are_of_several_machines,
};

use super::Table;
use crate::keys::Command;

/// Which lines have min-max bands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bands {
    Selected,
    All,
    None,
}

/// A [`Panel`] on the screen, with its legend and the state of its display. All panes show statistics of the same time range,
/// which the methods get as a [`Reduced`].
pub(crate) struct Pane {
    /// The settings of the panel. Its counters are in `legend`; the settings of a table that was opened are in `table`.
    pub(crate) panel: Panel,
    pub(crate) legend: Legend,
    pub(crate) selected: Option<ItemId>,
    /// The first row of the legend on the screen.
    pub(crate) legend_top: usize,
    /// The first line of the report on the screen.
    pub(crate) report_top: usize,
    pub(crate) bands: Bands,
    /// If not empty: only counters whose path contains this text are shown.
    pub(crate) filter: String,
    /// The only counter on the chart; `None`: all counters that are not hidden.
    pub(crate) only_item: Option<ItemId>,
    /// The kind of chart to return to, if the table was opened in its place.
    pub(super) chart_kind: Option<ViewKind>,
    /// Whether the panel is a chart whose counters have no values at all.
    pub(crate) is_vacant: bool,
    /// The table that the panel shows or has shown.
    pub(super) table: Option<Box<Table>>,
}

impl Pane {
    pub(super) fn new(mut panel: Panel) -> Self {
        let mut legend = Legend::default();
        for counter in std::mem::take(&mut panel.counters) {
            legend.add(counter);
        }
        Self {
            panel,
            legend,
            selected: None,
            legend_top: 0,
            report_top: 0,
            bands: Bands::Selected,
            filter: String::new(),
            only_item: None,
            chart_kind: None,
            is_vacant: false,
            table: None,
        }
    }

    /// The settings of the panel with its current counters. The paths of counters contain machines only if `with_machines`.
    pub(super) fn to_panel(&self, with_machines: bool) -> Panel {
        let table = self.table.as_ref().map(|table| table.model.settings());
        Panel {
            counters: self.legend.chosen(with_machines),
            table: table.unwrap_or_else(|| self.panel.table.clone()),
            ..self.panel.clone()
        }
    }

    /// The title of the panel. If it has none: the counter set of the table or of the first counter, followed by the counter's
    /// name if the panel shows only that counter.
    pub(crate) fn title(&self) -> Cow<'_, str> {
        let of_table = || Some(&*self.shown_table()?.model.layout().set);
        // A title from the view describes the chart, not the table that replaced it.
        let title = self.panel.title.as_deref().filter(|_| self.chart_kind.is_none() || of_table().is_none());
        if let Some(title) = title.or_else(of_table) {
            return title.into();
        }
        let mut infos = self.legend.items().iter().filter_map(|item| item.info());
        let Some(first) = infos.next() else {
            // No instance has been found yet.
            let paths = self.legend.paths();
            return paths.first().map_or_else(String::new, |path| path.path().set.to_string()).into();
        };
        let (set, counter) = (&first.set.name, &first.counter.name);
        match infos.all(|info| info.set.name == *set && info.counter.name == *counter) {
            true => format!("{set}: {counter}").into(),
            false => (**set).into(),
        }
    }

    /// How values are shown.
    pub(crate) fn kind(&self) -> ViewKind {
        self.panel.kind
    }

    /// Whether the chart has areas on top of each other. Counters of several machines are not parts of one whole, so a panel of
    /// this kind draws them as lines.
    pub(crate) fn is_stacked(&self, reduced: &Reduced) -> bool {
        self.kind() == ViewKind::Stacked && !are_of_several_machines(self.charted_items(reduced))
    }

    /// The table, if the panel shows one.
    pub(crate) fn shown_table(&self) -> Option<&Table> {
        self.table.as_deref().filter(|_| self.kind() == ViewKind::Table)
    }

    /// The items that the filter selects, in sort order.
    pub(crate) fn items(&self, reduced: &Reduced) -> Vec<&LegendItem> {
        let mut items = self.legend.sorted(reduced);
        if !self.filter.is_empty() {
            let filter = self.filter.to_lowercase();
            items.retain(|item| self.legend.path_of(item).to_lowercase().contains(&filter));
        }
        items
    }

    /// The items that are on the chart, in sort order.
    pub(crate) fn charted_items(&self, reduced: &Reduced) -> Vec<&LegendItem> {
        let mut items = self.items(reduced);
        match self.only_item {
            Some(only) => items.retain(|item| item.id() == only),
            None => items.retain(|item| self.legend.is_charted(item, reduced)),
        }
        items
    }

    /// Updates the legend. `keep_absent`: items without figures remain.
    pub(super) fn update(&mut self, reduced: &Reduced, keep_absent: bool) {
        self.legend.update(reduced, keep_absent);
        self.only_item = self.only_item.filter(|id| self.legend.item(*id).is_some());
        self.repair_selection(reduced);
    }

    /// Selects the first item if the selected item is not shown.
    fn repair_selection(&mut self, reduced: &Reduced) {
        let items = self.sorted_ids(reduced);
        if self.selected.is_none_or(|id| !items.contains(&id)) {
            self.selected = items.first().copied();
        }
    }

    /// Moves the selection, or scrolls the report.
    pub(super) fn select_by(&mut self, by: isize, reduced: &Reduced) {
        if self.kind() == ViewKind::Report {
            self.report_top = self.report_top.saturating_add_signed(by);
            return;
        }
        let items = self.sorted_ids(reduced);
        let index = items.iter().position(|id| Some(*id) == self.selected);
        let last = items.len().saturating_sub(1);
        let index = index.map_or(0, |index| index.saturating_add_signed(by).min(last));
        self.selected = items.get(index).copied();
    }

    fn sorted_ids(&self, reduced: &Reduced) -> Vec<ItemId> {
        self.items(reduced).iter().map(|item| item.id()).collect()
    }

    /// Removes the selected item. Returns whether the legend also removed the path that selected it, because it selects no
    /// other item; `None` if nothing is selected.
    pub(super) fn remove_selected(&mut self, reduced: &Reduced) -> Option<bool> {
        let id = self.selected?;
        let items = self.sorted_ids(reduced);
        let index = items.iter().position(|known| *known == id).unwrap_or_default();
        let others: Vec<_> = items.into_iter().filter(|known| *known != id).collect();
        self.selected = others.get(index).or(others.last()).copied();
        Some(self.legend.remove(id))
    }

    pub(super) fn clear(&mut self) {
        self.legend.clear();
        self.selected = None;
        self.only_item = None;
    }

    /// Shows only counters whose path contains a text; an empty text shows all.
    pub(super) fn set_filter(&mut self, filter: &str, reduced: &Reduced) {
        self.filter = filter.to_owned();
        self.legend_top = 0;
        self.repair_selection(reduced);
    }

    /// Shows only the selected counter on the chart, or all counters again.
    pub(super) fn toggle_only_selected(&mut self) {
        self.only_item = if self.only_item == self.selected { None } else { self.selected };
    }

    /// Switches to the next scale of the axis. Returns a message.
    pub(super) fn next_axis_scale(&mut self) -> &'static str {
        let axis = &mut self.panel.axis;
        axis.scale = axis.scale.next();
        // A minimum or maximum that the view sets is meant for a linear axis. A logarithmic axis ignores it if it is not positive.
        match axis.scale {
            AxisScale::Scaled => "axis: 0 to 100, each line with its own scale",
            AxisScale::Linear => "axis: linear, in the unit of the counters",
            AxisScale::Logarithmic => "axis: logarithmic",
        }
    }

    pub(super) fn change_selected(&mut self, command: Command, reduced: &Reduced) {
        let Some(item) = self.selected.and_then(|id| self.legend.item(id)) else { return };
        let (id, is_shown, is_highlighted) = (item.id(), item.is_shown(), item.is_highlighted());
        let style = item.style();
        match command {
            Command::Hide => self.legend.set_shown(id, !is_shown),
            Command::Highlight => self.legend.set_highlighted(id, !is_highlighted),
            Command::ScaleUp => self.legend.move_scale(id, 1),
            Command::ScaleDown => self.legend.move_scale(id, -1),
            Command::ScaleDefault => self.legend.set_scale(id, Scale::Default),
            Command::Fit => self.legend.fit(&[id], reduced),
            Command::Colour => self.legend.set_style(id, Style((style.0 + 1) % STYLES)),
            _ => {}
        }
    }

    /// Sorts by the next column; "unsorted" is between the last and the first. Returns a message.
    pub(super) fn sort_by_next(&mut self) -> String {
        let all = LegendColumn::ALL;
        let now = self.legend.order().and_then(|order| all.iter().position(|column| *column == order.column));
        let column = all.get(now.map_or(0, |index| index + 1));
        self.legend.set_order(column.copied().map(SortOrder::of_column));
        match self.legend.order() {
            Some(order) => format!("sorted by {}", order.column.title()),
            None => "not sorted".to_owned(),
        }
    }

    /// Sorts by a column, or reverses the order if the legend is already sorted by that column.
    pub(super) fn sort_by_column(&mut self, column: LegendColumn) {
        let order = match self.legend.order() {
            Some(order) if order.column == column => order.reversed(),
            _ => SortOrder::of_column(column),
        };
        self.legend.set_order(Some(order));
    }

    pub(super) fn reverse_order(&mut self) {
        self.legend.set_order(self.legend.order().map(SortOrder::reversed));
    }

    /// Switches to the next setting of `bands`. Returns a message.
    pub(super) fn next_bands(&mut self) -> &'static str {
        let (bands, what) = match self.bands {
            Bands::Selected => (Bands::All, "min-max bands: all lines"),
            Bands::All => (Bands::None, "min-max bands: none"),
            Bands::None => (Bands::Selected, "min-max bands: selected line"),
        };
        self.bands = bands;
        what
    }
}
