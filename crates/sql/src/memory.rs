//! The memory pool of a query.

use std::fmt;
use std::sync::Mutex;

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};
use tachograph_counters::IgnorePoison as _;

/// Divides three quarters of the memory equally among the operators that can spill to disk. The rest is left to other
/// operators, such as the final merge of a sort. DataFusion's own fair pool leaves nothing to them, so that the merge at
/// the end of a large sort fails.
#[derive(Debug)]
pub(crate) struct QueryMemory {
    size: usize,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    /// The number of operators that can spill.
    spillers: usize,
    /// Bytes reserved by operators that can spill.
    spillable: usize,
    /// Bytes reserved by operators that cannot spill.
    unspillable: usize,
}

impl QueryMemory {
    pub(crate) fn new(size: usize) -> Self {
        Self { size, used: Mutex::default() }
    }
}

impl Used {
    fn bytes_of(&mut self, consumer: &MemoryConsumer) -> &mut usize {
        if consumer.can_spill() { &mut self.spillable } else { &mut self.unspillable }
    }
}

impl MemoryPool for QueryMemory {
    fn name(&self) -> &str {
        "query"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.used.lock().ignore_poison().spillers += usize::from(consumer.can_spill());
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        let mut used = self.used.lock().ignore_poison();
        used.spillers = used.spillers.saturating_sub(usize::from(consumer.can_spill()));
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        *self.used.lock().ignore_poison().bytes_of(reservation.consumer()) += additional;
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        let mut used = self.used.lock().ignore_poison();
        let bytes = used.bytes_of(reservation.consumer());
        *bytes = bytes.saturating_sub(shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let mut used = self.used.lock().ignore_poison();
        let available = match reservation.consumer().can_spill() {
            true => {
                let shared = (self.size - self.size / 4).min(self.size.saturating_sub(used.unspillable));
                (shared / used.spillers.max(1)).saturating_sub(reservation.size())
            }
            false => self.size.saturating_sub(used.spillable + used.unspillable),
        };
        if additional > available {
            return Err(DataFusionError::ResourcesExhausted(format!(
                "{} needs {} kB, but only {} of {} kB are free",
                reservation.consumer().name(),
                additional.div_ceil(1024),
                available / 1024,
                self.size / 1024
            )));
        }
        *used.bytes_of(reservation.consumer()) += additional;
        Ok(())
    }

    fn reserved(&self) -> usize {
        let used = self.used.lock().ignore_poison();
        used.spillable + used.unspillable
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.size)
    }
}

impl fmt::Display for QueryMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "query memory of {} bytes", self.size)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_quarter_is_reserved_for_operators_that_cannot_spill() {
        let pool: Arc<dyn MemoryPool> = Arc::new(QueryMemory::new(1000));
        let spiller = |name: &str| MemoryConsumer::new(name).with_can_spill(true).register(&pool);
        let (one, other) = (spiller("one"), spiller("other"));
        assert!(one.try_grow(375).is_ok() && one.try_grow(1).is_err());
        assert!(other.try_grow(375).is_ok());
        let merge = MemoryConsumer::new("merge").register(&pool);
        assert!(merge.try_grow(250).is_ok());
        let error = merge.try_grow(1).expect_err("the pool is full");
        assert!(error.to_string().contains("merge needs 1 kB"), "{error}");
        drop(other);
        assert_eq!(pool.reserved(), 625);
        // The only remaining operator that can spill gets the whole share.
        assert!(one.try_grow(375).is_ok() && one.try_grow(1).is_err());
        drop((one, merge));
        assert_eq!(pool.reserved(), 0);
    }
}
