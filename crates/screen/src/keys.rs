//! The keys and their commands.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The commands of the main screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Command {
    Quit,
    Help,
    Messages,
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Add,
    Search,
    Remove,
    Clear,
    Hide,
    Highlight,
    ScaleUp,
    ScaleDown,
    Fit,
    FitAll,
    ScaleDefault,
    Colour,
    Sort,
    Reverse,
    NextView,
    Line,
    Bars,
    Report,
    Area,
    Stacked,
    Axis,
    Limit,
    Filter,
    OnlySelected,
    NextPane,
    PreviousPane,
    ZoomPane,
    Split,
    RemovePane,
    Views,
    Table,
    Band,
    Freeze,
    StepForward,
    StepBack,
    Interval,
    Points,
    ZoomIn,
    ZoomOut,
    Left,
    Right,
    FarLeft,
    FarRight,
    BrushBegin,
    BrushEnd,
    Enter,
    Escape,
    Jump,
    NextPage,
    PreviousPage,
    Whole,
    Back,
    Record,
    Save,
    Suspend,
    Redraw,
    FilterRows,
    SortLeft,
    SortRight,
    ReverseRows,
    Tree,
    NextTable,
    PreviousTable,
    Details,
    ChartRow,
    MaxRows,
    RemoveColumn,
    AddColumn,
    KernelThreads,
}

/// The kind of source for which a key is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Both,
    Live,
    Logs,
}

/// Keys that are listed together, with their commands.
pub(crate) struct Key {
    pub(crate) scope: Scope,
    pub(crate) keys: &'static [(KeyCode, Command)],
    pub(crate) label: &'static str,
    pub(crate) help: &'static str,
}

impl Key {
    fn is_available(&self, is_live: bool) -> bool {
        match self.scope {
            Scope::Both => true,
            Scope::Live => is_live,
            Scope::Logs => !is_live,
        }
    }
}

const fn key(
    scope: Scope,
    keys: &'static [(KeyCode, Command)],
    label: &'static str,
    help: &'static str,
) -> Key {
    Key { scope, keys, label, help }
}

use Command as C;
use KeyCode::{Char, Delete, Down, End, Enter, Esc, Home, Insert, Left, PageDown, PageUp, Right, Up};
use Scope::{Both, Live, Logs};

