//! Seeking to marks: the same samples follow as when the mark was made.

use crate::fixture;

use std::io::Cursor;

use fixture::rewritten::{options_with, varied_samples, write};
use fixture::shown::show;
use tachograph_counters::sample::Sample;
use tachograph_logs::blg::BlgWriterOptions;
use tachograph_logs::{LogReader, Mark, open_stream};

fn opened(file: &[u8]) -> Box<dyn LogReader> {
    open_stream(Cursor::new(file.to_vec())).expect("a log")
}

fn next(reader: &mut dyn LogReader) -> Option<String> {
    let mut sample = Sample::default();
    let is_sample = reader.next(&mut sample).expect("readable");
    is_sample.then(|| format!("{} {} {:?}", sample.log, sample.boot_time.0, show(&sample)))
}

/// The samples of a log, each with its mark, and the mark after the last.
fn walk(reader: &mut dyn LogReader) -> (Vec<String>, Vec<Option<Mark>>) {
    let (mut samples, mut marks) = (Vec::new(), vec![reader.mark()]);
    while let Some(sample) = next(reader) {
        samples.push(sample);
        marks.push(reader.mark());
    }
    (samples, marks)
}

/// Seeks to marks back and forth, in the same reader and in a new one.
#[track_caller]
fn check(file: &[u8]) {
    let mut reader = opened(file);
    let (samples, marks) = walk(&mut *reader);
    assert!(samples.len() > 20, "{} samples", samples.len());
    let mut other = opened(file);
    for reader in [&mut reader, &mut other] {
        for step in 0..samples.len() {
            let number = step * 37 % samples.len();
            let mark = marks[number].as_ref().expect("a mark");
            assert!(reader.seek(mark).expect("readable"));
            for expected in samples[number..].iter().take(3) {
                assert_eq!(next(&mut **reader).as_ref(), Some(expected), "from {number} on");
            }
        }
        let end = marks[samples.len()].as_ref().expect("a mark");
        assert!(reader.seek(end).expect("readable"));
        assert_eq!(next(&mut **reader), None);
        assert_eq!(next(&mut **reader), None);
        let start = marks[0].as_ref().expect("a mark");
        assert!(reader.seek(start).expect("readable"));
        assert_eq!(walk(&mut **reader).0, samples);
    }
}

#[test]
fn marks_work_in_logs_with_split_events() {
    for buffer_bytes in [1024, 0x2000, 0x10000] {
        check(&write(&varied_samples(200), options_with(buffer_bytes)));
    }
}

#[test]
fn marks_work_in_a_circular_log_until_overwritten() {
    let ring =
        |kilobytes: u64| BlgWriterOptions { circular_bytes: Some(kilobytes * 1024), ..options_with(1024) };
    check(&write(&varied_samples(300), ring(40)));
    // A mark whose buffer was overwritten is refused.
    let mut reader = opened(&write(&varied_samples(60), ring(40)));
    let (_, marks) = walk(&mut *reader);
    let mut later = opened(&write(&varied_samples(300), ring(40)));
    assert!(!later.seek(marks[2].as_ref().expect("a mark")).expect("readable"));
}

#[test]
fn marks_work_if_the_counter_list_changes() {
    let first = write(&varied_samples(60), options_with(1024));
    let mut others = varied_samples(60);
    others.iter_mut().for_each(|sample| sample.groups.truncate(1));
    let second = write(&others, options_with(1024));
    check(&[&first[..], &second[1024..], &first[1024..]].concat());
}

fn text(rows: usize, end: &str) -> String {
    let mut text =
        String::from("\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\M\\Memory\\Pages\",\"\\\\M\\Prozessor(ä)\\Zeit\"");
    for row in 0..rows {
        text += &format!("{end}\"02/19/2013 18:{:02}:{:02}.000\",\"{row}.5\",\" \"", row / 60, row % 60);
    }
    text
}

#[test]
fn marks_work_in_text_logs() {
    for end in ["\n", "\r\n"] {
        check(text(3000, end).as_bytes());
        check(format!("\u{feff}{}{end}", text(300, end)).as_bytes());
    }
}

#[test]
fn converted_texts_have_no_marks() {
    let utf16: Vec<u8> =
        format!("\u{feff}{}", text(300, "\n")).encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut reader = opened(&utf16);
    assert!(reader.mark().is_none());
    assert!(!reader.seek_near_end(1000).expect("readable"));
    assert_eq!(walk(&mut *reader).0.len(), 300);
}

#[test]
fn only_the_end_of_a_log_can_be_read() {
    for file in [
        write(&varied_samples(200), options_with(1024)),
        write(
            &varied_samples(300),
            BlgWriterOptions { circular_bytes: Some(40 * 1024), ..options_with(1024) },
        ),
        text(3000, "\n").into_bytes(),
    ] {
        let samples = walk(&mut *opened(&file)).0;
        let mut reader = opened(&file);
        assert!(reader.seek_near_end(8 << 10).expect("readable"));
        let end = walk(&mut *reader).0;
        assert!((1..samples.len()).contains(&end.len()), "{} of {}", end.len(), samples.len());
        assert_eq!(end.last(), samples.last());
        // Only samples before the requested end are skipped.
        assert!(!opened(&file).seek_near_end(1 << 30).expect("readable"));
    }
}
