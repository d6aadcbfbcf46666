//! Files that are truncated, have flipped bits, or have invalid fields.

use tachograph_mmv::{LayoutError, image_providers};
use tachograph_perflib::Provider;

use crate::checks;
use crate::writer::{File, I32, INSTANT, Image, Indom, Metric};

fn error(bytes: &[u8]) -> LayoutError {
    image_providers("x", bytes).map(|sets: Vec<Box<dyn Provider>>| sets.len()).expect_err("an error")
}

#[test]
fn files_truncated_at_every_byte_are_errors() {
    for version in [1, 2, 3] {
        let whole = File::shop(version).image().bytes;
        for length in 0..whole.len() {
            let error = error(&whole[..length]);
            assert!(error.offset() <= whole.len() as u64, "{length}: {error}");
        }
        assert!(image_providers("x", &whole).is_ok());
    }
}

#[test]
fn no_flipped_bit_causes_a_panic() {
    for version in [1, 2, 3] {
        let Image { mut bytes, labels, indoms, .. } = File::shop(version).image();
        // Versions 2 and 3 have the same bytes in this range: test it once.
        let tested_before = if version == 3 { indoms..labels } else { 0..0 };
        for bit in (0..8 * bytes.len()).filter(|bit| !tested_before.contains(&(bit / 8))) {
            bytes[bit / 8] ^= 1 << (bit % 8);
            checks::mmv(&bytes);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

/// Damages one field of a file.
type Damage = fn(&mut Image);

fn set_u32(bytes: &mut [u8], at: usize, number: u32) {
    bytes[at..at + 4].copy_from_slice(&number.to_ne_bytes());
}

fn set_u64(bytes: &mut [u8], at: usize, number: u64) {
    bytes[at..at + 8].copy_from_slice(&number.to_ne_bytes());
}

/// The damaged field, a part of the message, and the function that damages a file of version 2 with all sections except labels.
const BROKEN: &[(&str, &str, Damage)] = &[
    ("magic", "0: magic: found MMW\\x00, expected MMV\\x00", |image| image.bytes[2] = b'W'),
    ("version 0", "4: version: found 0, expected 1, 2 or 3", |image| set_u32(&mut image.bytes, 4, 0)),
    ("version 4", "4: version: found 4, expected 1, 2 or 3", |image| set_u32(&mut image.bytes, 4, 4)),
    ("generation", "16: generation 2: found 8, expected 7, like generation 1", |image| {
        set_u64(&mut image.bytes, 16, 8);
    }),
    ("one section", "24: number of sections: found 1, expected 2 to 6", |image| {
        set_u32(&mut image.bytes, 24, 1)
    }),
    ("seven sections", "24: number of sections: found 7, expected 2 to 6", |image| {
        set_u32(&mut image.bytes, 24, 7);
    }),
    ("negative sections", "24: number of sections: found -1, expected 2 to 6", |image| {
        set_u32(&mut image.bytes, 24, u32::MAX);
    }),
    ("process", "32: process: found 0, expected the id of a process", |image| {
        set_u32(&mut image.bytes, 28, 2);
        set_u32(&mut image.bytes, 32, 0);
    }),
    ("kind of section", "40: kind of a section: found 9, expected 1 to 6", |image| {
        set_u32(&mut image.bytes, 40, 9);
    }),
    ("section twice", "72: kind of a section: found 2, expected each kind at most once", |image| {
        set_u32(&mut image.bytes, 72, 2);
    }),
    ("negative count", "44: number of entries: found -1, expected 0 to 1024", |image| {
        set_u32(&mut image.bytes, 44, u32::MAX);
    }),
    ("many metrics", "76: number of entries: found 4097, expected 0 to 4096", |image| {
        set_u32(&mut image.bytes, 76, 4097);
    }),
    ("many instances", "60: number of entries: found 65537, expected 0 to 65536", |image| {
        set_u32(&mut image.bytes, 60, 65_537);
    }),
    (
        "section after the end",
        "80: offset of a section: found 18446744073709551615, expected an offset at which 6 entries of 48 bytes fit",
        |image| {
            set_u64(&mut image.bytes, 80, u64::MAX);
        },
    ),
    ("values after the end", "96: offset of a section: found ", |image| {
        let end = image.bytes.len() as u64;
        set_u64(&mut image.bytes, 96, end - 31);
    }),
    ("no metrics", "40: section of metrics: found none, expected one section", |image| {
        set_u32(&mut image.bytes, 72, 6);
    }),
    ("no values", "40: section of values: found none, expected one section", |image| {
        set_u32(&mut image.bytes, 88, 6);
    }),
    ("serial twice", "152: serial of an instance domain: found 61, expected a unique serial", |image| {
        set_u32(&mut image.bytes, image.indoms + 32, 61);
    }),
    ("instances of a domain", "124: number of instances: found 3, expected at most 2", |image| {
        set_u32(&mut image.bytes, image.indoms + 4, 3);
    }),
    ("first instance", "128: first instance: found 185, expected the offset of an instance", |image| {
        let at = image.instances as u64 + 1;
        set_u64(&mut image.bytes, image.indoms + 8, at);
    }),
    (
        "first instance before the section",
        "128: first instance: found 0, expected the offset of an instance",
        |image| {
            set_u64(&mut image.bytes, image.indoms + 8, 0);
        },
    ),
    ("domain's help", "help text: found the end of the file (", |image| {
        set_u64(&mut image.bytes, image.indoms + 16, u64::MAX - 3);
    }),
    ("instance's domain", "184: instance domain of an instance: found 121, expected 120", |image| {
        let at = image.indoms as u64 + 1;
        set_u64(&mut image.bytes, image.instances, at);
    }),
    ("instance's name", "200: name of an instance: found 0, expected the offset of a string", |image| {
        set_u64(&mut image.bytes, image.instances + 16, 0);
    }),
    ("metric's name", "232: name of a metric: found 0, expected the offset of a string", |image| {
        set_u64(&mut image.bytes, image.metrics, 0);
    }),
    ("metric's name across the end", "name of a metric: found the end of the file (", |image| {
        let end = image.bytes.len() as u64;
        set_u64(&mut image.bytes, image.metrics, end - 255);
    }),
    (
        "unterminated name",
        "name of a metric: found 256 bytes without NUL, expected a NUL-terminated string",
        |image| {
            let at = u64::from_ne_bytes(
                image.bytes[image.metrics..image.metrics + 8].try_into().expect("8 bytes"),
            );
            image.bytes[at as usize..at as usize + 256].fill(b'a');
        },
    ),
    (
        "metric's domain",
        "256: instance domain of a metric: found 62, expected the serial of an instance domain, 0 or -1",
        |image| {
            set_u32(&mut image.bytes, image.metrics + 24, 62);
        },
    ),
    ("metric's help", "help text: found the end of the file (", |image| {
        let end = image.bytes.len() as u64;
        set_u64(&mut image.bytes, image.metrics + 40, end);
    }),
    ("value's metric", "metric of a value: found 233, expected the offset of a metric", |image| {
        let at = image.metrics as u64 + 1;
        set_u64(&mut image.bytes, image.values + 16, at);
    }),
    (
        "value's metric after the section",
        "metric of a value: found 520, expected the offset of a metric",
        |image| {
            let at = image.values as u64;
            set_u64(&mut image.bytes, image.values + 16, at);
        },
    ),
    (
        "value's instance",
        "instance of a value: found 0, expected the offset of an instance in the metric's instance domain",
        |image| {
            set_u64(&mut image.bytes, image.values + 24, 0);
        },
    ),
];

#[test]
fn errors_name_the_damaged_field_and_its_offset() {
    for (field, expected, damage) in BROKEN {
        let mut file = File::shop(2);
        file.indoms.push(Indom { serial: 62_000, short: "", long: "", instances: Vec::new() });
        let mut image = file.image();
        assert!(image_providers("x", &image.bytes).is_ok());
        damage(&mut image);
        let message = error(&image.bytes).to_string();
        assert!(message.starts_with("offset ") && message.contains(expected), "{field}: {message}");
    }
}

#[test]
fn an_unterminated_name_of_version_1_is_an_error() {
    let mut image = File::shop(1).image();
    let at = image.metrics;
    image.bytes[at..at + 64].fill(b'a');
    assert_eq!(
        error(&image.bytes).to_string(),
        format!(
            "offset {at}: name of a metric: found 64 bytes without NUL, expected a NUL-terminated string"
        )
    );
    assert_eq!(error(&image.bytes).field(), "name of a metric");
}

#[test]
fn domains_that_share_an_instance_are_an_error() {
    let mut file = File::shop(1);
    file.indoms.push(Indom { serial: 9, short: "", long: "", instances: vec![(1, "a".to_owned())] });
    let mut image = file.image();
    set_u32(&mut image.bytes, image.indoms + 4, 3);
    assert_eq!(error(&image.bytes).field(), "instance domain of an instance");
}

/// A small file can describe a table of a million cells.
#[test]
fn sets_that_are_too_large_are_skipped() {
    let mut file = File::new(2);
    let instances: Vec<_> = (0..1_025).map(|n| (n, "i".to_owned())).collect();
    file.indoms.push(Indom { serial: 1, short: "", long: "", instances });
    file.metrics =
        (1..=1_024).map(|n| Metric::new(&format!("m{n}"), n, I32, INSTANT, 0).in_domain(1, &[])).collect();
    assert!(image_providers("x", &file.image().bytes).expect("read").is_empty());
    file.metrics.pop();
    assert_eq!(image_providers("x", &file.image().bytes).expect("read").len(), 1);
}
