//! The keys and their commands.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

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
    SortBack,
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
    Only,
    NextPane,
    PreviousPane,
    ZoomPane,
    Split,
    RemovePane,
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
}

/// The sources for which a key is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Both,
    Live,
    Logs,
}

pub(crate) struct Key {
    pub(crate) scope: Scope,
    pub(crate) keys: &'static [(KeyCode, Command)],
    pub(crate) label: &'static str,
    pub(crate) help: &'static str,
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
    key(
        Both,
        &[(Char('s'), C::Sort), (KeyCode::BackTab, C::SortBack), (KeyCode::Tab, C::Sort)],
        "s Tab Shift-Tab",
        "sort by the next, previous column",
    ),
    key(Both, &[(Char('o'), C::Reverse)], "o", "reverse the order"),
    key(
        Both,
        &[
            (Char('g'), C::NextView),
            (Char('1'), C::Line),
            (Char('2'), C::Bars),
            (Char('3'), C::Report),
            (Char('5'), C::Area),
            (Char('6'), C::Stacked),
        ],
        "g 1 2 3 5 6",
        "next view; line, bars, report, area, stacked area",
    ),
    key(
        Both,
        &[(Char('w'), C::NextPane), (Char('W'), C::PreviousPane)],
        "w W",
        "next, previous panel; also Tab, Shift-Tab if several panels are shown",
    ),
    key(Both, &[(Char('z'), C::ZoomPane)], "z", "enlarge the panel, or show all again (also Enter, Esc)"),
    key(Both, &[(Char('v'), C::Split), (Char('V'), C::RemovePane)], "v V", "add a panel, remove it"),
    key(Both, &[(Char('e'), C::Only)], "e", "only this counter on the chart; all again"),
    key(Both, &[(Char('F'), C::Filter)], "F", "only counters whose path contains a text"),
    key(Both, &[(Char('l'), C::Axis)], "l", "axis: own scales, linear, logarithmic"),
    key(Both, &[(Char('L'), C::Limit)], "L", "set limit lines"),
    key(Both, &[(Char('b'), C::Band)], "b", "min-max bands: selected line, all, none"),
    key(Both, &[(Left, C::Left), (Right, C::Right)], "Left Right", "move the cursor (Shift: by 10)"),
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

/// The command that a key triggers on the main screen. `is_grid`: whether several panels are shown.
pub(crate) fn command_of(event: &KeyEvent, is_live: bool, is_grid: bool) -> Option<Command> {
    if let Some(command) = control_command(event) {
        return Some(command);
    }
    match event.code {
        KeyCode::Tab if is_grid => return Some(C::NextPane),
        KeyCode::BackTab if is_grid => return Some(C::PreviousPane),
        Enter if is_live => return Some(C::Enter),
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
    let is_available = |key: &&Key| match key.scope {
        Both => true,
        Live => is_live,
        Logs => !is_live,
    };
    let mut keys = KEYS.iter().filter(is_available).flat_map(|key| key.keys);
    keys.find(|(code, _)| *code == event.code).map(|(_, command)| *command)
}

/// The command that a Ctrl key triggers. These keys work everywhere.
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
        for is_live in [true, false] {
            let mut seen = Vec::new();
            for key in KEYS.iter().filter(|key| key.scope == Both || (key.scope == Live) == is_live) {
                for (code, _) in key.keys {
                    assert!(!seen.contains(code), "{code:?}");
                    seen.push(*code);
                }
            }
        }
    }
}
