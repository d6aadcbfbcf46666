//! The example blocks of the reference "PerfLib V2: model, interfaces, blocks", section 5.
//!
//! Common header values: PerfTimeStamp 2006530743703, PerfTime100NSec 131246703908743382 (2016-11-26 21:46:30.874 UTC, a
//! Saturday), PerfFreq 2630633.

#![allow(dead_code, unreachable_pub, reason = "each test uses some of them")]

/// PERF_ERROR_RETURN (0), 64 bytes.
pub const A: &str = "
    40 00 00 00 01 00 00 00 97 5D 8D 2E D3 01 00 00
    D6 E8 6B 8C 2E 48 D2 01 E9 23 28 00 00 00 00 00
    E0 07 0B 00 06 00 1A 00 15 00 2E 00 1E 00 6A 03
    6A 10 00 00 00 00 00 00 10 00 00 00 00 00 00 00
";

/// PERF_SINGLE_COUNTER (1), 80 bytes.
pub const B: &str = "
    50 00 00 00 01 00 00 00 97 5D 8D 2E D3 01 00 00
    D6 E8 6B 8C 2E 48 D2 01 E9 23 28 00 00 00 00 00
    E0 07 0B 00 06 00 1A 00 15 00 2E 00 1E 00 6A 03
    00 00 00 00 01 00 00 00 20 00 00 00 00 00 00 00
    08 00 00 00 10 00 00 00 EF CD AB 89 67 45 23 01
";

/// PERF_MULTIPLE_COUNTERS (2), 136 bytes.
pub const C: &str = "
    88 00 00 00 01 00 00 00 97 5D 8D 2E D3 01 00 00
    D6 E8 6B 8C 2E 48 D2 01 E9 23 28 00 00 00 00 00
    E0 07 0B 00 06 00 1A 00 15 00 2E 00 1E 00 6A 03
    00 00 00 00 02 00 00 00 58 00 00 00 00 00 00 00
    18 00 00 00 03 00 00 00 01 00 00 00 04 00 00 00
    06 00 00 00 00 00 00 00 04 00 00 00 10 00 00 00
    64 00 00 00 00 00 00 00 08 00 00 00 10 00 00 00
    00 F2 05 2A 01 00 00 00 04 00 00 00 10 00 00 00
    07 00 00 00 00 00 00 00
";

/// PERF_MULTIPLE_INSTANCES (4), 144 bytes.
pub const D: &str = "
    90 00 00 00 01 00 00 00 97 5D 8D 2E D3 01 00 00
    D6 E8 6B 8C 2E 48 D2 01 E9 23 28 00 00 00 00 00
    E0 07 0B 00 06 00 1A 00 15 00 2E 00 1E 00 6A 03
    00 00 00 00 04 00 00 00 60 00 00 00 00 00 00 00
    50 00 00 00 02 00 00 00 10 00 00 00 00 00 00 00
    30 00 2C 00 30 00 00 00 08 00 00 00 10 00 00 00
    B9 B8 33 9A 75 04 00 00 18 00 00 00 01 00 00 00
    5F 00 54 00 6F 00 74 00 61 00 6C 00 00 00 00 00
    08 00 00 00 10 00 00 00 00 D0 84 BD E9 08 00 00
";

/// PERF_COUNTERSET (6), 200 bytes.
pub const E: &str = "
    C8 00 00 00 01 00 00 00 97 5D 8D 2E D3 01 00 00
    D6 E8 6B 8C 2E 48 D2 01 E9 23 28 00 00 00 00 00
    E0 07 0B 00 06 00 1A 00 15 00 2E 00 1E 00 6A 03
    00 00 00 00 06 00 00 00 98 00 00 00 00 00 00 00
    10 00 00 00 02 00 00 00 00 00 00 00 03 00 00 00
    78 00 00 00 02 00 00 00 10 00 00 00 00 00 00 00
    30 00 2C 00 30 00 00 00 08 00 00 00 10 00 00 00
    B9 B8 33 9A 75 04 00 00 04 00 00 00 10 00 00 00
    43 E4 37 22 00 00 00 00 20 00 00 00 01 00 00 00
    30 00 2C 00 5F 00 54 00 6F 00 74 00 61 00 6C 00
    00 00 00 00 00 00 00 00 08 00 00 00 10 00 00 00
    B9 B8 33 9A 75 04 00 00 04 00 00 00 10 00 00 00
    43 E4 37 22 00 00 00 00
";

/// PERF_COUNTER_IDENTIFIER, multi-instance set, all counters, all instances, 48 bytes.
pub const F: &str = "
    1A 72 FC B4 78 03 6F 47 89 BA A5 A7 9F 81 0B 36
    00 00 00 00 30 00 00 00 FF FF FF FF FF FF FF FF
    00 00 00 00 00 00 00 00 2A 00 00 00 00 00 00 00
