//! What a performance monitor shows, without a screen: the terminal monitor, the web monitor and whoever else draws charts
//! share it.
//!
//! A [`Board`] holds samples of a machine as they come ([`LiveBoard`]) or of logs ([`LogBoard`]), raw, and [reduces](Board::reduce)
//! any [`Span`] of them to as many columns as a chart has: each column has the average by the counter's own formula, with
//! minimum and maximum, and their states merge into the statistics of what is visible. So a zoomed chart shows the true
//! averages of its stretch.
//!
//! ```text
//! LiveSource ---> LiveBoard (a ring of raw samples) --\
//!                                                       > reduce(span, columns) -> Reduced -> chart, legend, value bar
//! logs ---------> LogBoard (an index; reads again) ----/
//! ```

#![forbid(unsafe_code)]

mod board;
mod catalogue;
mod defaults;
pub mod figures;
mod legend;
mod live;
mod logs;
pub mod palette;
mod reduced;
mod reducer;
mod ring;
pub mod scale;
mod series;
mod span;
mod view;

pub use board::Board;
pub use catalogue::{Catalogue, CounterEntry, MachineCatalogue, SetEntry};
pub use defaults::first_paths;
pub use legend::{Chosen, ItemId, Legend, LegendColumn, LegendItem, Settings, SortOrder};
pub use live::{LiveBoard, MAX_POINTS, MIN_POINTS};
pub use logs::{LogBoard, LogCatalogue, LogProgress};
pub use reduced::{Column, Reduced, ReducedSeries, Reduction};
pub use reducer::Reducer;
pub use ring::Ring;
pub use series::{SeriesId, SeriesInfo, SeriesTable};
pub use span::Span;
pub use view::{View, ViewError, ViewKind};
