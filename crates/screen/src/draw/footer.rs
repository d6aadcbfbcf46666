//! The last line: a message, or the most important keys.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{MIN_MESSAGE_AND_KEYS, table};
use crate::app::App;
use crate::text::width;

/// The keys that the footer lists for live data. Those that do not fit are omitted.
const LIVE_KEYS: &str =
    "?:keys|q:quit|4:table|m:views|a:add|d:remove|h:highlight|x:hide|=:fit|s:sort|g:kind|f:freeze|r:record";

/// The keys that the footer lists for several live panels.
const GRID_KEYS: &str = "?:keys|q:quit|Tab:next panel|z:enlarge|m:views|a:add counters|4:table|v:add panel|g:kind|l:axis|e:only this|f:freeze";

/// The keys that the footer lists for several panels of logs.
const LOG_GRID_KEYS: &str = "?:keys|q:quit|Tab:next panel|z:enlarge|t:jump|m:views|+-:zoom|0:whole|[ ]:select|a:add counters|4:table|g:kind|v:add panel";

/// The keys that the footer lists for logs.
const LOG_KEYS: &str =
    "?:keys|q:quit|4:table|m:views|t:jump|+-:zoom|0:whole|[ ]:select|a:add|d:remove|h:highlight|=:fit|g:kind";

/// The keys that the footer lists next to a message.
const BASIC_KEYS: &str = "?:keys q:quit";

/// The number of keys of a table that are listed before `t`.
const TABLE_KEYS_BEFORE_JUMP: usize = 5;

/// The number of keys that are listed before the one that shows all panels again.
const KEYS_BEFORE_ZOOM: usize = 2;

impl App {
    pub(super) fn draw_footer(&self, buffer: &mut Buffer, area: Rect) {
        if let Some((message, count)) = self.messages.new_message() {
            let style = if message.is_problem { self.theme.problem() } else { Style::new() };
            let more = if count > 1 { format!(" (+{}, ! shows all)", count - 1) } else { String::new() };
            // The keys are omitted if the message fits only without them; a message that does not fit at all is truncated.
            let all = width(&message.text) + more.len();
            let has_room = !(all + 2..all + BASIC_KEYS.len() + 2).contains(&usize::from(area.width));
            let keys = if area.width >= MIN_MESSAGE_AND_KEYS && has_room { BASIC_KEYS } else { "" };
            let room = usize::from(area.width).saturating_sub(more.len() + keys.len() + 2);
            self.write_right_aligned(buffer, area, keys, self.theme.dim());
            let text = crate::text::truncate(&message.text, room, self.theme.is_unicode).into_owned();
            let column = self.write_text(buffer, area, 0, &text, style);
            self.write_text(buffer, area, column, &more, self.theme.dim());
            return;
        }
        let keys = match self.facts.is_live {
            _ if self.is_table() && self.panes.is_grid() => table::GRID_KEYS,
            _ if self.is_table() => table::KEYS,
            true if self.panes.is_grid() => GRID_KEYS,
            false if self.panes.is_grid() => LOG_GRID_KEYS,
            true => LIVE_KEYS,
            false => LOG_KEYS,
        };
        // Tables of logs have the same keys, and `t` in addition.
        let jump = (self.is_table() && !self.facts.is_live).then_some("t:jump");
        let mut keys: Vec<_> = keys.split('|').collect();
        if self.panes.is_zoomed() {
            keys.insert(KEYS_BEFORE_ZOOM, "z:all panels");
        }
        keys.splice(TABLE_KEYS_BEFORE_JUMP..TABLE_KEYS_BEFORE_JUMP, jump);
        let mut column = 0;
        for key in keys {
            if column + key.len() > usize::from(area.width) {
                break;
            }
            column = self.write_text(buffer, area, column, key, self.theme.dim()) + 1;
        }
    }
}
