//! Averages are bit-identical to those of `tacho stats`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tachograph_counters::Formula;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::time_zone::TimeZone;
use tachograph_flow::query::LogQuery;
use tachograph_flow::sinks::{StatisticsOptions, StatisticsSink};
use tachograph_flow::{Sink as _, Source as _};
use tachograph_logs::archive::counter_facts;
use tachograph_logs::blg::{BlgWriter, BlgWriterOptions};
use tachograph_logs::{Grouping, LogWriter as _};

use crate::answers::query;
use crate::generated::{TempFolder, recording, write};
use crate::log_fixture::mixed;

/// Identifies a counter of an instance: machine, set, parent, instance, counter, type.
type Key = [Option<String>; 6];

/// The average of each counter, with the counter's formula.
type Averages = BTreeMap<Key, (Option<Formula>, Option<f64>)>;

/// The averages that `tacho stats` computes from logs.
fn statistics(inputs: &[PathBuf]) -> Averages {
    let mut query = LogQuery::new(inputs.to_vec());
    query.reading.grouping = Grouping::Neighbours;
    let mut pipeline = query.samples().expect("logs that can be opened");
    let mut sink = StatisticsSink::new(StatisticsOptions::default());
    tachograph_flow::run(&mut *pipeline.source, &mut sink, || ()).expect("logs that can be read");
    averages_of(&sink)
}

/// The averages that `tacho stats` computes from samples.
fn statistics_of(samples: &[Sample]) -> Averages {
    let mut sink = StatisticsSink::new(StatisticsOptions::default());
    samples.iter().for_each(|sample| sink.push(sample).expect("a sample that can be counted"));
    sink.finish().expect("statistics");
    averages_of(&sink)
}

fn averages_of(sink: &StatisticsSink) -> Averages {
    let mut averages = BTreeMap::new();
    for row in sink.rows() {
        let parent = row.instance.as_ref().and_then(|instance| instance.parent().map(str::to_owned));
        let instance = row.instance.as_ref().map(|instance| {
            let start = parent.as_ref().map_or(0, |parent| parent.len() + 1);
            instance.label()[start..].to_owned()
        });
        let key = [
            Some(row.machine.as_deref().unwrap_or_default().to_owned()),
            Some(row.set.name.to_string()),
            parent,
            instance,
            Some(row.counter.name.to_string()),
            Some(counter_facts(&row.counter).type_name),
        ];
        // As in `tacho stats`, different ids have no average.
        let summary = &row.summary;
        let has_average = summary.minimum == summary.maximum || !row.counter.is_identifier();
        averages.insert(key, (row.counter.counter_type.formula(), summary.average.filter(|_| has_average)));
    }
    averages
}

/// The keys of the rows of a query whose first columns are [`KEY`].
fn keys(answer: &crate::answers::Answer) -> Vec<Key> {
    let columns: Vec<_> = (0..6).map(|column| answer.texts(column)).collect();
    (0..answer.rows()).map(|row| std::array::from_fn(|column| columns[column][row].clone())).collect()
}

const KEY: &str = r#"machine, "set", parent, instance, counter, type"#;

/// Compares the view `averages` of `inputs` with the statistics of other logs. Returns the number of averages that were
/// compared bit by bit.
#[track_caller]
pub(crate) fn compare(inputs: &[PathBuf], of_statistics: &[PathBuf]) -> usize {
    compare_with(inputs, statistics(of_statistics))
}

