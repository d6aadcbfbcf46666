//! The model of a performance monitor, without a screen. The terminal and the web monitor share it.
//!
//! A [`Board`] holds raw samples, of this machine ([`LiveBoard`]) or of logs ([`LogBoard`]), and
//! [reduces](Board::reduce) a [`Span`] of them to the columns of a chart. Each column has the average by the counter's own
//! formula, the minimum and the maximum. The columns' states merge into the statistics of the visible range, so a zoomed
//! chart shows the true averages of its range.
//!
//! ```text
//! LiveSource ---> LiveBoard (a ring of raw samples) --\
//!                                                       > reduce(span, columns) -> Reduced -> chart, legend, value bar
//! logs ---------> LogBoard (an index; re-reads logs) --/
//! ```

#![forbid(unsafe_code)]

mod axis;
mod board;
mod catalogue;
mod defaults;
pub mod figures;
mod group_names;
mod legend;
mod live;
mod logs;
mod memory;
pub mod palette;
mod reduced;
mod reducer;
mod ring;
pub mod scale;
mod search;
mod series;
mod span;
mod table;
mod view;

pub use axis::{AxisRange, ValueRange, largest_possible};
pub use board::Board;
pub use catalogue::{Catalogue, CounterEntry, MachineCatalogue, SetEntry};
pub use defaults::first_paths;
pub use group_names::GroupNames;
pub use legend::{
    Alternative, Chosen, ItemId, Legend, LegendColumn, LegendItem, Settings, SortOrder,
    are_of_several_machines,
};
pub use live::{DEFAULT_MAX_BYTES, LiveBoard, MAX_POINTS, MIN_POINTS};
pub use logs::{LogBoard, LogCatalogue, LogProgress, damage_notice, damage_text};
pub use memory::{is_reusable, memory_of};
pub use reduced::{Column, Reduced, ReducedSeries, Reduction};
pub use reducer::Reducer;
pub use ring::Ring;
pub use search::{
    EVERYDAY, ForeignName, Hit, SearchIndex, absent_figures, foreign_names, known_paths, similar_word,
};
pub use series::{SeriesId, SeriesInfo, SeriesTable};
pub use span::Span;
pub use table::{
    ColumnContent, Figure, MissingColumn, ProcessProperties, Property, READY_MADE_TABLES, RowId,
    RowProperties, TableColumn, TableFigures, TableLayout, TableLine, TableModel, TableOrder, TableRow,
    TableSettings, TreeKind, has_no_rank, ready_made_columns,
};
pub use view::{Annotation, Axis, AxisScale, MAX_SHARE, MAX_TOP, Panel, View, ViewError, ViewKind};
