//! What is said in the line of messages.

/// Messages, each said once and kept for those who ask.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    all: Vec<Message>,
    /// How many were there when a key was pressed last: later ones are new.
    seen: usize,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) text: String,
    pub(crate) is_trouble: bool,
    /// How often it was said.
    pub(crate) count: u64,
}

/// More than anybody reads.
const MOST: usize = 1000;

impl Messages {
    /// Says something. What was said before is only counted.
    pub(crate) fn say(&mut self, text: impl Into<String>, is_trouble: bool) {
        let text = text.into();
        if is_trouble && let Some(known) = self.all.iter_mut().find(|known| known.text == text) {
            known.count += 1;
            return;
        }
        if self.all.len() == MOST {
            self.all.remove(0);
            self.seen = self.seen.saturating_sub(1);
        }
        self.all.push(Message { text, is_trouble, count: 1 });
    }

    /// Says something again where it was said before: an answer to a key.
    pub(crate) fn answer(&mut self, text: impl Into<String>, is_trouble: bool) {
        let text = text.into();
        self.all.retain(|known| known.text != text);
        self.seen = self.seen.min(self.all.len());
        self.say(text, is_trouble);
    }

    /// The last new message, and how many new ones there are.
    pub(crate) fn news(&self) -> Option<(&Message, usize)> {
        let news = self.all.get(self.seen..)?;
        Some((news.last()?, news.len()))
    }

    /// What is new has been seen.
    pub(crate) fn note_seen(&mut self) {
        self.seen = self.all.len();
    }

    /// All, the oldest first.
    pub(crate) fn all(&self) -> &[Message] {
        &self.all
    }
}
