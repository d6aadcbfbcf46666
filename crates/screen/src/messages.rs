//! The messages of the screen.

/// All messages, for the last line and the list of messages.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    pub(crate) messages: Vec<Message>,
    /// The number of messages when a key was last pressed; messages added since then are new.
    seen_count: usize,
    /// The number of messages when the screen opened. They are about the view and stay until a key is pressed.
    opening_count: usize,
    /// A message about counters without values, and the number of samples after which it disappears.
    short: Option<(String, u8)>,
}

/// The number of samples for which the last line shows a message about counters without values.
const SHORT_SAMPLES: u8 = 5;

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

    /// Adds a message to the list only, unless the list has it.
    pub(crate) fn add_to_list(&mut self, text: String) {
        if self.messages.iter().any(|known| known.text == text) {
            return;
        }
        let news = self.messages.split_off(self.seen_count.min(self.messages.len()));
        self.add(text, false);
        self.seen_count = self.messages.len();
        self.messages.extend(news);
    }

    /// Adds the response to a key: a new message, which replaces an earlier one with the same text.
    pub(crate) fn push_response(&mut self, text: impl Into<String>, is_problem: bool) {
        let text = text.into();
        self.messages.retain(|known| known.text != text);
        self.seen_count = self.seen_count.min(self.messages.len());
        self.add(text, is_problem);
    }

    /// Adds messages about counters without values to the list. The last line only points to them, for a few samples, because
    /// nothing has failed and the keys are more useful; it does not if `what` is empty.
    pub(crate) fn add_unavailable(&mut self, what: &str, texts: Vec<String>) {
        texts.into_iter().for_each(|text| self.add_to_list(text));
        if !what.is_empty() {
            self.short = Some((format!("{what} unavailable: ! shows"), SHORT_SAMPLES));
        }
    }

    /// Removes the short message, because the counters have values again.
    pub(crate) fn forget_short(&mut self) {
        self.short = None;
    }

    /// The short message about counters without values.
    pub(crate) fn short(&self) -> Option<&str> {
        self.short.as_ref().map(|(text, _)| text.as_str())
    }

    /// Lets the short message disappear a few samples after it was added. Returns whether it has disappeared now.
    pub(crate) fn sample_taken(&mut self) -> bool {
        let Some((_, left)) = &mut self.short else { return false };
        *left -= 1;
        let is_over = *left == 0;
        if is_over {
            self.short = None;
        }
        is_over
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
        self.short = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unavailable_counters_are_mentioned_for_a_few_samples() {
        let mut messages = Messages::default();
        messages.add_unavailable("2 counters", vec!["two counters: permission denied".to_owned()]);
        assert_eq!(messages.short(), Some("2 counters unavailable: ! shows"));
        assert!(messages.new_message().is_none() && messages.messages.len() == 1);
        let over: Vec<_> = (0..6).map(|_| messages.sample_taken()).collect();
        assert_eq!(over, [false, false, false, false, true, false]);
        assert_eq!(messages.short(), None);
        messages.add_unavailable("1 counter", vec!["a counter: no such file".to_owned()]);
        assert_eq!(messages.short(), Some("1 counter unavailable: ! shows"));
        messages.forget_short();
        messages.add_unavailable("", vec!["a machine: late".to_owned()]);
        assert_eq!((messages.short(), messages.messages.len()), (None, 3));
        messages.add_unavailable("1 counter", Vec::new());
        messages.mark_seen();
        assert_eq!(messages.short(), None);
    }

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
        // A message for the list is not news.
        messages.add_to_list("a column is missing".to_owned());
        messages.add_to_list("a column is missing".to_owned());
        assert_eq!(shown(&messages), Some(("another file cannot be read".to_owned(), 1)));
        assert_eq!(messages.messages.iter().filter(|known| known.text == "a column is missing").count(), 1);
    }
}
