//! The figures of rows.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use tachograph_counters::Summary;
use tachograph_counters::civil::TimeArgument;
use tachograph_counters::path::PathPattern;
use tachograph_flow::query::LogQuery;
use tachograph_flow::sinks::{StatisticsOptions, StatisticsSink};
use tachograph_flow::{Selection, WindowBounds, run};
use tachograph_monitor::figures::NumberForm;
use tachograph_monitor::{Board as _, LogBoard, RowId, Span, TableFigures, TableModel};

use crate::fixture::{Life, Machine, Random, write_blg};
use crate::processes::{Process, ProcessLog, all, column, process, seconds, table, whole_table};

/// The statistics of `tacho stats -b BEGIN -e END`.
fn statistics(file: &Path, paths: &[PathPattern], span: Span) -> BTreeMap<String, Summary> {
    let bounds = WindowBounds {
        begin: Some(TimeArgument::Utc(span.begin())),
        end: Some(TimeArgument::Utc(span.end())),
    };
    let query = LogQuery {
        bounds,
        selection: Selection::new(paths.to_vec()),
        ..LogQuery::new(vec![file.to_path_buf()])
    };
    let mut pipeline = query.samples().expect("a log");
    let options = StatisticsOptions { without_quantiles: true, ..StatisticsOptions::default() };
    let mut sink = StatisticsSink::new(options);
    run(&mut *pipeline.source, &mut sink, || {}).expect("a log");
    sink.rows().into_iter().map(|row| (row.path, row.summary)).collect()
}

#[test]
fn figures_equal_those_of_stats() {
    let folder = tempfile::tempdir().expect("a folder");
    let life = Life { processes_change: true, ..Life::default() };
    let mut machine = Machine::new("M", 11, life);
    let file = write_blg(folder.path(), "m.blg", &machine.samples(300));
    let mut board = LogBoard::open(vec![file.clone()], &mut |_| ControlFlow::Continue(())).expect("a log");
    board.set_paths(&[all()], &mut |_| ControlFlow::Continue(())).expect("a log");
    let whole = board.span().expect("samples");
    let mut random = Random(5);
    let (mut equal, mut split) = (0, 0);
    for round in 0..40 {
        let mut edge = || whole.begin().saturating_add(random.below(whole.length() as u64) as i64);
        let (one, other) = (edge(), edge());
        let span = if round == 0 { whole } else { Span::new(one.min(other), one.max(other)) };
        let figures = TableFigures::read(&mut board, span, &[all()]).expect("figures");
        let expected = statistics(&file, &[all()], span);
        let mut parts: BTreeMap<String, Vec<Summary>> = BTreeMap::new();
        for series in &figures.reduced.series {
            parts.entry(series.info.path.clone()).or_default().push(series.summary.clone());
        }
        for (path, parts) in parts {
            let expected = &expected[&path];
            if let [part] = &parts[..] {
                let of =
                    |row: &Summary| (row.values, row.errors, row.last, row.minimum, row.maximum, row.average);
                assert_eq!(of(part), of(expected), "{path} in {span:?}");
                equal += 1;
                continue;
            }
            split += 1;
            // Values of different processes are never paired, so the processes together have as many values as the name.
            assert_eq!(
                parts.iter().map(|part| part.values).sum::<u64>(),
                expected.values,
                "{path} in {span:?}"
            );
            let extreme = |of: fn(&Summary) -> Option<f64>, larger: fn(f64, f64) -> f64| {
                parts.iter().filter_map(of).reduce(larger)
            };
            assert_eq!(extreme(|part| part.maximum, f64::max), expected.maximum, "{path} in {span:?}");
            assert_eq!(extreme(|part| part.minimum, f64::min), expected.minimum, "{path} in {span:?}");
            let with_values = parts.iter().filter(|part| part.values > 0);
            let last = with_values.max_by_key(|part| part.last_time).and_then(|part| part.last);
            assert_eq!(last, expected.last, "{path} in {span:?}");
        }
    }
    assert!(equal > 100 && split > 100, "{equal} equal, {split} split");
}