#[track_caller]
fn compare_with(inputs: &[PathBuf], statistics: Averages) -> usize {
    // Intervals whose differences exceed 64 bits have no `num` and `den`, so the averages of their counters can differ.
    let overflowed = query(
        inputs,
        &format!(
            "SELECT DISTINCT {KEY} FROM samples WHERE kind IN ('ratio', 'elapsed') AND value IS NOT NULL"
        ),
    );
    let overflowed = keys(&overflowed);
    let answer = query(inputs, &format!("SELECT {KEY}, average FROM averages"));
    let mut found: BTreeMap<Key, Option<f64>> = keys(&answer).into_iter().zip(answer.doubles(6)).collect();
    assert_eq!(found.len(), answer.rows(), "a counter has two averages");
    let mut compared = 0;
    for (key, (formula, expected)) in statistics {
        // Counters without an interval have rows, too.
        let Some(average) = found.remove(&key) else { panic!("{key:?}: no row") };
        if overflowed.contains(&key) {
            continue;
        }
        match formula {
            Some(Formula::Double | Formula::Fraction) => {
                let is_near = match (average, expected) {
                    (Some(average), Some(expected)) => (average - expected).abs() <= 1e-12 * expected.abs(),
                    (average, expected) => average.is_none() && expected.is_none(),
                };
                assert!(is_near, "{key:?}: {average:?}, not {expected:?}");
            }
            _ => {
                assert_eq!(
                    average.map(f64::to_bits),
                    expected.map(f64::to_bits),
                    "{key:?}: {average:?}, not {expected:?}"
                );
                compared += usize::from(average.is_some());
            }
        }
    }
    assert!(found.values().all(Option::is_none), "`tacho stats` does not have these averages: {found:?}");
    compared
}

fn write_blg(path: &Path, samples: &[Sample]) {
    let file = std::fs::File::create(path).expect("a file");
    let mut writer = BlgWriter::new(file, BlgWriterOptions::new(TimeZone::utc())).expect("options");
    for sample in samples {
        writer.write(sample).expect("a sample that can be written");
    }
    writer.finish().expect("written");
}

/// All counter types, instances that appear, disappear and are reset, restarts of the machine, many small row groups.
#[test]
fn averages_of_generated_archives_equal_those_of_statistics() {
    let mut compared = 0;
    for seed in 0..4 {
        let folder = TempFolder::new();
        let archive = folder.0.join("archive");
        let mut samples = recording(seed, 90);
        // Some generated groups contain a counter twice with different values; they are removed.
        let is_once = |group: &Group| &*group.set.name != "Process" || group.set.counters.len() > 1;
        samples.iter_mut().for_each(|sample| sample.groups.retain(is_once));
        write(&archive, &samples, 40_000);
        compared += compare_with(std::slice::from_ref(&archive), statistics_of(&samples));
    }
    assert!(compared > 1000, "{compared}");
}

/// The averages of a BLG, which is converted to rows while it is read, are the same too.
#[test]
fn averages_of_logs_equal_those_of_statistics_and_of_the_archive() {
    let folder = TempFolder::new();
    let (log, archive) = (folder.0.join("a.blg"), folder.0.join("archive"));
    let fixture = mixed("WEB1", 0, 200);
    fixture.write(&log);
    write(&archive, &fixture.samples, 1000);
    let compared = compare(std::slice::from_ref(&log), std::slice::from_ref(&log));
    assert_eq!(compared, 6);
    assert_eq!(compare(std::slice::from_ref(&archive), std::slice::from_ref(&log)), compared);
    // Compare the rows.
    let rows = |inputs: &PathBuf| {
        let sql = r#"SELECT * FROM samples ORDER BY machine, "set", counter, instance, time"#;
        query(std::slice::from_ref(inputs), sql).batch
    };
    let (of_log, of_archive) = (rows(&log), rows(&archive));
    assert_eq!(of_log.num_rows(), 7 * 200);
    assert_eq!(of_log.schema(), of_archive.schema());
    for (name, (one, other)) in of_log
        .schema()
        .fields()
        .iter()
        .map(|field| field.name())
        .zip(of_log.columns().iter().zip(of_archive.columns()))
    {
        // An archive also stores raw numbers at the start of each row group, so these columns differ.
        if !name.starts_with("raw_") {
            assert_eq!(one, other, "column {name}");
        }
    }
}

/// A baseline, which only begins the first intervals, is not counted.
#[test]
fn baselines_are_not_counted() {
    let folder = TempFolder::new();
    let (log, archive) = (folder.0.join("a.blg"), folder.0.join("archive"));
    let mut samples = mixed("WEB1", 0, 20).samples;
    samples[0].is_baseline = true;
    write_blg(&log, &samples);
    write(&archive, &samples, 1000);
    for input in [&log, &archive] {
        assert_eq!(compare(std::slice::from_ref(input), std::slice::from_ref(&log)), 6);
        let counted = "SELECT count(num) FROM samples WHERE counter = 'Available Bytes'";
        assert_eq!(query(std::slice::from_ref(input), counted).integers(0), [Some(19)]);
    }
}