/// All keys of the main screen, in the order in which they are listed.
pub(crate) const KEYS: &[Key] = &[
    key(Both, &[(Char('q'), C::Quit)], "q", "quit"),
    key(Both, &[(Char('?'), C::Help), (KeyCode::F(1), C::Help)], "?", "list of keys"),
    key(Both, &[(Char('!'), C::Messages)], "!", "all messages"),
    key(
        Both,
        &[(Char('k'), C::Up), (Char('j'), C::Down), (Up, C::Up), (Down, C::Down)],
        "Up Down k j",
        "select a counter",
    ),
    key(
        Both,
        &[(PageUp, C::PageUp), (PageDown, C::PageDown), (Home, C::First), (End, C::Last)],
        "PgUp PgDn Home End",
        "select by page; first, last",
    ),
    key(Both, &[(Char('a'), C::Add), (Insert, C::Add)], "a Ins", "add counters"),
    key(Both, &[(Char('/'), C::Search)], "/", "search counters to add"),
    key(Both, &[(Char('d'), C::Remove), (Delete, C::Remove)], "d Del", "remove the counter"),
    key(Both, &[(Char('D'), C::Clear)], "D", "remove all counters"),
    key(Both, &[(Char('x'), C::Hide), (Char(' '), C::Hide)], "x Space", "hide or show the line"),
    key(Both, &[(Char('h'), C::Highlight)], "h", "highlight the line"),
    key(Both, &[(Char('c'), C::Colour)], "c", "next color"),
    key(Both, &[(Char('<'), C::ScaleDown), (Char('>'), C::ScaleUp)], "< >", "scale down, up by 10"),
    key(Both, &[(Char('='), C::Fit), (Char('*'), C::FitAll)], "= *", "fit the scale of this counter, of all"),
    key(Both, &[(Char('~'), C::ScaleDefault)], "~", "default scale"),
    key(Both, &[(Char('s'), C::Sort)], "s", "sort by the next column"),
    key(Both, &[(Char('o'), C::Reverse)], "o", "reverse the order"),
    key(
        Both,
        &[
            (Char('g'), C::NextView),
            (Char('1'), C::Line),
            (Char('2'), C::Bars),
            (Char('3'), C::Report),
            (Char('4'), C::Table),
            (Char('5'), C::Area),
            (Char('6'), C::Stacked),
        ],
        "g 1 2 3 4 5 6",
        "next view; line, bars, report, table (of processes), area, stacked area",
    ),
    key(
        Both,
        &[
            (KeyCode::Tab, C::NextPane),
            (KeyCode::BackTab, C::PreviousPane),
            (Char('w'), C::NextPane),
            (Char('W'), C::PreviousPane),
        ],
        "Tab Shift-Tab w W",
        "next, previous panel",
    ),
    key(Both, &[(Char('z'), C::ZoomPane)], "z", "enlarge the panel, or show all again (also Enter, Esc)"),
    key(
        Both,
        &[(Char('m'), C::Views)],
        "m",
        "menu of ready-made views: processor, memory, disk, processes ...",
    ),
    key(Both, &[(Char('v'), C::Split), (Char('V'), C::RemovePane)], "v V", "add a panel, remove it"),
    key(Both, &[(Char('e'), C::OnlySelected)], "e", "only this counter on the chart; all again"),
    key(Both, &[(Char('F'), C::Filter)], "F", "only counters whose path contains a text"),
    key(Both, &[(Char('l'), C::Axis)], "l", "axis: own scales, linear, logarithmic"),
    key(Both, &[(Char('L'), C::Limit)], "L", "set limit lines"),
    key(Both, &[(Char('b'), C::Band)], "b", "min-max bands: selected line, all, none"),
    key(Both, &[(Left, C::Left), (Right, C::Right)], "Left Right", "move the cursor (Shift: 10 times)"),
    key(Both, &[(Esc, C::Escape)], "Esc", "clear cursor and selection; cancel reading"),
    key(Live, &[(Char('f'), C::Freeze)], "f", "freeze, resume"),
    key(
        Live,
        &[(Char('.'), C::StepForward), (Char('u'), C::StepForward), (Char(','), C::StepBack)],
        ". u ,",
        "next, previous sample",
    ),
    key(Live, &[(Char('i'), C::Interval)], "i", "set the interval"),
    key(Live, &[(Char('p'), C::Points)], "p", "set the number of points"),
    key(Live, &[(Char('+'), C::ZoomIn), (Char('-'), C::ZoomOut)], "+ -", "fewer, more points"),
    key(Live, &[(Char('r'), C::Record)], "r", "start, stop recording"),
    key(Logs, &[(Char('+'), C::ZoomIn), (Char('-'), C::ZoomOut)], "+ -", "zoom in, out"),
    key(Logs, &[(Char('0'), C::Whole)], "0", "the whole log"),
    key(Logs, &[(Char('n'), C::NextPage), (Char('p'), C::PreviousPage)], "n p", "next, previous page"),
    key(
        Logs,
        &[(Char('['), C::BrushBegin), (Char(']'), C::BrushEnd), (Enter, C::Enter)],
        "[ ] Enter",
        "begin, end of a selection at the cursor; zoom in",
    ),
    key(Logs, &[(Char('t'), C::Jump)], "t", "jump to a time"),
    key(Logs, &[(KeyCode::Backspace, C::Back)], "Backspace", "undo the last zoom"),
    key(Both, &[(Char('S'), C::Save)], "S", "save the view to a file"),
    key(Both, &[], "Ctrl-L", "redraw"),
    key(Both, &[], "Ctrl-Z Ctrl-C", "suspend, quit"),
];

/// The keys of a table. They take precedence over [`KEYS`].
pub(crate) const TABLE_KEYS: &[Key] = &[
    key(
        Both,
        &[(Char('k'), C::Up), (Char('j'), C::Down), (Up, C::Up), (Down, C::Down)],
        "Up Down k j",
        "select a row",
    ),
    key(
        Both,
        &[(PageUp, C::PageUp), (PageDown, C::PageDown), (Home, C::First), (End, C::Last)],
        "PgUp PgDn Home End",
        "select by page; first, last",
    ),
    key(
        Both,
        &[(Char('<'), C::SortLeft), (Char('>'), C::SortRight), (Char('s'), C::SortRight)],
        "< > s",
        "sort by the column to the left, to the right",
    ),
    key(Both, &[(Char('o'), C::ReverseRows)], "o", "reverse the order"),
    key(Both, &[(Char('/'), C::FilterRows)], "/", "filter the rows as you type (Esc: all rows)"),
    key(Both, &[(Char('T'), C::Tree)], "T", "tree by parent, by control group, no tree"),
    key(
        Both,
        &[(Char('K'), C::KernelThreads)],
        "K",
        "show or hide kernel threads that use less than 1 % CPU",
    ),
    key(Both, &[(Char('N'), C::MaxRows)], "N", "show only the first rows"),
    key(
        Both,
        &[(Char('c'), C::AddColumn), (Char('x'), C::RemoveColumn)],
        "c x",
        "add a counter as a column; remove the sorted column",
    ),
    key(Both, &[(Enter, C::Details)], "Enter", "all counters and properties of the row"),
    key(Both, &[(Char('a'), C::ChartRow)], "a", "add the sorted counter of the row to the chart"),
    key(
        Both,
        &[(KeyCode::Tab, C::NextTable), (KeyCode::BackTab, C::PreviousTable)],
        "Tab Shift-Tab",
        NEXT_TABLE,
    ),
];

