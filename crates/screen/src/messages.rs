//! The messages of the screen.

/// All messages, for the last line and the list of messages.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    pub(crate) messages: Vec<Message>,
    /// The number of messages when a key was last pressed; messages added since then are new.
    seen_count: usize,
    /// The number of messages when the screen opened. They are about the view and stay until a key is pressed.
    opening_count: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) text: String,
    pub(crate) is_problem: bool,
    /// How often the message was added.
    pub(crate) count: u64,
}

const MAX_MESSAGES: usize = 1000;

impl Messages {
    /// Adds a message. If the same problem is already in the list, only its count is incremented.
    pub(crate) fn add(&mut self, text: impl Into<String>, is_problem: bool) {
        let text = text.into();
        if is_problem && let Some(known) = self.messages.iter_mut().find(|known| known.text == text) {
            known.count += 1;
            return;
        }
        if self.messages.len() == MAX_MESSAGES {
            self.messages.remove(0);
            self.seen_count = self.seen_count.saturating_sub(1);
            self.opening_count = self.opening_count.saturating_sub(1);
        }
        self.messages.push(Message { text, is_problem, count: 1 });
    }

    /// Adds the response to a key: a new message, which replaces an earlier one with the same text.
    pub(crate) fn push_response(&mut self, text: impl Into<String>, is_problem: bool) {
        let text = text.into();
        self.messages.retain(|known| known.text != text);
        self.seen_count = self.seen_count.min(self.messages.len());
        self.add(text, is_problem);
    }

    /// Adds the messages that the screen shows when it opens.
    pub(crate) fn open_with(&mut self, texts: Vec<String>) {
        texts.into_iter().for_each(|text| self.add(text, true));
        self.opening_count = self.messages.len();
    }

    /// The new message to show, and the number of new messages. The last message with which the screen opened takes
    /// precedence over later ones.
    pub(crate) fn new_message(&self) -> Option<(&Message, usize)> {
        let news = self.messages.get(self.seen_count..)?;
        let opening = self.opening_count.checked_sub(self.seen_count + 1).and_then(|index| news.get(index));
        Some((opening.or(news.last())?, news.len()))
    }

    pub(crate) fn mark_seen(&mut self) {
        self.seen_count = self.messages.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_about_the_view_stay_until_a_key_is_pressed() {
        let mut messages = Messages::default();
        messages.open_with(vec!["a column needs a setting".to_owned()]);
        messages.add("a file cannot be read", true);
        let shown = |messages: &Messages| {
            messages.new_message().map(|(message, count)| (message.text.clone(), count))
        };
        assert_eq!(shown(&messages), Some(("a column needs a setting".to_owned(), 2)));
        messages.mark_seen();
        assert_eq!(shown(&messages), None);
        messages.add("another file cannot be read", true);
        assert_eq!(shown(&messages), Some(("another file cannot be read".to_owned(), 1)));
    }
}
