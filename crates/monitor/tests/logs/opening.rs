//! Opening logs: what is known before anything is charted.

use std::fs::File;
use std::ops::ControlFlow;

use tachograph_counters::time_zone::TimeZone;
use tachograph_logs::LogWriter;
use tachograph_logs::blg::{BlgWriter, BlgWriterOptions};
use tachograph_monitor::{Board, Catalogue, LogBoard};

use crate::fixture::{Life, Machine, write_blg, write_csv};
use crate::reference::{check, keep_going, patterns};

#[test]
fn the_catalogue_of_a_small_log_is_known_after_opening() {
    let folder = tempfile::tempdir().unwrap();
    let samples = Machine::new("M", 1, Life { processes_change: true, ..Life::default() }).samples(200);
    for file in [write_blg(folder.path(), "a.blg", &samples), write_csv(folder.path(), "a.csv", &samples)] {
        let board = LogBoard::open(vec![file], &mut keep_going).unwrap();
        assert_eq!(board.samples(), Some(200));
        let span = board.span().unwrap();
        let near = |found: i64, expected: i64| (found - expected).abs() < 10_000;
        assert!(near(span.begin().0, samples[0].at.utc.0));
        assert!(near(span.end().0, samples[199].at.utc.0));
        assert!(board.typical_interval().is_some_and(|interval| (3_000_000..23_000_000).contains(&interval)));
        let catalogue = board.catalogue();
        let sets = catalogue.sets();
        assert_eq!(sets.iter().map(|set| &*set.name).collect::<Vec<_>>(), ["Disk", "Process"]);
        assert_eq!(catalogue.machines(), ["M".into()]);
        let mut instances = catalogue.instances("process").unwrap();
        instances.sort();
        assert!(instances.starts_with(&["a".to_owned(), "a#1".to_owned()]), "{instances:?}");
        assert!(!catalogue.first_choice().is_empty());
        assert!(catalogue.instances("Nothing").is_err());
    }
}

/// The first chart of a CSV with these columns.
fn first_of(columns: &[&str]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.csv");
    let mut text = r#""(PDH-CSV 4.0) (UTC)(0)""#.to_owned();
    columns.iter().for_each(|column| text += &format!(",\"{column}\""));
    for second in 0..3 {
        text += &format!("\r\n\"01/05/2026 10:00:0{second}.000\"");
        columns.iter().for_each(|_| text += ",\"1\"");
    }
    std::fs::write(&file, text + "\r\n").unwrap();
    LogBoard::open(vec![file], &mut keep_going).unwrap().catalogue().first_choice().to_vec()
}

#[test]
fn the_first_chart_has_the_default_counters_or_else_the_first_ones() {
    // A column that occurs a thousand times is charted once.
    assert_eq!(first_of(&[r"\\M\Web\Hits"; 1000]), [r"\\M\Web\Hits"]);
    let few = [r"\\M\Web\Hits", r"\\M\Web\hits", r"\\M\Web\A", r"\\M\Web\B", r"\\M\Web\C", r"\\M\Web\D"];
    assert_eq!(first_of(&few), [few[0], few[2], few[3], few[4]]);
    // The default counters, in their order; of similar counters, only the preferred one.
    let usual = [
        r"\\M\Web\Hits",
        r"\\M\Memory\Available Bytes",
        r"\\M\Memory\Committed Bytes",
        r"\\M\Network Interface(eth0)\Bytes Total/sec",
        r"\\M\PhysicalDisk(0 C:)\% Disk Time",
        r"\\M\Processor(_Total)\% Processor Time",
    ];
    assert_eq!(
        first_of(&usual),
        [
            r"\Processor(_Total)\% Processor Time",
            r"\Memory\Committed Bytes",
            r"\Network Interface(*)\Bytes Total/sec"
        ]
    );
}

#[test]
fn logs_of_linux_show_the_available_memory_instead_of_the_commit_charge() {
    let memory = [r"\\M\Memory\Available Bytes", r"\\M\Memory\% Committed Bytes In Use"];
    assert_eq!(first_of(&memory), [r"\Memory\% Committed Bytes In Use"]);
    let of_linux = [memory[0], memory[1], r"\\M\Memory\Used Bytes"];
    assert_eq!(first_of(&of_linux), [r"\Memory\Available Bytes"]);
}