/// CSV logs have formatted values only.
#[test]
fn averages_of_text_logs_are_arithmetic() {
    let folder = TempFolder::new();
    let log = folder.0.join("a.csv");
    let text = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\M\\Disk(0 C:)\\Reads\",\"\\\\M\\Memory\\Free\"\r\n\
                \"01/02/2024 10:00:00.000\",\"1\",\"5\"\r\n\
                \"01/02/2024 10:00:01.000\",\" \",\"6\"\r\n\
                \"01/02/2024 10:00:02.000\",\"4\",\"10\"\r\n";
    std::fs::write(&log, text).expect("written");
    let answer = query(
        &[log],
        r#"SELECT "set", instance, average, average_of FROM (SELECT "set", instance, average(*), avg(value) AS average_of FROM samples GROUP BY 1, 2) ORDER BY 1"#,
    );
    assert_eq!(answer.texts(0), [Some("Disk".to_owned()), Some("Memory".to_owned())]);
    assert_eq!(answer.texts(1), [Some("0 C:".to_owned()), None]);
    assert_eq!(answer.doubles(2), [Some(2.5), Some(7.0)]);
    assert_eq!(answer.doubles(3), [Some(2.5), Some(7.0)]);
}

/// The average of a group depends only on its rows, not on how they are selected.
#[test]
fn any_grouping_gives_the_same_bits() {
    let folder = TempFolder::new();
    let archive = folder.0.join("archive");
    write(&archive, &mixed("WEB1", 0, 100).samples, 120);
    write(&archive.join("x"), &mixed("WEB2", 1000, 100).samples, 120);
    let both = [archive.clone(), archive.join("x")];
    let of = |sql: &str| query(&both, sql).doubles(0)[0].expect("an average");
    let whole = of("SELECT average(*) FROM samples WHERE counter = 'Avg. Disk sec/Read'");
    let (num, den) = ("sum(CAST(num AS DECIMAL(38,0)))", "sum(CAST(den AS DECIMAL(38,0)))");
    let plain = of(&format!(
        "SELECT min(factor) * CAST({num} AS DOUBLE) / CAST({den} AS DOUBLE) FROM samples WHERE counter = 'Avg. Disk sec/Read'"
    ));
    assert!((whole - plain).abs() <= 1e-12 * plain, "{whole} {plain}");
    assert_eq!(whole, of("SELECT average(s.*) FROM samples s WHERE counter = 'Avg. Disk sec/Read'"));
    assert_eq!(whole, of("SELECT average(*) FILTER (WHERE counter = 'Avg. Disk sec/Read') FROM samples"));
    let machines =
        query(&both, "SELECT average FROM averages WHERE counter = 'Avg. Disk sec/Read' ORDER BY machine");
    assert_eq!(machines.rows(), 2);
}

/// Averages of the real logs of the corpus.
#[test]
fn averages_of_the_corpus_equal_those_of_statistics() {
    let Some(corpus) = std::env::var_os("TACHO_CORPUS") else { return };
    let folder = TempFolder::new();
    for log in ["BasicPerfCounters.blg", "SampleLog.blg"] {
        let log = Path::new(&corpus).join(log);
        let of_log = compare(std::slice::from_ref(&log), std::slice::from_ref(&log));
        assert!(of_log >= 6, "{of_log}");
        let archive = folder.0.join(log.file_stem().expect("a name"));
        let mut samples = Vec::new();
        // Read as `relog` does, which distinguishes processes by their ids.
        let mut pipeline = LogQuery::new(vec![log.clone()]).samples().expect("a log");
        let mut sample = Sample::default();
        while pipeline.source.next(&mut sample).expect("a sample") {
            samples.push(sample.clone());
        }
        write(&archive, &samples, 50_000);
        assert_eq!(compare(std::slice::from_ref(&archive), std::slice::from_ref(&log)), of_log);
    }
}
