use tachograph_counters::CounterType;

use super::*;

fn text_of(name: &str, counter_type: CounterType, value: f64) -> String {
    Unit::of(&Counter::new(name, counter_type, 10_000_000)).text(value)
}

#[test]
fn values_have_units() {
    let gauge = CounterType::LARGE_RAWCOUNT;
    let rate = CounterType::BULK_COUNT;
    let timer = CounterType::AVERAGE_TIMER;
    for (name, counter_type, value, text) in [
        // Bytes: IEC. 24,588,402,688 / 1024^3 = 22.9.
        ("Available Bytes", gauge, 24_588_402_688.0, "22.9 GiB"),
        ("Available Bytes", gauge, 0.0, "0 B"),
        ("Available Bytes", gauge, 999.0, "999 B"),
        ("Available Bytes", gauge, 999.4, "999 B"),
        // Not 1000 B.
        ("Available Bytes", gauge, 999.5, "0.976 KiB"),
        ("Available Bytes", gauge, 4096.0, "4.00 KiB"),
        ("Available Bytes", gauge, 1_048_576.0, "1.00 MiB"),
        ("Available Bytes", gauge, -1_048_576.0, "-1.00 MiB"),
        ("Available Bytes", gauge, 1.8e19, "15.6 EiB"),
        ("Available MBytes", gauge, 24_000.0, "23.4 GiB"),
        ("Available KBytes", gauge, 512.0, "512 KiB"),
        ("Working Set", gauge, 5_242_880.0, "5.00 MiB"),
        ("Avg. Disk Bytes/Read", CounterType::AVERAGE_BULK, 16_384.0, "16.0 KiB"),
        // Throughput: SI.
        ("Disk Read Bytes/sec", rate, 28_800_000.0, "28.8 MB/s"),
        ("Disk Read Bytes/sec", rate, 999_600.0, "1.00 MB/s"),
        ("Bytes Total/sec", rate, 12.345, "12.3 B/s"),
        ("Current Bandwidth", gauge, 1e9, "1.00 Gbit"),
        // Seconds.
        ("Avg. Disk sec/Read", timer, 0.001_53, "1.53 ms"),
        ("Avg. Disk sec/Read", timer, 0.0, "0 s"),
        ("Avg. Disk sec/Read", timer, 0.000_047, "47.0 µs"),
        ("Avg. Disk sec/Read", timer, 0.999_6, "1.00 s"),
        ("Avg. Disk sec/Read", timer, 2.5e-9, "2.50 ns"),
        ("Avg. Disk sec/Read", timer, 12.0, "12.0 s"),
        ("Elapsed Time", CounterType::ELAPSED_TIME, 1000.0, "16.7 min"),
        ("Elapsed Time", CounterType::ELAPSED_TIME, 123_456.0, "34.3 h"),
        ("System Up Time", CounterType::ELAPSED_TIME, 1_234_567.0, "14.3 d"),
        // Rates of operations.
        ("Context Switches/sec", rate, 12_345.6, "12.3 k/s"),
        ("Context Switches/sec", rate, 999.0, "999 /s"),
        ("Context Switches/sec", rate, 0.25, "0.250 /s"),
        // Counts.
        ("Threads", gauge, 14_642.0, "14,642"),
        ("Threads", gauge, 99_999.0, "99,999"),
        ("Threads", gauge, 1_234_567.0, "1.23 M"),
        ("Threads", gauge, 3.0, "3"),
        ("Threads", gauge, 5.43219, "5.43"),
        ("Threads", gauge, 9.996, "10.0"),
        ("Threads", gauge, 0.000_123_4, "0.00012"),
        ("Threads", gauge, 1e-9, "<0.00001"),
        ("Threads", gauge, -1e-9, ">-0.00001"),
        ("Threads", gauge, f64::NAN, "NaN"),
        // Percent, identifiers, load averages, hexadecimal.
        ("% Processor Time", CounterType::TIMER_100NS, 12.345, "12.3 %"),
        ("% Processor Time", CounterType::TIMER_100NS, 100.0, "100 %"),
        ("% Processor Time", CounterType::TIMER_100NS, 1234.5, "1,234 %"),
        ("% Processor Time", CounterType::TIMER_100NS, 0.0, "0 %"),
        ("ID Process", CounterType::RAWCOUNT, 14_642.0, "14642"),
        ("id process", CounterType::RAWCOUNT, 4_194_304.0, "4194304"),
        ("Creating Process ID", CounterType::RAWCOUNT, 1.0, "1"),
        ("Load Average, 1 min", CounterType::RAW_FRACTION, 0.05, "0.05"),
        ("Load Average, 1 min", CounterType::RAW_FRACTION, 12.4, "12.40"),
        ("Start Address", CounterType::RAWCOUNT_HEX, 255.0, "0xff"),
        // Text logs: only names say the unit.
        ("Disk Read Bytes/sec", CounterType::DOUBLE_RAW, 2_500.0, "2.50 kB/s"),
        ("Avg. Disk sec/Read", CounterType::DOUBLE_RAW, 0.001_53, "1.53 ms"),
        ("% Idle Time", CounterType::DOUBLE_RAW, 99.96, "100 %"),
        ("Disk Reads/sec", CounterType::DOUBLE_RAW, 7.0, "7 /s"),
        ("Processor Queue Length", CounterType::DOUBLE_RAW, 7.0, "7"),
    ] {
        assert_eq!(text_of(name, counter_type, value), text, "{name} {value}");
    }
}

