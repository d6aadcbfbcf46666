//! A query of a client, with the frames of its last two collections.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tachograph_perflib::{ErrorCode, IgnorePoison, Query, Registry, SetSelection};

use super::{AgentError, AgentOptions};
use crate::difference;
use crate::frame::{self, FrameTimes};
use crate::limits::{MAX_BYTES, MAX_BYTES_PER_CLIENT, MAX_IDLE};
use crate::message::{CollectReply, CollectRequest};

pub(super) struct AgentQuery {
    client: Box<str>,
    /// The size of the kept frames.
    kept_bytes: AtomicUsize,
    used: Mutex<Instant>,
    state: Mutex<State>,
}

struct State {
    query: Option<Query>,
    /// The selections that were added.
    selections: Vec<SetSelection>,
    /// The frame of the last collection, and the one before.
    last: Kept,
    before: Kept,
    block: Vec<u8>,
}

/// A frame with the number of its collection; 0 without a frame.
#[derive(Default)]
struct Kept {
    number: u64,
    frame: Vec<u8>,
}

impl AgentQuery {
    /// Opens a query. Returns it with a status for each selection. A set can be selected only once.
    pub(super) fn open(
        client: &str,
        registry: &Arc<Registry>,
        selections: Vec<SetSelection>,
    ) -> (Self, Vec<u32>) {
        let mut query = Query::open(registry, None).ok();
        let mut added: Vec<SetSelection> = Vec::new();
        let mut statuses = Vec::with_capacity(selections.len());
        for selection in selections {
            let outcome = match &mut query {
                _ if added.iter().any(|known| known.set == selection.set) => Err(ErrorCode::ALREADY_EXISTS),
                Some(query) => query.add_selection(&selection),
                None => Err(ErrorCode::INTERNAL_ERROR),
            };
            statuses.push(outcome.err().map_or(0, |code| code.0));
            if outcome.is_ok() {
                added.push(selection);
            }
        }
        let (last, before) = (Kept::default(), Kept::default());
        let query = Self {
            client: client.into(),
            kept_bytes: AtomicUsize::new(0),
            used: Mutex::new(Instant::now()),
            state: Mutex::new(State { query, selections: added, last, before, block: Vec::new() }),
        };
        (query, statuses)
    }

    pub(super) fn client(&self) -> &str {
        &self.client
    }

    pub(super) fn kept_bytes(&self) -> usize {
        self.kept_bytes.load(Ordering::Relaxed)
    }

    pub(super) fn is_idle(&self, now: Instant) -> bool {
        now.saturating_duration_since(*self.used.lock().ignore_poison()) >= MAX_IDLE
    }

    /// Collects, unless the request repeats the last one. `kept_of_client` and `kept` are the sizes of all frames that are
    /// kept.
    pub(super) fn collect(
        &self,
        request: CollectRequest,
        options: &AgentOptions,
        generation: u64,
        kept_of_client: usize,
        kept: usize,
    ) -> Result<Vec<u8>, AgentError> {
        *self.used.lock().ignore_poison() = Instant::now();
        let state = &mut *self.state.lock().ignore_poison();
        if state.last.number != request.number {
            state.collect(request.number, options)?;
            let own = state.bytes();
            let before = self.kept_bytes.swap(own, Ordering::Relaxed);
            if kept_of_client - before.min(kept_of_client) + own > MAX_BYTES_PER_CLIENT
                || kept - before.min(kept) + own > MAX_BYTES
            {
                state.forget();
                self.kept_bytes.store(state.bytes(), Ordering::Relaxed);
                return Err(AgentError::Limit("the frames of its queries are too large"));
            }
        }
        let base = if state.before.number == request.held { &state.before } else { &Kept::default() };
        let reply = CollectReply {
            agent_id: options.id,
            generation,
            number: state.last.number,
            base: base.number,
            frame_bytes: state.last.frame.len(),
            differences: &[],
        };
        let mut out = Vec::new();
        reply.encode_head(&mut out);
        difference::encode(&base.frame, &state.last.frame, &mut out);
        Ok(out)
    }
}

impl State {
    /// Collects. The last frame becomes the one before, which consumers have as their base.
    fn collect(&mut self, number: u64, options: &AgentOptions) -> Result<(), AgentError> {
        std::mem::swap(&mut self.last, &mut self.before);
        self.last.number = 0;
        let query = self.query.as_mut().ok_or(AgentError::Failed(ErrorCode::INTERNAL_ERROR))?;
        let at = query.collect();
        let times = FrameTimes { wall: at.wall, boot_time: options.boot_time };
        frame::encode(query, &self.selections, times, &mut self.block, &mut self.last.frame)
            .map_err(AgentError::Failed)?;
        self.last.number = number;
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.last.frame.capacity() + self.before.frame.capacity() + self.block.capacity()
    }

    fn forget(&mut self) {
        (self.last, self.before, self.block) = Default::default();
    }
}
