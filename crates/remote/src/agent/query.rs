//! A query of a client, with the frames of its last two collections.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, TryLockError};
use std::time::{Duration, Instant};

use tachograph_perflib::{ErrorCode, IgnorePoison, Query, Registry, SetSelection};

use super::{AgentError, AgentOptions};
use crate::difference;
use crate::frame::{self, FrameTimes, Layout};
use crate::limits::{MAX_BYTES, MAX_BYTES_PER_CLIENT, MAX_IDLE};
use crate::message::{CollectReply, CollectRequest};

/// Maximum time that a collection waits for publishers. Consumers wait longer for the answer, so they receive the values of
/// the other sets even if one publisher is slow.
const MAX_PUBLISHER_WAIT: Duration = Duration::from_millis(300);

pub(super) struct AgentQuery {
    client: Box<str>,
    /// The total size of the kept frames in bytes.
    kept_bytes: AtomicUsize,
    /// When the query was last collected.
    last_used: Mutex<Instant>,
    state: Mutex<State>,
}

struct State {
    query: Option<Query>,
    /// The selections that were added.
    selections: Vec<SetSelection>,
    /// The frames of the last collection and of the one before it.
    last: CollectedFrame,
    previous: CollectedFrame,
    /// A buffer for the raw data block.
    block: Vec<u8>,
}

/// A frame with the number of its collection; the number is 0 if there is no frame.
#[derive(Default)]
struct CollectedFrame {
    number: u64,
    frame: Vec<u8>,
    layout: Layout,
}

impl CollectedFrame {
    /// The memory that is kept, in bytes.
    fn bytes(&self) -> usize {
        self.frame.capacity() + self.layout.bytes()
    }
}

impl AgentQuery {
    /// Opens a query. Returns it with a status for each selection. A set can be selected only once.
    pub(super) fn open(
        client: &str,
        registry: &Arc<Registry>,
        selections: Vec<SetSelection>,
    ) -> (Self, Vec<u32>) {
        let mut query = Query::open(registry, None).ok();
        let outcomes = match &mut query {
            Some(query) => {
                query.limit_wait(MAX_PUBLISHER_WAIT);
                query.add_selections(&selections)
            }
            None => vec![Err(ErrorCode::INTERNAL_ERROR); selections.len()],
        };
        let statuses = outcomes.iter().map(|outcome| outcome.err().map_or(0, |code| code.0)).collect();
        let added = selections.into_iter().zip(outcomes).filter(|(_, outcome)| outcome.is_ok());
        let added = added.map(|(selection, _)| selection).collect();
        let (last, previous) = (CollectedFrame::default(), CollectedFrame::default());
        let query = Self {
            client: client.into(),
            kept_bytes: AtomicUsize::new(0),
            last_used: Mutex::new(Instant::now()),
            state: Mutex::new(State { query, selections: added, last, previous, block: Vec::new() }),
        };
        (query, statuses)
    }

    pub(super) fn client(&self) -> &str {
        &self.client
    }

    pub(super) fn kept_bytes(&self) -> usize {
        self.kept_bytes.load(Ordering::Relaxed)
    }

    /// The time since the query was last collected.
    pub(super) fn idle_time(&self, now: Instant) -> Duration {
        now.saturating_duration_since(*self.last_used.lock().ignore_poison())
    }

    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.idle_time(now) >= MAX_IDLE
    }

    /// Collects, unless the request repeats the last one. `client_bytes` and `all_bytes` are the total sizes of the frames that
    /// are kept for this client and for all clients.
    pub(super) fn collect(
        &self,
        request: CollectRequest,
        options: &AgentOptions,
        generation: u64,
        client_bytes: usize,
        all_bytes: usize,
    ) -> Result<Vec<u8>, AgentError> {
        *self.last_used.lock().ignore_poison() = Instant::now();
        // A waiting request would occupy a thread that other clients need.
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(AgentError::Busy),
        };
        let state = &mut *state;
        if state.last.number != request.number {
            if let Err(error) = state.collect(request.number, options) {
                // The buffers may have grown beyond the maximum size of a frame.
                state.drop_frames();
                self.kept_bytes.store(0, Ordering::Relaxed);
                return Err(error);
            }
            let new_bytes = state.bytes();
            let old_bytes = self.kept_bytes.swap(new_bytes, Ordering::Relaxed);
            if client_bytes.saturating_sub(old_bytes) + new_bytes > MAX_BYTES_PER_CLIENT
                || all_bytes.saturating_sub(old_bytes) + new_bytes > MAX_BYTES
            {
                state.drop_frames();
                self.kept_bytes.store(state.bytes(), Ordering::Relaxed);
                return Err(AgentError::Limit("the frames of its queries are too large"));
            }
        }
        let is_held = request.held != 0 && state.previous.number == request.held;
        let base = if is_held { &state.previous } else { &CollectedFrame::default() };
        let segments = state.last.layout.segments(&base.layout);
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
        difference::encode_segments(&base.frame, &state.last.frame, &segments, &mut out);
        Ok(out)
    }
}