#[test]
fn live_figures_have_a_fixed_number_of_decimals() {
    let gauge = CounterType::LARGE_RAWCOUNT;
    for (name, counter_type, values, texts) in [
        (
            "% Processor Time",
            CounterType::TIMER_100NS,
            [0.0417, 7.02, 1234.5],
            ["0.0 %", "7.0 %", "1,234.5 %"],
        ),
        (
            "Disk Writes/sec",
            CounterType::BULK_COUNT,
            [0.0, 9.98, 12_345.6],
            ["0.0 /s", "10.0 /s", "12.3 k/s"],
        ),
        (
            "Disk Read Bytes/sec",
            CounterType::BULK_COUNT,
            [0.0, 999.4, 4.6e6],
            ["0 B/s", "999 B/s", "4.6 MB/s"],
        ),
        ("Working Set", gauge, [0.0, 1_698_693.0, 252_706_816.0], ["0 B", "1.6 MiB", "241.0 MiB"]),
        ("Threads", gauge, [9.0, 10.0, 213.0], ["9", "10", "213"]),
        (
            "Avg. Disk Queue Length",
            CounterType::QUEUELEN_100NS,
            [1.0, 1.083, 12.0],
            ["1.00", "1.08", "12.00"],
        ),
        ("ID Process", gauge, [1.0, 14_642.0, 4_194_304.0], ["1", "14642", "4194304"]),
    ] {
        let counter = Counter::new(name, counter_type, 10_000_000);
        let shown = values.map(|value| shown_steady(&counter, Some(value), NumberForm::Units));
        assert_eq!(shown, texts, "{name}");
    }
}

#[test]
fn described_units_have_precedence() {
    let mut counter = Counter::new("Processor Frequency", CounterType::RAWCOUNT, 1);
    for (unit, value, text) in [
        ("MHz", 2595.0, "2.60 GHz"),
        ("bits/s", 1e9, "1.00 Gbit/s"),
        ("m°C", 45_250.0, "45.2 °C"),
        ("cycles", 1.234, "1.23 cycles"),
        ("packets/s", 12_345.0, "12.3 k/s"),
        ("requests", 12_345.0, "12,345 requests"),
        ("requests", 1_234_567.0, "1.23 M requests"),
    ] {
        counter.described_unit = Some(unit.into());
        assert_eq!(Unit::of(&counter).text(value), text);
    }
}

#[test]
fn ticks_have_no_trailing_zeros() {
    for (unit, value, text) in [
        ("bytes", 17_179_869_184.0, "16 GiB"),
        ("bytes/s", 2_500_000.0, "2.5 MB/s"),
        ("%", 100.0, "100 %"),
        ("%", 50.0, "50 %"),
        ("seconds", 0.02, "20 ms"),
        ("ns", -153_000.0, "-153 µs"),
        ("ppb", 12_340.0, "12.3 ppm"),
        ("", 0.05, "0.05"),
        ("", 10_000.0, "10,000"),
        ("%", 0.0, "0 %"),
    ] {
        assert_eq!(Unit::named(unit).tick(value), text);
    }
}

#[test]
fn missing_values_are_dashes_and_raw_values_have_no_unit() {
    let counter = Counter::new("Available Bytes", CounterType::LARGE_RAWCOUNT, 1);
    assert_eq!(shown(&counter, None, NumberForm::Units), "---");
    assert_eq!(shown(&counter, Some(4096.0), NumberForm::Raw), "4,096.000");
    assert_eq!(shown(&counter, Some(4096.0), NumberForm::Units), "4.00 KiB");
}
