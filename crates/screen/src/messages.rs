//! The messages of the screen.

/// All messages, for the last line and the list of messages.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    pub(crate) all: Vec<Message>,
    /// The number of messages when a key was last pressed; messages added since then are new.
    seen: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) text: String,
    pub(crate) is_problem: bool,
    /// How often it occurred.
    pub(crate) count: u64,
}

const MAX_MESSAGES: usize = 1000;

impl Messages {
    /// Adds a message. If the same problem is already in the list, only its count is incremented.
    pub(crate) fn add(&mut self, text: impl Into<String>, is_problem: bool) {
        let text = text.into();
        if is_problem && let Some(known) = self.all.iter_mut().find(|known| known.text == text) {
            known.count += 1;
            return;
        }
        if self.all.len() == MAX_MESSAGES {
            self.all.remove(0);
            self.seen = self.seen.saturating_sub(1);
        }
        self.all.push(Message { text, is_problem, count: 1 });
    }

    /// Adds the response to a key, as a new message that replaces an earlier one with the same text.
    pub(crate) fn answer(&mut self, text: impl Into<String>, is_problem: bool) {
        let text = text.into();
        self.all.retain(|known| known.text != text);
        self.seen = self.seen.min(self.all.len());
        self.add(text, is_problem);
    }

    /// The last new message, and the number of new messages.
    pub(crate) fn news(&self) -> Option<(&Message, usize)> {
        let news = self.all.get(self.seen..)?;
        Some((news.last()?, news.len()))
    }

    pub(crate) fn mark_seen(&mut self) {
        self.seen = self.all.len();
    }
}