";

/// PERF_COUNTER_IDENTIFIER, single-instance set, counter 7, 40 bytes.
pub const G: &str = "
    78 56 34 12 BC 9A F0 DE 11 22 33 44 55 66 77 88
    00 00 00 00 28 00 00 00 07 00 00 00 FF FF FF FF
    00 00 00 00 00 00 00 00
";

/// Result of PerfEnumerateCounterSetInstances, 40 bytes.
pub const H: &str = "
    18 00 00 00 00 00 00 00 5F 00 54 00 6F 00 74 00
    61 00 6C 00 00 00 00 00 10 00 00 00 01 00 00 00
    43 00 3A 00 00 00 00 00
";

/// Request 1: PERF_COUNTERSET_REG_INFO with three counters, 176 bytes.
pub const I: &str = "
    78 56 34 12 BC 9A F0 DE 11 22 33 44 55 66 77 88
    00 00 00 00 64 00 00 00 03 00 00 00 02 00 00 00
    01 00 00 00 00 05 41 10 00 00 00 00 00 00 00 00
    64 00 00 00 00 00 00 00 FF FF FF FF FF FF FF FF
    FF FF FF FF FF FF FF FF 00 00 00 00 00 00 00 00
    02 00 00 00 00 05 02 40 00 00 00 00 00 00 00 00
    C8 00 00 00 FD FF FF FF 03 00 00 00 FF FF FF FF
    FF FF FF FF FF FF FF FF 00 00 00 00 00 00 00 00
    03 00 00 00 02 04 03 40 02 00 00 00 00 00 00 00
    C8 00 00 00 00 00 00 00 FF FF FF FF FF FF FF FF
    FF FF FF FF FF FF FF FF 00 00 00 00 00 00 00 00
";

/// Request 5: PERF_STRING_BUFFER_HEADER, 80 bytes.
pub const J: &str = "
    50 00 00 00 03 00 00 00 01 00 00 00 20 00 00 00
    02 00 00 00 34 00 00 00 03 00 00 00 FF FF FF FF
    52 00 65 00 61 00 64 00 73 00 2F 00 73 00 65 00
    63 00 00 00 42 00 79 00 74 00 65 00 73 00 2F 00
    52 00 65 00 61 00 64 00 00 00 00 00 00 00 00 00
";

/// Provider template: PERF_COUNTERSET_INFO with two counters, 104 bytes.
pub const K: &str = "
    78 56 34 12 BC 9A F0 DE 11 22 33 44 55 66 77 88
    A9 CB ED 0F 65 87 21 43 88 99 AA BB CC DD EE FF
    02 00 00 00 02 00 00 00 01 00 00 00 00 05 41 10
    00 00 00 00 00 00 00 00 08 00 00 00 64 00 00 00
    00 00 00 00 00 00 00 00 02 00 00 00 00 00 01 00
    00 00 00 00 00 00 00 00 04 00 00 00 64 00 00 00
    00 00 00 00 00 00 00 00
";

/// Instance block: PERF_COUNTERSET_INSTANCE "disk0", id 5, 64 bytes.
pub const L: &str = "
    78 56 34 12 BC 9A F0 DE 11 22 33 44 55 66 77 88
    40 00 00 00 05 00 00 00 30 00 00 00 0C 00 00 00
    D2 04 00 00 00 00 00 00 09 00 00 00 00 00 00 00
    64 00 69 00 73 00 6B 00 30 00 00 00 00 00 00 00
";

/// Two results in one block, 96 bytes.
pub const M: &str = "
    60 00 00 00 02 00 00 00 97 5D 8D 2E D3 01 00 00
    D6 E8 6B 8C 2E 48 D2 01 E9 23 28 00 00 00 00 00
    E0 07 0B 00 06 00 1A 00 15 00 2E 00 1E 00 6A 03
    00 00 00 00 01 00 00 00 20 00 00 00 00 00 00 00
    04 00 00 00 10 00 00 00 2A 00 00 00 00 00 00 00
    6A 10 00 00 00 00 00 00 10 00 00 00 00 00 00 00
";

/// Converts a block from hexadecimal.
pub fn bytes(hexadecimal: &str) -> Vec<u8> {
    hexadecimal.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).expect("hexadecimal")).collect()
}

/// All blocks of results.
pub const DATA: [(&str, &str); 6] = [("A", A), ("B", B), ("C", C), ("D", D), ("E", E), ("M", M)];

/// All blocks.
pub const ALL: [(&str, &str); 13] = [
    ("A", A),
    ("B", B),
    ("C", C),
    ("D", D),
    ("E", E),
    ("F", F),
    ("G", G),
    ("H", H),
    ("I", I),
    ("J", J),
    ("K", K),
    ("L", L),
    ("M", M),
];
