//! The collections in progress and the latest ones, with the agent's answers.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use tachograph_counters::civil::FileTime;
use tachograph_perflib::{CollectionId, Failure, Guid, InstanceKey, SetSelection, Timestamps};

use crate::frame::Frame;
use crate::limits::MAX_FRAME_BYTES;

/// Maximum number of collections that are remembered. Several threads can collect at the same time.
const MAX_COLLECTIONS: usize = 64;
/// Maximum number of collections that are remembered after all of their providers have read the answer.
const MAX_READ_COLLECTIONS: usize = 2;
/// Maximum number of collections whose frames are kept until all of their providers have read them.
const MAX_FRAMES: usize = 8;
/// Maximum total size of the kept frames. The newest frame always fits.
const MAX_KEPT_BYTES: usize = 2 * MAX_FRAME_BYTES;

/// What providers requested in a collection, and the answer.
#[derive(Debug)]
pub(super) struct Collection {
    pub(super) id: CollectionId,
    /// The selections, one for each set, in the order of requests.
    pub(super) selections: Vec<Arc<SetSelection>>,
    /// The sets whose instances are requested, without values.
    pub(super) listed_sets: Vec<Guid>,
    /// `None` until the exchange with the agent has ended.
    pub(super) answer: Option<Answer>,
    /// The number of providers that have read the answer: one for each selection and each list.
    readers: usize,
}

impl Collection {
    fn is_read_by_all(&self) -> bool {
        self.answer.is_some() && self.readers >= self.selections.len() + self.listed_sets.len()
    }
}

/// The answer to a collection.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) timestamps: Timestamps,
    pub(super) outcome: Result<Content, Failure>,
}

/// The content of an answer.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// The values, and for each selection the index of its result, or the error with which the agent refused it.
    Values(Arc<Frame>, Arc<[Result<usize, Failure>]>),
    /// Values whose frame is no longer kept.
    Dropped,
    /// The instances of the listed sets.
    Instances(Vec<Result<Vec<Arc<InstanceKey>>, Failure>>),
}

/// The last collections, and an estimate of the machine's time.
#[derive(Debug)]
pub(super) struct RecentCollections {
    collections: VecDeque<Collection>,
    /// The times of the last frame, and when it was received.
    last_times: (Timestamps, Instant),
    /// Whether `last_times` is from a frame. Before the first frame, it is an estimate.
    pub(super) has_frame_times: bool,
    /// When the machine booted, in UTC; 0 before it was reached.
    pub(super) boot_time: FileTime,
}

impl RecentCollections {
    /// `now` is used as the machine's time until the first answer.
    pub(super) fn new(now: Timestamps) -> Self {
        Self {
            collections: VecDeque::new(),
            last_times: (now, Instant::now()),
            has_frame_times: false,
            boot_time: FileTime(0),
        }
    }

    /// The collection with this id, which is added if it is new.
    pub(super) fn get_or_add(&mut self, id: CollectionId) -> &mut Collection {
        let index = match self.collections.iter().position(|known| known.id == id) {
            Some(index) => index,
            None => {
                let old = match self.collections.len() {
                    MAX_COLLECTIONS.. => self.collections.pop_front(),
                    MAX_READ_COLLECTIONS.. => {
                        let read = self.collections.iter().position(Collection::is_read_by_all);
                        read.and_then(|read| self.collections.remove(read))
                    }
                    _ => None,
                };
                let (selections, listed_sets) =
                    old.map(|old| (old.selections, old.listed_sets)).unwrap_or_default();
                let mut new = Collection { id, selections, listed_sets, answer: None, readers: 0 };
                new.selections.clear();
                new.listed_sets.clear();
                self.collections.push_back(new);
                self.collections.len() - 1
            }
        };
        &mut self.collections[index]
    }

    /// The collection with this id, if it is remembered.
    pub(super) fn get(&self, id: CollectionId) -> Option<&Collection> {
        self.collections.iter().find(|known| known.id == id)
    }

    /// The last collection whose answer has these times and for which `is_match` is true.
    pub(super) fn find(&self, at: Timestamps, is_match: impl Fn(&Collection) -> bool) -> Option<&Collection> {
        self.collections.iter().rev().find(|known| {
            known.answer.as_ref().is_some_and(|answer| answer.timestamps == at) && is_match(known)
        })
    }

