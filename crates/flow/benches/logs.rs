//! Measures reading, summarizing and converting logs, per raw value. The yardstick only copies and sums the same bytes.
//!
//! `cargo bench -p tachograph-flow --bench logs`

mod generate;

use std::hint::black_box;
use std::io::Cursor;
use std::path::Path;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tachograph_flow::logs::LogSource;
use tachograph_flow::sinks::{LogSink, StatisticsOptions, StatisticsSink, TextSink};
use tachograph_flow::{Source, Union, UnionScan, run};
use tachograph_logs::Format;
use tachograph_logs::blg::{BlgWriter, BlgWriterOptions};

use generate::{Records, log_in_memory};

const BYTES: u64 = 8 << 20;

fn open(log: &[u8]) -> LogSource {
    let reader = tachograph_logs::open_stream(Cursor::new(log.to_vec())).expect("the log opens");
    LogSource::new(Path::new("generated.blg"), reader)
}

fn scan(log: &[u8]) -> UnionScan {
    let mut scan = UnionScan::default();
    run(&mut open(log), &mut scan, || {}).expect("the log is read");
    scan
}

fn benches(criterion: &mut Criterion) {
    for (name, records) in [("multi", Records::Multi), ("block", Records::Block)] {
        let (log, values) = log_in_memory(records, 200, BYTES);
        let scanned = scan(&log);
        let zone = tachograph_counters::time_zone::TimeZone::utc();
        let mut group = criterion.benchmark_group("logs");
        group.sample_size(20).throughput(Throughput::Elements(values));
        group.bench_function(BenchmarkId::new("yardstick: copy and sum the bytes", name), |bencher| {
            bencher.iter(|| {
                let copy = black_box(log.clone());
                copy.chunks_exact(8).fold(0u64, |sum, chunk| {
                    sum.wrapping_add(u64::from_le_bytes(chunk.try_into().unwrap_or_default()))
                })
            });
        });
        group.bench_function(BenchmarkId::new("decode", name), |bencher| {
            bencher.iter(|| {
                let mut source = open(&log);
                let mut sample = Default::default();
                let mut count = 0;
                while source.next(&mut sample).expect("the log is read") {
                    count += sample.len();
                }
                count
            });
        });
        group.bench_function(BenchmarkId::new("stats", name), |bencher| {
            bencher.iter(|| {
                let mut sink = StatisticsSink::new(StatisticsOptions::default());
                run(&mut open(&log), &mut sink, || {}).expect("the log is read");
                sink.rows().len()
            });
        });
        group.bench_function(BenchmarkId::new("relog to CSV", name), |bencher| {
            bencher.iter(|| {
                let mut source = Union::scanned(open(&log), &scanned);
                let mut sink =
                    TextSink::new(std::io::sink(), Format::Csv, zone.clone(), &scanned).expect("CSV is text");
                run(&mut source, &mut sink, || {}).expect("the log is converted");
            });
        });
        group.bench_function(BenchmarkId::new("relog to BLG", name), |bencher| {
            bencher.iter(|| {
                let out = Cursor::new(Vec::with_capacity(log.len() + (1 << 16)));
                let writer =
                    BlgWriter::new(out, BlgWriterOptions::new(zone.clone())).expect("the log is created");
                run(&mut open(&log), &mut LogSink::new(writer), || {}).expect("the log is copied");
            });
        });
        group.finish();
    }
}

criterion_group!(logs, benches);
criterion_main!(logs);
