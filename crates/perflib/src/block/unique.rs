//! Finds duplicate ids.

/// Up to this number of ids, all pairs are compared; longer lists are copied and sorted.
const MAX_PAIRWISE: usize = 64;

/// The index of the first id that already occurred; `None` if all ids differ.
///
/// Takes O(n log n) time and at most 8 bytes of memory per id, even for a malicious block. Sorted ids need no memory.
pub(crate) fn first_duplicate(ids: impl ExactSizeIterator<Item = u32> + Clone) -> Option<usize> {
    if ids.clone().zip(ids.clone().skip(1)).all(|(id, next)| id < next) {
        return None;
    }
    if ids.len() <= MAX_PAIRWISE {
        return ids
            .clone()
            .enumerate()
            .position(|(index, id)| ids.clone().take(index).any(|other| other == id));
    }
    let mut sorted: Vec<(u32, u32)> = ids.zip(0..).collect();
    sorted.sort_unstable();
    sorted.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[1].1 as usize).min()
}

#[cfg(test)]
mod tests {
    use super::first_duplicate;

    #[test]
    fn finds_the_first_duplicate() {
        for length in [3u32, 63, 64, 65, 1000] {
            let rising: Vec<u32> = (0..length).collect();
            let falling: Vec<u32> = (0..length).rev().collect();
            for ids in [rising, falling] {
                assert_eq!(first_duplicate(ids.iter().copied()), None, "{length}");
                let mut ids = ids;
                let last = ids.len() - 1;
                ids[last] = ids[0];
                assert_eq!(first_duplicate(ids.iter().copied()), Some(last), "{length}");
                ids[1] = ids[0];
                assert_eq!(first_duplicate(ids.iter().copied()), Some(1), "{length}");
            }
        }
        assert_eq!(first_duplicate([].into_iter()), None);
        assert_eq!(first_duplicate([7].into_iter()), None);
    }
}
