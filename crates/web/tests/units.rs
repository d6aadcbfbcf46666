//! The page formats values by the same rules as the terminal monitor. This test checks `units.tsv`, or writes it with
//! `TACHO_UPDATE=1`. A test of the page (`browser/units.test.mjs`) reads the same file.

use std::fmt::Write as _;

use tachograph_monitor::figures::Unit;

/// Units as counter descriptions name them.
const NAMES: [&str; 16] = [
    "%", "seconds", "bytes", "KB", "MB", "bytes/s", "MB/s", "bits", "bits/s", "MHz", "W", "1/s", "m°C",
    "cycles", "requests", "",
];

/// Values at the limits of the rules, and ordinary values.
fn values() -> Vec<f64> {
    let mut values = vec![
        0.0,
        -0.0,
        0.5,
        1.5,
        2.5,
        12.345,
        12.5,
        99.95,
        100.0,
        999.4,
        999.5,
        999.6,
        1000.0,
        1023.0,
        1024.0,
        4096.0,
        7199.0,
        7200.0,
        99_999.0,
        99_999.4,
        99_999.5,
        100_000.0,
        172_799.0,
        172_800.0,
        1_048_576.0,
        1_234_567.0,
        24_588_402_688.0,
        1.8e19,
        1e-9,
        0.000_004_9,
        0.000_005,
        0.000_123_4,
        0.001_53,
        0.062_5,
        0.125,
        0.999_5,
        0.999_6,
        9.996,
        9.995,
        0.1875,
        2_595.0,
        45_250.0,
        5_242_880.0,
    ];
    // A fixed sequence over many magnitudes.
    let mut seed = 1_u64;
    for step in 0..60 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let part = (seed >> 11) as f64 / (1_u64 << 53) as f64;
        values.push(part * 10_f64.powi(step % 24 - 8));
    }
    let negative: Vec<_> = values.iter().step_by(5).map(|value| -value).collect();
    values.extend(negative);
    values
}

#[test]
fn units_of_the_page_match_the_terminal_monitor() {
    let mut expected = String::new();
    for name in NAMES {
        let unit = Unit::named(name);
        let form = unit.form();
        // In the unit without prefix, as on the axes of the page.
        let smallest_top = unit.smallest_top() * form.factor;
        for value in values() {
            let (text, tick) = (unit.text(value), unit.tick(value));
            writeln!(
                expected,
                "{}\t{}\t{}\t{smallest_top:e}\t{value:e}\t{text}\t{tick}",
                form.kind, form.symbol, form.factor
            )
            .expect("text");
        }
    }
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/units.tsv");
    if std::env::var_os("TACHO_UPDATE").is_some() {
        std::fs::write(&file, &expected).expect("written");
    }
    let written = std::fs::read_to_string(&file).expect("units.tsv");
    assert!(written == expected, "TACHO_UPDATE=1 cargo test -p tachograph-web --test units writes the file");
}