/// `sh` with the id 7 runs for 6 samples; 2 samples later another `sh` gets its id, and runs for 4 samples.
fn log_of_a_reused_id() -> ProcessLog {
    let mut log = ProcessLog::new();
    for second in 0..12 {
        let other = process("other", 1, 0, 100 * second, 1 << 20);
        let sh = match second {
            // 200 ms per second, then 700 ms.
            0..6 => Some(process("sh", 7, 1, 200 * second, 2 << 20)),
            8.. => Some(Process { started: 7, ..process("sh", 7, 1, 700 * (second - 8), 3 << 20) }),
            _ => None,
        };
        log.sample(&[Some(other), sh].into_iter().flatten().collect::<Vec<_>>());
    }
    log
}

fn cpu_of(model: &TableModel, name: &str) -> Vec<(Option<u64>, Option<String>, RowId)> {
    let cpu = column(model, "% OF 1 CPU");
    let rows = model.rows().iter().enumerate().filter(|(_, row)| row.label() == name);
    rows.map(|(index, row)| (row.process, model.text(index, cpu, NumberForm::Units).map(Into::into), row.id))
        .collect()
}

#[test]
fn a_process_that_ends_and_a_new_one_with_its_id_are_two_rows() {
    let mut board = log_of_a_reused_id().board();
    let model = whole_table(&mut board);
    let rows = cpu_of(&model, "sh");
    let figures: Vec<_> = rows.iter().map(|(id, cpu, _)| (*id, cpu.as_deref())).collect();
    assert_eq!(figures, [(Some(7), Some("20.0")), (Some(7), Some("70.0"))]);
    assert_ne!(rows[0].2, rows[1].2);
    assert_eq!(cpu_of(&model, "other").len(), 1);
    // In a range with only one of them, there is one row.
    assert_eq!(cpu_of(&table(&mut board, seconds(0, 6)), "sh")[0].1.as_deref(), Some("20.0"));
    assert_eq!(cpu_of(&table(&mut board, seconds(7, 11)), "sh")[0].1.as_deref(), Some("70.0"));
}

#[test]
fn a_process_keeps_its_row_id_and_another_process_gets_a_new_one() {
    let mut board = log_of_a_reused_id().board();
    let mut model = table(&mut board, seconds(1, 1));
    let mut id_at = |second: i64| {
        model.update(TableFigures::read(&mut board, seconds(second, second), &[all()]).expect("figures"));
        cpu_of(&model, "sh").first().map(|(.., id)| *id)
    };
    let first = id_at(2).expect("a row");
    assert_eq!(id_at(5), Some(first));
    assert_eq!(id_at(6), None);
    let second = id_at(9).expect("a row");
    assert_ne!(second, first);
    assert_eq!(id_at(11), Some(second));
    // This also holds if one process is directly followed by the other.
    assert_ne!(id_at(3), Some(second));
    assert_ne!(id_at(11), id_at(3));
}

#[test]
fn a_name_of_very_many_processes_is_one_row_without_a_process_id() {
    let mut log = ProcessLog::new();
    for second in 0..500 {
        log.sample(&[Process { started: second, ..process("short", 1000 + second, 1, 0, 1 << 20) }]);
    }
    let mut board = log.board();
    let model = whole_table(&mut board);
    let rows = cpu_of(&model, "short");
    assert_eq!(rows.len(), 1, "more processes than are distinguished");
    assert_eq!(rows[0].0, None);
    let memory = column(&model, "MEMORY");
    assert_eq!(model.text(0, memory, NumberForm::Units).as_deref(), Some("1.0 MiB"));
    // The name had several processes.
    assert_eq!(model.text(0, column(&model, "PID"), NumberForm::Units).as_deref(), Some("several"));
    let few = table(&mut board, seconds(10, 12));
    assert_eq!(cpu_of(&few, "short").len(), 3);
}

#[test]
fn rows_do_not_accumulate() {
    let mut log = ProcessLog::new();
    for second in 0..200 {
        let base = process("stays", 1, 0, second, 0);
        log.sample(&[base, Process { started: second, ..process("short", 2 + second, 1, 0, 0) }]);
    }
    let mut board = log.board();
    let mut model = table(&mut board, seconds(0, 0));
    let mut stays = None;
    for second in 1..200 {
        model.update(TableFigures::read(&mut board, seconds(second, second), &[all()]).expect("figures"));
        assert_eq!(model.rows().len(), 2);
        let id = cpu_of(&model, "stays")[0].2;
        assert_eq!(*stays.get_or_insert(id), id);
        let read = model.wanted_properties(0..10).into_iter().map(|(row, _)| (row, None)).collect();
        model.set_properties(read);
    }
}
