//! What keys do.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What someone wants of the screen.
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
    Histogram,
    Report,
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

/// Where keys mean something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Both,
    Live,
    Logs,
}

/// A line of the list of keys: which keys, what they do, and where.
pub(crate) struct Key {
    pub(crate) of: Of,
    pub(crate) keys: &'static [(KeyCode, Command)],
    pub(crate) shown: &'static str,
    pub(crate) what: &'static str,
}

const fn key(of: Of, keys: &'static [(KeyCode, Command)], shown: &'static str, what: &'static str) -> Key {
    Key { of, keys, shown, what }
}

use Command as C;
use KeyCode::{Char, Delete, Down, End, Enter, Esc, Home, Insert, Left, PageDown, PageUp, Right, Up};
use Of::{Both, Live, Logs};

/// All keys of the main screen, in the order in which they are listed.
pub(crate) const KEYS: &[Key] = &[
    key(Both, &[(Char('q'), C::Quit)], "q", "quit"),
    key(Both, &[(Char('?'), C::Help), (KeyCode::F(1), C::Help)], "?", "this list"),
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
        "select farther away",
    ),
    key(Both, &[(Char('a'), C::Add), (Insert, C::Add)], "a Ins", "add counters"),
    key(Both, &[(Char('/'), C::Search)], "/", "search counters to add"),
    key(Both, &[(Char('d'), C::Remove), (Delete, C::Remove)], "d Del", "remove the counter"),
    key(Both, &[(Char('D'), C::Clear)], "D", "remove all counters"),
    key(Both, &[(Char('x'), C::Hide), (Char(' '), C::Hide)], "x Space", "hide or show its line"),
    key(Both, &[(Char('h'), C::Highlight)], "h", "highlight its line"),
    key(Both, &[(Char('c'), C::Colour)], "c", "next color"),
    key(Both, &[(Char('<'), C::ScaleDown), (Char('>'), C::ScaleUp)], "< >", "scale by 10 down, up"),
    key(Both, &[(Char('='), C::Fit), (Char('*'), C::FitAll)], "= *", "scale to fit: this one, all"),
    key(Both, &[(Char('~'), C::ScaleDefault)], "~", "default scale of the counter"),
    key(
        Both,
        &[(Char('s'), C::Sort), (KeyCode::BackTab, C::SortBack), (KeyCode::Tab, C::Sort)],
        "s Tab Shift-Tab",
        "sort by the next column, the one before",
    ),
    key(Both, &[(Char('o'), C::Reverse)], "o", "sort the other way round"),
    key(
        Both,
        &[(Char('g'), C::NextView), (Char('1'), C::Line), (Char('2'), C::Histogram), (Char('3'), C::Report)],
        "g 1 2 3",
        "next view; line, histogram, report",
    ),
    key(Both, &[(Char('b'), C::Band)], "b", "bands from minimum to maximum: selected, all, none"),
    key(Both, &[(Left, C::Left), (Right, C::Right)], "Left Right", "move the cursor (Shift: far)"),
    key(Both, &[(Esc, C::Escape)], "Esc", "no cursor, no selection of time; cancel reading"),
    key(Live, &[(Char('f'), C::Freeze)], "f", "freeze, go on"),
    key(
        Live,
        &[(Char('.'), C::StepForward), (Char('u'), C::StepForward), (Char(','), C::StepBack)],
        ". u ,",
        "step to the next sample, to the one before",
    ),
    key(Live, &[(Char('i'), C::Interval)], "i", "interval"),
    key(Live, &[(Char('p'), C::Points)], "p", "points on the chart"),
    key(Live, &[(Char('+'), C::ZoomIn), (Char('-'), C::ZoomOut)], "+ -", "fewer, more points"),
    key(Live, &[(Char('r'), C::Record)], "r", "record to a log, end the recording"),
    key(Logs, &[(Char('+'), C::ZoomIn), (Char('-'), C::ZoomOut)], "+ -", "zoom in, out"),
    key(Logs, &[(Char('0'), C::Whole)], "0", "the whole log"),
    key(
        Logs,
        &[(Char('n'), C::NextPage), (Char('p'), C::PreviousPage)],
        "n p",
        "next, previous stretch of time",
    ),
    key(
        Logs,
        &[(Char('['), C::BrushBegin), (Char(']'), C::BrushEnd), (Enter, C::Enter)],
        "[ ] Enter",
        "begin and end of a selection at the cursor; zoom into it",
    ),
    key(Logs, &[(Char('t'), C::Jump)], "t", "jump to a time"),
    key(Logs, &[(KeyCode::Backspace, C::Back)], "Backspace", "the stretch before the last zoom"),
    key(Both, &[(Char('S'), C::Save)], "S", "save the view to a file"),
    key(Both, &[], "Ctrl-L", "draw again"),
    key(Both, &[], "Ctrl-Z Ctrl-C", "suspend, quit"),
];

/// What a key means on the main screen.
pub(crate) fn command_of(event: &KeyEvent, is_live: bool) -> Option<Command> {
    if let Some(command) = of_control(event) {
        return Some(command);
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
    let is_here = |key: &&Key| match key.of {
        Both => true,
        Live => is_live,
        Logs => !is_live,
    };
    let mut keys = KEYS.iter().filter(is_here).flat_map(|key| key.keys);
    keys.find(|(code, _)| *code == event.code).map(|(_, command)| *command)
}

/// What a key means everywhere.
pub(crate) fn of_control(event: &KeyEvent) -> Option<Command> {
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
    fn no_key_means_two_things() {
        for is_live in [true, false] {
            let mut seen = Vec::new();
            for key in KEYS.iter().filter(|key| key.of == Both || (key.of == Live) == is_live) {
                for (code, _) in key.keys {
                    assert!(!seen.contains(code), "{code:?}");
                    seen.push(*code);
                }
            }
        }
    }
}
