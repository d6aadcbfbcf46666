//! The arrangement of several panels on the screen.

use ratatui::layout::Rect;

/// The minimum size of a panel with its edges.
const MIN_SIZE: (u16, u16) = (30, 5);

/// A panel of at least this size lists its counters next to the chart; a smaller one names them on its edges.
pub(super) const LIST_SIZE: (u16, u16) = (50, 7);

/// The cost of a panel without room for a list: the same as that of a panel 2.7 times as wide as preferred.
const SMALL_COST: f64 = 1.0;

/// The preferred width of a panel in relation to its height, in characters.
const SHAPE: f64 = 4.0;

/// A row of panels: the index of the first one, their widths, and the relative height.
struct Row {
    first: usize,
    widths: Vec<u8>,
    height: u8,
}

/// Arranges panels of these relative widths and heights in reading order, so that they fill the area. Returns indexes and
/// areas. If the area is too small for all, only the rows around the panel `focus` are returned.
pub(super) fn arrange(sizes: &[(u8, u8)], area: Rect, focus: usize) -> Vec<(usize, Rect)> {
    let cost = |rows: &[Row]| {
        let areas = areas_of(rows, area);
        let shapes = areas.iter().map(|(_, area)| f64::from(area.width) / f64::from(area.height.max(1)));
        let small =
            areas.iter().filter(|(_, area)| area.width < LIST_SIZE.0 || area.height < LIST_SIZE.1).count();
        shapes.map(|shape| (shape / SHAPE).ln().abs()).sum::<f64>() + SMALL_COST * small as f64
    };
    let fits = |rows: &[Row]| {
        areas_of(rows, area).iter().all(|(_, area)| area.width >= MIN_SIZE.0 && area.height >= MIN_SIZE.1)
    };
    let choices = (1..=sizes.len().max(1)).map(|columns| rows_of(sizes, columns));
    let best = choices.filter(|rows| fits(rows)).min_by(|one, other| cost(one).total_cmp(&cost(other)));
    if let Some(rows) = best {
        return areas_of(&rows, area);
    }
    // As many columns and rows as fit, around the focus.
    let columns = usize::from((area.width / MIN_SIZE.0).max(1));
    let rows = rows_of(sizes, columns);
    let room = usize::from((area.height / MIN_SIZE.1).max(1));
    let focused = rows.iter().rposition(|row| row.first <= focus).unwrap_or_default();
    let begin = focused.saturating_sub(room / 2).min(rows.len().saturating_sub(room));
    areas_of(&rows[begin..(begin + room).min(rows.len())], area)
}

/// Distributes panels over rows. Each row has room for `columns` panels of width 1.
fn rows_of(sizes: &[(u8, u8)], columns: usize) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (index, (width, height)) in sizes.iter().enumerate() {
        let used =
            rows.last().map_or(columns, |row| row.widths.iter().map(|width| usize::from(*width)).sum());
        let width = (*width).min(columns.try_into().unwrap_or(u8::MAX));
        match rows.last_mut() {
            Some(row) if used + usize::from(width) <= columns => {
                row.widths.push(width);
                row.height = row.height.max(*height);
            }
            _ => rows.push(Row { first: index, widths: vec![width], height: *height }),
        }
    }
    rows
}

/// The indexes and areas of the panels in `rows`. Together, the panels fill `area`.
fn areas_of(rows: &[Row], area: Rect) -> Vec<(usize, Rect)> {
    let share_of_length =
        |length: u16, before: u32, total: u32| (u32::from(length) * before / total.max(1)) as u16;
    let heights: u32 = rows.iter().map(|row| u32::from(row.height)).sum();
    let mut areas = Vec::new();
    let mut above = 0;
    for row in rows {
        let y = share_of_length(area.height, above, heights);
        above += u32::from(row.height);
        let height = share_of_length(area.height, above, heights) - y;
        let widths: u32 = row.widths.iter().map(|width| u32::from(*width)).sum();
        let mut left = 0;
        for (index, width) in row.widths.iter().enumerate() {
            let x = share_of_length(area.width, left, widths);
            left += u32::from(*width);
            let width = share_of_length(area.width, left, widths) - x;
            areas.push((row.first + index, Rect { x: area.x + x, y: area.y + y, width, height }));
        }
    }
    areas
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes_of(sizes: &[(u8, u8)], area: (u16, u16)) -> Vec<(u16, u16, u16, u16)> {
        let areas = arrange(sizes, Rect::new(0, 1, area.0, area.1), 0);
        areas.into_iter().map(|(_, area)| (area.x, area.y, area.width, area.height)).collect()
    }

    #[test]
    fn panels_fill_the_screen() {
        let six = [(1, 1); 6];
        for (size, columns) in [((80, 22), 2), ((120, 38), 2), ((200, 48), 3), ((60, 60), 1), ((40, 40), 1)] {
            let areas = arrange(&six, Rect::new(0, 1, size.0, size.1), 0);
            assert_eq!(areas.len(), 6, "{size:?}");
            let in_first_row = areas.iter().filter(|(_, area)| area.y == 1).count();
            assert_eq!(in_first_row, columns, "{size:?}");
            let covered: u32 = areas.iter().map(|(_, area)| area.area()).sum();
            assert_eq!(covered, u32::from(size.0) * u32::from(size.1), "{size:?}");
        }
        // Six charts above a table: wide enough for lists of counters.
        let seven = [(1, 1), (1, 1), (1, 1), (1, 1), (1, 1), (1, 1), (2, 2)];
        let widths = |size| sizes_of(&seven, size).iter().map(|area| area.2).collect::<Vec<_>>();
        assert_eq!(widths((120, 38)), [60, 60, 60, 60, 60, 60, 120]);
        assert_eq!(widths((200, 48)), [66, 67, 67, 66, 67, 67, 200]);
        assert_eq!(
            sizes_of(&[(2, 3), (1, 1), (1, 1)], (120, 40)),
            [(0, 1, 120, 30), (0, 31, 60, 10), (60, 31, 60, 10)]
        );
    }

    #[test]
    fn a_small_screen_shows_the_panels_around_the_focus() {
        let area = Rect::new(0, 0, 40, 11);
        let shown =
            |focus| arrange(&[(1, 1); 6], area, focus).iter().map(|(index, _)| *index).collect::<Vec<_>>();
        assert_eq!(shown(0), [0, 1]);
        assert_eq!(shown(3), [2, 3]);
        assert_eq!(shown(5), [4, 5]);
    }
}