#[test]
fn reading_can_be_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let samples = Machine::new("M", 1, Life::default()).samples(500);
    let files = vec![write_blg(folder.path(), "a.blg", &samples)];
    let mut stop = |_| ControlFlow::Break(());
    let broken = LogBoard::open(files.clone(), &mut stop).unwrap();
    assert_eq!((broken.span(), broken.samples()), (None, None));
    let mut board = LogBoard::open(files, &mut keep_going).unwrap();
    let whole = board.span().unwrap();
    let paths = patterns(&[r"\Disk(*)\*"]);
    board.set_paths(&paths, &mut stop).unwrap();
    assert!(board.paths().is_empty());
    assert!(board.reduce(whole, 10, &[]).unwrap().series.is_empty());
    board.set_paths(&paths, &mut keep_going).unwrap();
    assert_eq!(board.reduce(whole, 10, &[]).unwrap().series.len(), 4);
}

#[test]
fn some_of_the_paths_are_charted_without_reading() {
    let folder = tempfile::tempdir().unwrap();
    let samples = Machine::new("M", 1, Life::default()).samples(100);
    let files = vec![write_blg(folder.path(), "a.blg", &samples)];
    let mut board = LogBoard::open(files.clone(), &mut keep_going).unwrap();
    let whole = board.span().unwrap();
    let all = patterns(&[r"\Disk(*)\*", r"\Process(*)\IO/sec", r"\Disk(*)\Nothing"]);
    let selection = board.set_paths(&all, &mut keep_going).unwrap();
    assert_eq!(selection.unmatched().len(), 1);
    let ids = |board: &mut LogBoard| -> Vec<_> {
        let reduced = board.reduce(whole, 10, &[]).unwrap();
        reduced.series.iter().map(|series| (series.info.path.clone(), series.info.id)).collect()
    };
    let charted = ids(&mut board);
    assert_eq!(charted.len(), 4 + 3);
    std::fs::rename(&files[0], folder.path().join("elsewhere.blg")).unwrap();
    let mut never = |_| -> ControlFlow<()> { panic!("the log is read") };
    let selection = board.set_paths(&all[2..], &mut never).unwrap();
    assert_eq!(selection.unmatched().len(), 1);
    assert!(ids(&mut board).is_empty());
    board.set_paths(&all[1..2], &mut never).unwrap();
    assert_eq!(ids(&mut board), charted[4..]);
    board.set_paths(&[], &mut never).unwrap();
    assert!(ids(&mut board).is_empty());
    board.set_paths(&[all[1].clone(), all[0].clone()], &mut never).unwrap();
    let reordered: Vec<_> = charted[4..].iter().chain(&charted[..4]).cloned().collect();
    assert_eq!(ids(&mut board), reordered);
}

#[test]
fn appended_samples_of_a_recording_are_read() {
    let life = Life { processes_change: true, has_marks: true, groups_miss: true, ..Life::default() };
    for room in [1 << 24, 1 << 17] {
        for circular in [None, Some(30 * 1024)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("growing.blg");
            let samples = Machine::new("M", 9, life).samples(120);
            let options = BlgWriterOptions {
                buffer_bytes: 1024,
                circular_bytes: circular,
                ..BlgWriterOptions::new(TimeZone::utc())
            };
            let mut writer = BlgWriter::new(File::create(&path).unwrap(), options).unwrap();
            let mut board: Option<LogBoard> = None;
            for (number, sample) in samples.iter().enumerate() {
                writer.write(sample).unwrap();
                if number % 7 != 6 {
                    continue;
                }
                writer.flush().unwrap();
                match &mut board {
                    None => {
                        let mut opened = LogBoard::open(vec![path.clone()], &mut keep_going).unwrap();
                        opened.set_max_bytes(room);
                        let paths = patterns(&[r"\Process(*)\*", r"\Disk(*)\*"]);
                        opened.set_paths(&paths, &mut keep_going).unwrap();
                        board = Some(opened);
                    }
                    Some(board) => {
                        assert!(board.refresh().unwrap(), "sample {number}");
                        assert!(!board.refresh().unwrap() || circular.is_some(), "sample {number}");
                    }
                }
                let board = board.as_mut().unwrap();
                if circular.is_none() {
                    let expected = samples[..=number].iter().filter(|sample| !sample.is_baseline).count();
                    assert_eq!(board.samples(), Some(expected as u64));
                }
                let whole = board.span().unwrap();
                check(board, whole, 12);
                check(board, whole.zoomed(0.4, 1.0), 5);
                check(board, whole.zoomed(0.3, 0.4), 20);
            }
        }
    }
}