    /// Counts a provider that has read the answer to a collection. After the last provider, the frame is dropped.
    pub(super) fn mark_read(&mut self, id: CollectionId) {
        let Some(known) = self.collections.iter_mut().find(|known| known.id == id) else { return };
        known.readers += 1;
        if known.is_read_by_all()
            && let Some(Answer { outcome, .. }) = &mut known.answer
            && matches!(outcome, Ok(Content::Values(..)))
        {
            *outcome = Ok(Content::Dropped);
        }
    }

    /// Drops the frames of all but the last collections, within [`MAX_FRAMES`] and [`MAX_KEPT_BYTES`]. Returns a dropped
    /// frame, whose buffer can be reused.
    pub(super) fn drop_old_frames(&mut self) -> Option<Arc<Frame>> {
        let (mut frames, mut bytes) = (0, 0_usize);
        let mut dropped = None;
        for answer in self.collections.iter_mut().rev().filter_map(|known| known.answer.as_mut()) {
            let Ok(Content::Values(frame, _)) = &answer.outcome else { continue };
            frames += 1;
            bytes = bytes.saturating_add(frame.bytes().len());
            if frames > MAX_FRAMES || bytes > MAX_KEPT_BYTES {
                dropped = Some(Arc::clone(frame));
                answer.outcome = Ok(Content::Dropped);
            }
        }
        dropped
    }

    /// Stores the times of a frame.
    pub(super) fn set_times(&mut self, timestamps: Timestamps) {
        self.last_times = (timestamps, Instant::now());
        self.has_frame_times = true;
    }

    /// The times of the last answer.
    pub(super) fn last_times(&self) -> Timestamps {
        self.last_times.0
    }

    /// The machine's current time: the times of the last answer plus the time that has elapsed since it was received.
    pub(super) fn estimated_times(&self) -> Timestamps {
        let (last, received) = self.last_times;
        let elapsed = i64::try_from(received.elapsed().as_nanos() / 100).unwrap_or(i64::MAX);
        Timestamps {
            ticks: last.ticks.saturating_add(elapsed),
            system_time: FileTime(last.system_time.0.saturating_add(elapsed)),
            wall: FileTime(last.wall.0.saturating_add(elapsed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tachograph_perflib::{Clock, IgnorePoison, Query, Registry};

    use super::*;
    use crate::frame::{FrameTimes, encode};

    #[test]
    fn frames_are_kept_for_the_last_collections_only() {
        // The clock receives the id of each collection.
        let ids = Arc::new(Mutex::new(None));
        let last_id = Arc::clone(&ids);
        let timestamps = Clock::of_this_machine().now();
        let times = move |id| {
            *ids.lock().ignore_poison() = id;
            timestamps
        };
        let clock = Clock::of_collections(times, || FileTime(0));
        let registry = Arc::new(Registry::new("web1", clock));
        let mut query = Query::open(&registry, None).expect("a query");
        query.collect();
        let mut bytes = Vec::new();
        encode(&query, &[], FrameTimes::default(), &mut Vec::new(), &mut bytes).expect("a frame");
        let selection =
            Arc::new(SetSelection { set: Guid::from_u128(1), counter_ids: vec![1], instances: Vec::new() });
        let mut collections = RecentCollections::new(timestamps);
        let mut frames = Vec::new();
        let mut has_dropped = Vec::new();
        for _ in 0..3 * MAX_FRAMES {
            let frame = Arc::new(Frame::new(bytes.clone(), &[]).expect("a valid frame"));
            frames.push(Arc::downgrade(&frame));
            let outcome = Ok(Content::Values(frame, [].into()));
            query.collect();
            let id = last_id.lock().ignore_poison().expect("the id of the collection");
            let collection = collections.get_or_add(id);
            // Its provider has not read the answer yet.
            collection.selections.push(Arc::clone(&selection));
            collection.answer = Some(Answer { timestamps, outcome });
            has_dropped.push(collections.drop_old_frames().is_some());
        }
        let live: Vec<bool> = frames.iter().map(|frame| frame.strong_count() > 0).collect();
        assert_eq!(live, [[false; 2 * MAX_FRAMES].as_slice(), &[true; MAX_FRAMES]].concat());
        assert_eq!(has_dropped, [[false; MAX_FRAMES].as_slice(), &[true; 2 * MAX_FRAMES]].concat());
        // A frame is dropped once its provider has read it.
        let id = last_id.lock().ignore_poison().expect("the id of the collection");
        collections.mark_read(id);
        assert_eq!(frames.last().map(std::sync::Weak::strong_count), Some(0));
    }
}