/// The help of the keys for the next table, which are listed only if there is a single panel.
const NEXT_TABLE: &str = "next, previous table: processes, threads, disks ...";

/// Commands for the lines of a chart, which have no meaning in a table.
const NOT_IN_TABLES: [Command; 17] = [
    C::Search,
    C::Remove,
    C::Clear,
    C::Hide,
    C::Highlight,
    C::Colour,
    C::ScaleUp,
    C::ScaleDown,
    C::Fit,
    C::FitAll,
    C::ScaleDefault,
    C::Sort,
    C::Band,
    C::Filter,
    C::OnlySelected,
    C::Axis,
    C::Limit,
];

/// The keys that are listed on the main screen. Tab has one meaning: the next panel if there are several; the next table if the
/// only panel is a table.
pub(crate) fn listed_keys(is_live: bool, has_panels: bool, is_table: bool) -> Vec<&'static Key> {
    let is_chart_key = |key: &&Key| {
        let is_replaced = |(code, command): &(KeyCode, Command)| {
            NOT_IN_TABLES.contains(command) || table_command(*code, is_live).is_some()
        };
        !is_table || key.keys.is_empty() || !key.keys.iter().all(is_replaced)
    };
    let table_keys = TABLE_KEYS.iter().filter(|key| is_table && !(has_panels && key.help == NEXT_TABLE));
    let is_of_panels = |key: &Key| key.keys.iter().any(|(_, command)| *command == C::NextPane);
    let chart_keys = KEYS.iter().filter(is_chart_key).filter(|key| has_panels || !is_of_panels(key));
    table_keys.chain(chart_keys).filter(|key| key.is_available(is_live)).collect()
}

fn table_command(code: KeyCode, is_live: bool) -> Option<Command> {
    let mut keys = TABLE_KEYS.iter().filter(|key| key.is_available(is_live)).flat_map(|key| key.keys);
    keys.find(|(known, _)| *known == code).map(|(_, command)| *command)
}

/// The command that a key triggers on the main screen. `has_panels`: whether there are several panels, even if one of them is
/// enlarged; `is_table`: whether the focused panel is a table.
pub(crate) fn command_of(
    event: &KeyEvent,
    is_live: bool,
    has_panels: bool,
    is_table: bool,
) -> Option<Command> {
    if let Some(command) = control_command(event) {
        return Some(command);
    }
    match event.code {
        KeyCode::Tab if has_panels => return Some(C::NextPane),
        KeyCode::BackTab if has_panels => return Some(C::PreviousPane),
        Enter if is_live && !is_table => return Some(C::Enter),
        _ => {}
    }
    if event.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
        return None;
    }
    if event.modifiers.contains(KeyModifiers::SHIFT) {
        match event.code {
            Left => return Some(C::FarLeft),
            Right => return Some(C::FarRight),
            _ => {}
        }
    }
    if is_table && let Some(command) = table_command(event.code, is_live) {
        return Some(command);
    }
    let mut keys = KEYS.iter().filter(|key| key.is_available(is_live)).flat_map(|key| key.keys);
    let found = keys.find(|(code, _)| *code == event.code).map(|(_, command)| *command);
    found.filter(|command| !is_table || !NOT_IN_TABLES.contains(command))
}

/// The command of a key pressed with Ctrl. These keys also work in dialogs.
pub(crate) fn control_command(event: &KeyEvent) -> Option<Command> {
    if !event.modifiers.contains(KeyModifiers::CONTROL) {
        return None;
    }
    match event.code {
        Char('c') => Some(C::Quit),
        Char('z') => Some(C::Suspend),
        Char('l') => Some(C::Redraw),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unique() {
        for (is_live, all) in
            [true, false].into_iter().flat_map(|is_live| [(is_live, KEYS), (is_live, TABLE_KEYS)])
        {
            let mut seen = Vec::new();
            for key in all.iter().filter(|key| key.is_available(is_live)) {
                for (code, _) in key.keys {
                    assert!(!seen.contains(code), "{code:?}");
                    seen.push(*code);
                }
            }
        }
    }
}
