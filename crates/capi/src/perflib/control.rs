//! Requests from consumers, encoded for a provider's callback.

use tachograph_publish::dynamic::{Request, RequestKind};

use super::encoding::{to_words, utf16_with_nul};

/// Size of `PERF_COUNTER_IDENTITY` without the names after it.
const IDENTITY_BYTES: usize = 40;

/// The buffer that the callback receives. For `AddCounter` and `RemoveCounter`: `PERF_COUNTER_IDENTITY` with the names of
/// machine and instance; for other requests, only the name of the machine. Returns the buffer as words, so that it is aligned
/// to 8 bytes, and the length of its content in bytes.
pub(super) fn encode_request(request: &Request<'_>) -> (Vec<u64>, u32) {
    let mut bytes = Vec::new();
    match request.kind {
        RequestKind::AddCounter | RequestKind::RemoveCounter => {
            let machine = utf16_with_nul(request.machine);
            let instance = utf16_with_nul(request.instance);
            let machine_offset = IDENTITY_BYTES;
            let name_offset = machine_offset + machine.len();
            bytes.extend(request.set.to_bytes());
            // The names have at most 1023 UTF-16 units, so these numbers fit.
            let numbers = [
                (name_offset + instance.len()) as u32,
                request.counter_id,
                request.instance_id,
                machine_offset as u32,
                name_offset as u32,
                0,
            ];
            numbers.into_iter().for_each(|number| bytes.extend(number.to_le_bytes()));
            bytes.extend(machine);
            bytes.extend(instance);
        }
        _ => bytes.extend(utf16_with_nul(request.machine)),
    }
    let length = bytes.len() as u32;
    (to_words(bytes), length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tachograph_shm::Guid;

    #[test]
    fn the_names_follow_an_identity() {
        let mut request = Request {
            kind: RequestKind::AddCounter,
            set: Guid::from_u128(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef),
            counter_id: 7,
            instance_id: u32::MAX,
            instance: "*",
            machine: "WEB",
        };
        let (words, length) = encode_request(&request);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!((length, bytes.len()), (52, 56));
        assert_eq!(bytes[..4], [0x67, 0x45, 0x23, 0x01]);
        let numbers: Vec<u32> = (16..40)
            .step_by(4)
            .map(|at| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes")))
            .collect();
        assert_eq!(numbers, [52, 7, u32::MAX, 40, 48, 0]);
        assert_eq!(bytes[40..52], *b"W\0E\0B\0\0\0*\0\0\0");
        request.kind = RequestKind::CollectStart;
        assert_eq!(encode_request(&request), (vec![u64::from_le_bytes(*b"W\0E\0B\0\0\0")], 8));
    }
}
