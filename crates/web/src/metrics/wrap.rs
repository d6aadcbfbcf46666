//! Counters of 32 bits that begin again at 0: to Prometheus that would be a restart.

/// 2^32.
const TURN: u64 = 1 << 32;

/// One counter of one instance, extended to 64 bits for as long as it is watched.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extended {
    last: Option<u64>,
    turns: u64,
}

impl Extended {
    /// The next raw number, extended.
    ///
    /// A number of 32 bits that is smaller than before has begun again at 0 where that means an increase by less than
    /// 2^31; else the counter was reset, which Prometheus is to see. Numbers beyond 32 bits are taken as they are.
    pub(super) fn next(&mut self, raw: u64) -> u64 {
        match self.last {
            Some(last) if raw < last => {
                let is_turn = last < TURN && raw + TURN - last < TURN / 2;
                self.turns = if is_turn { self.turns + 1 } else { 0 };
            }
            _ => {}
        }
        self.last = Some(raw);
        raw.saturating_add(self.turns.saturating_mul(TURN))
    }
}

#[cfg(test)]
mod tests {
    use super::{Extended, TURN};

    #[test]
    fn a_turn_goes_on_and_a_reset_begins_anew() {
        let mut one = Extended::default();
        assert_eq!(one.next(TURN - 10), TURN - 10);
        assert_eq!(one.next(5), TURN + 5);
        assert_eq!(one.next(TURN - 1), 2 * TURN - 1);
        assert_eq!(one.next(0), 2 * TURN);
        assert_eq!(one.next(1000), 2 * TURN + 1000);
        // Nothing counts 2^32 less 500 within a scrape.
        assert_eq!(one.next(500), 500);
        let mut wide = Extended::default();
        assert_eq!(wide.next(TURN + 7), TURN + 7);
        assert_eq!(wide.next(6), 6);
        assert_eq!(wide.next(u64::MAX), u64::MAX);
    }
}