impl State {
    /// Collects. The previous frame is kept in `previous`, because consumers use it as the base.
    fn collect(&mut self, number: u64, options: &AgentOptions) -> Result<(), AgentError> {
        std::mem::swap(&mut self.last, &mut self.previous);
        self.last.number = 0;
        self.last.frame.clear();
        let query = self.query.as_mut().ok_or(AgentError::Failed(ErrorCode::INTERNAL_ERROR))?;
        let timestamps = query.collect();
        let times = FrameTimes { wall: timestamps.wall, boot_time: options.boot_time };
        frame::encode(query, &self.selections, times, &mut self.block, &mut self.last.frame)
            .map_err(AgentError::Failed)?;
        self.last.layout.update(&self.last.frame);
        self.last.number = number;
        Ok(())
    }

    /// The memory that is kept, in bytes.
    fn bytes(&self) -> usize {
        self.last.bytes() + self.previous.bytes() + self.block.capacity()
    }

    /// Drops all frames and buffers, and frees their memory.
    fn drop_frames(&mut self) {
        (self.last, self.previous, self.block) = Default::default();
    }
}

#[cfg(test)]
mod tests {
    use tachograph_counters::CounterType;
    use tachograph_counters::civil::FileTime;
    use tachograph_perflib::registration::{CounterInfo, CounterSetInfo, InstanceType};
    use tachograph_perflib::{
        Clock, CollectionId, Failure, Guid, InstanceFilter, InstanceKey, Provider, Rows,
    };

    use super::*;

    /// A provider that records how long it may wait, and whose instances exceed the maximum size of a frame.
    struct LargeProvider {
        info: Arc<CounterSetInfo>,
        max_wait: Arc<Mutex<Option<Duration>>>,
    }

    impl Provider for LargeProvider {
        fn info(&self) -> &Arc<CounterSetInfo> {
            &self.info
        }

        fn prepare(&mut self, _: &Rows, _: CollectionId, until: Instant) {
            *self.max_wait.lock().ignore_poison() = Some(until.saturating_duration_since(Instant::now()));
        }

        fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
            for id in 0..40_000 {
                rows.push(&Arc::new(InstanceKey::new(format!("{id:0>200}"), id, 0))).set(1, 7);
            }
            Ok(())
        }
    }

    #[test]
    fn collections_wait_briefly_and_free_their_memory_on_failure() {
        let set = Guid::from_u128(0x1A46E);
        let mut info = CounterSetInfo::new("Large", set, InstanceType::Multiple);
        info.counters.push(CounterInfo::new(1, "Value", CounterType::RAWCOUNT));
        let max_wait = Arc::new(Mutex::new(None));
        let mut registry = Registry::new("web1", Clock::of_this_machine());
        let provider = LargeProvider { info: Arc::new(info), max_wait: Arc::clone(&max_wait) };
        registry.register(Box::new(provider)).expect("a valid set");
        let registry = Arc::new(registry);
        let selection = SetSelection { set, counter_ids: vec![1], instances: vec![InstanceFilter::all()] };
        let (query, statuses) = AgentQuery::open("a", &registry, vec![selection]);
        assert_eq!(statuses, [0]);
        let options = AgentOptions {
            registry: Arc::new(move || Arc::clone(&registry)),
            boot_time: FileTime(0),
            id: 1,
            software: String::new(),
            random: || 1,
        };
        let outcome = query.collect(CollectRequest { number: 1, held: 0 }, &options, 1, 0, 0);
        assert_eq!(outcome, Err(AgentError::Failed(ErrorCode::OUT_OF_MEMORY)));
        assert_eq!((query.state.lock().ignore_poison().bytes(), query.kept_bytes()), (0, 0));
        let max_wait = max_wait.lock().ignore_poison().expect("the set was prepared");
        assert!(max_wait <= MAX_PUBLISHER_WAIT, "{max_wait:?}");
    }
}
