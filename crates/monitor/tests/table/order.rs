//! The order of the lines.

use tachograph_monitor::figures::NumberForm;
use tachograph_monitor::{
    Board as _, Catalogue as _, ProcessProperties, TableFigures, TableLine, TableModel, TableSettings,
    TreeKind,
};

use crate::processes::{Process, ProcessLog, column, model, process, seconds, table, whole_table};

/// init (idle) has the child shell, which has two children named worker (30 is busy, 31 less so); kernel has no parent.
fn processes(step: i64) -> Vec<Process> {
    vec![
        process("Idle", 0, 0, 1000 * step, 0),
        process("init", 1, 0, 0, 10 << 20),
        process("shell", 20, 1, 10 * step, 5 << 20),
        process("kernel", 2, 0, 300 * step, 0),
        process("worker", 30, 20, 500 * step, 100 << 20),
        Process { index: 1, ..process("worker", 31, 20, 20 * step, 90 << 20) },
        process("_Total", 0, 0, 1830 * step, 205 << 20),
    ]
}

fn log() -> ProcessLog {
    let mut log = ProcessLog::new();
    (0..4).for_each(|step| log.sample(&processes(step)));
    log
}

/// The lines: names with ids, indented by their depth; `(name)` if only shown for the tree; `[name]` for headings.
fn shown(model: &TableModel) -> Vec<String> {
    let text = |line: &TableLine| match line {
        TableLine::Row { row, depth, is_context } => {
            let found = &model.rows()[*row];
            let name = format!("{} {}", found.name(), found.process.map_or(-1, |id| id as i64));
            let name = if *is_context { format!("({name})") } else { name };
            format!("{}{name}", "  ".repeat(*depth))
        }
        TableLine::Group { name, rows } => format!("[{name}] {rows}"),
    };
    model.lines().iter().map(text).collect()
}

#[test]
fn the_largest_is_first_and_totals_are_listed_separately() {
    let mut board = log().board();
    let mut model = whole_table(&mut board);
    assert_eq!(shown(&model), ["worker 30", "kernel 2", "worker 31", "shell 20", "init 1"]);
    let reserved: Vec<_> = model.reserved().iter().map(|&row| model.rows()[row].label()).collect();
    assert_eq!(reserved, ["_Total", "Idle"]);
    assert_eq!(model.counts(), (5, 5));
    let (cpu, pid, memory) = (column(&model, "% OF 1 CPU"), column(&model, "PID"), column(&model, "MEMORY"));
    let total = model.reserved()[0];
    assert_eq!(model.text(total, cpu, NumberForm::Units).as_deref(), Some("183.0"));
    assert_eq!(model.text(total, pid, NumberForm::Units), None, "a total has no id");
    assert_eq!(
        model.text(total, memory, NumberForm::Units),
        None,
        "it would count shared pages several times"
    );
    model.sort_by(cpu);
    assert_eq!(shown(&model), ["init 1", "shell 20", "worker 31", "kernel 2", "worker 30"]);
    model.sort_by(column(&model, "NAME"));
    assert_eq!(shown(&model), ["init 1", "kernel 2", "shell 20", "worker 30", "worker 31"]);
    model.sort_by(memory);
    model.set_max_rows(Some(2));
    assert_eq!(shown(&model), ["worker 30", "worker 31"]);
}

#[test]
fn rows_without_a_value_are_last_in_both_directions() {
    let mut log = log();
    let mut processes = processes(4);
    processes.insert(1, Process { started: 4, ..process("new", 99, 1, 5, 1 << 20) });
    log.sample(&processes);
    let mut board = log.board();
    let mut model = table(&mut board, seconds(4, 4));
    assert_eq!(shown(&model).last().map(String::as_str), Some("new 99"));
    model.sort_by(column(&model, "% OF 1 CPU"));
    assert_eq!(shown(&model)[0], "init 1");
    assert_eq!(shown(&model).last().map(String::as_str), Some("new 99"));
}

#[test]
fn the_filter_matches_names_ids_and_properties() {
    let mut board = log().board();
    let mut model = whole_table(&mut board);
    let filtered = |model: &mut TableModel, filter: &str| {
        model.set_filter(filter.to_owned());
        shown(model)
    };
    assert_eq!(filtered(&mut model, "WORK"), ["worker 30", "worker 31"]);
    assert_eq!(filtered(&mut model, "work 31"), ["worker 31"]);
    assert_eq!(filtered(&mut model, "total"), [""; 0], "totals are not in the list");
    assert_eq!(model.reserved().len(), 2);
    assert_eq!(model.counts(), (5, 0));
    let id = model.rows().iter().find(|row| row.label() == "shell").expect("a row").id;
    let properties = ProcessProperties { command: Some("/bin/sh -l".into()), ..Default::default() };
    model.set_properties(vec![(id, Some(properties))]);
    assert_eq!(filtered(&mut model, "bin sh"), ["shell 20"]);
    model.set_tree(TreeKind::Parent);
    assert_eq!(filtered(&mut model, "30"), ["(init 1)", "  (shell 20)", "    worker 30"]);
    assert_eq!(filtered(&mut model, ""), shown(&model));
}

#[test]
fn trees_show_rows_below_their_parents() {
    let mut board = log().board();
    let mut model = whole_table(&mut board);
    model.set_tree(TreeKind::Parent);
    // The branch with the busiest process comes first.
    assert_eq!(shown(&model), ["init 1", "  shell 20", "    worker 30", "    worker 31", "kernel 2"]);
    let groups = [("init", "/"), ("shell", "/user"), ("worker", "/user"), ("worker#1", "/batch")];
    let read = groups.map(|(label, group)| {
        let row = model.rows().iter().find(|row| row.label() == label).expect("a row");
        (row.id, Some(ProcessProperties { cgroup: Some(group.into()), ..Default::default() }))
    });
    model.set_properties(read.to_vec());
    model.set_tree(TreeKind::Cgroup);
    let expected = [
        "[/user] 2",
        "  worker 30",
        "  shell 20",
        "[(unknown group)] 1",
        "  kernel 2",
        "[/batch] 1",
        "  worker 31",
        "[/] 1",
        "  init 1",
    ];
    assert_eq!(shown(&model), expected);
    let sum = |title: &str| model.group_sum(0, column(&model, title)).map(f64::round);
    assert_eq!((sum("% OF 1 CPU"), sum("MEMORY")), (Some(51.0), None));
}

#[test]
fn parent_cycles_do_not_loop_forever() {
    let mut log = ProcessLog::new();
    for step in 0..2 {
        log.sample(&[
            process("a", 1, 2, 10 * step, 0),
            process("b", 2, 1, 20 * step, 0),
            process("self", 3, 3, 5 * step, 0),
        ]);
    }
    let mut board = log.board();
    let mut model = whole_table(&mut board);
    model.set_tree(TreeKind::Parent);
    let mut lines = shown(&model);
    lines.sort();
    assert_eq!(lines.len(), 3, "{lines:?}");
    model.set_filter("self".to_owned());
    assert_eq!(shown(&model), ["self 3"]);
}

#[test]
fn properties_are_read_for_visible_rows_unless_the_order_depends_on_them() {
    let mut board = log().board();
    let mut model = whole_table(&mut board);
    let ids = |model: &TableModel, lines| -> Vec<u32> {
        model.wanted_properties(lines).into_iter().map(|(_, id)| id).collect()
    };
    assert_eq!(ids(&model, 0..2), [30, 2]);
    assert_eq!(ids(&model, 3..1000), [20, 1]);
    model.set_tree(TreeKind::Cgroup);
    assert_eq!(ids(&model, 0..2).len(), 5);
    let all = model.wanted_properties(0..0).into_iter().map(|(row, _)| (row, None)).collect();
    model.set_properties(all);
    assert!(ids(&model, 0..0).is_empty(), "ended processes are not read again");
}

#[test]
fn the_predefined_columns_determine_the_paths() {
    let board = log().board();
    let model = model(&board);
    let titles: Vec<_> = model.layout().columns.iter().map(|column| &*column.title).collect();
    assert_eq!(
        titles,
        ["MACHINE", "PID", "USER", "S", "% OF 1 CPU", "PRESENT %", "MEMORY", "NAME", "COMMAND"]
    );
    let live: Vec<_> = model.paths(true).iter().map(ToString::to_string).collect();
    assert_eq!(
        live,
        [
            r"\Process(*)\ID Process",
            r"\Process(*)\% Processor Time",
            r"\Process(*)\Working Set",
            r"\Process(*)\Creating Process ID",
            r"\Process(*)\Elapsed Time",
        ]
    );
    assert_eq!(model.paths(false), [crate::processes::all()]);
}

#[test]
fn processes_of_one_interval_are_ranked_below_those_that_were_busy_for_long() {
    let mut log = ProcessLog::new();
    for step in 0..=20 {
        let mut processes = vec![
            process("long", 10, 1, 300 * step, 1 << 20),
            process("quiet", 11, 1, 0, 1 << 20),
            process("_Total", 0, 0, 400 * step, 3 << 20),
        ];
        if (8..=9).contains(&step) {
            processes.insert(1, process("flash", 12, 1, 1000 * step, 500 << 20));
        }
        log.sample(&processes);
    }
    let mut board = log.board();
    let mut model = whole_table(&mut board);
    // The order is weighted by presence (30 % of 20 s is more than 100 % of 1 s), but the averages shown are not; the column
    // PRESENT % explains the difference.
    assert_eq!(shown(&model), ["long 10", "flash 12", "quiet 11"]);
    assert!(model.has_partly_present());
    let (cpu, present) = (column(&model, "% OF 1 CPU"), column(&model, "PRESENT %"));
    let texts = |model: &TableModel, column: usize| -> Vec<String> {
        let rows = (0..3).filter_map(|line| match model.lines()[line] {
            TableLine::Row { row, .. } => model.text(row, column, NumberForm::Units),
            TableLine::Group { .. } => None,
        });
        rows.map(String::from).collect()
    };
    assert_eq!(texts(&model, cpu), ["30.0", "100.0", "0.0"]);
    // The process is present in two of 21 samples.
    assert_eq!(texts(&model, present), ["100.0", "9.5", "100.0"]);
    // Memory is weighted too, but 2/21 of 500 MiB still exceeds 1 MiB.
    model.sort_by(column(&model, "MEMORY"));
    assert_eq!(shown(&model)[0], "flash 12");
    model.sort_by(present);
    assert_eq!(shown(&model)[2], "flash 12");
    // Ids are not weighted.
    model.sort_by(column(&model, "PID"));
    assert_eq!(shown(&model), ["flash 12", "quiet 11", "long 10"]);
    let model = table(&mut board, seconds(9, 9));
    assert_eq!(shown(&model)[0], "flash 12");
    assert!(!model.has_partly_present());
}

#[test]
fn idle_kernel_threads_are_hidden() {
    let mut log = ProcessLog::new();
    for step in 0..=10 {
        log.sample(&[
            process("init", 1, 0, step, 0),
            process("kthreadd", 2, 0, 0, 0),
            process("kworker/0:1", 15, 2, 9 * step, 0),
            process("kswapd0", 16, 2, 10 * step, 0),
            process("_Total", 0, 0, 100 * step, 0),
        ]);
    }
    let mut board = log.board();
    let mut model = whole_table(&mut board);
    // Kernel threads that use at least 1 % of a processor are shown.
    assert_eq!(shown(&model), ["kswapd0 16", "init 1"]);
    assert_eq!((model.hidden(), model.counts()), (2, (2, 2)));
    let total = model.reserved()[0];
    let cpu = column(&model, "% OF 1 CPU");
    assert_eq!(model.text(total, cpu, NumberForm::Units).as_deref(), Some("10.0"), "totals are unaffected");
    // A filter finds hidden threads.
    model.set_filter("kworker".to_owned());
    assert_eq!(shown(&model), ["kworker/0:1 15"]);
    model.set_filter(String::new());
    model.set_tree(TreeKind::Parent);
    assert_eq!(shown(&model), ["kswapd0 16", "init 1"]);
    model.set_tree(TreeKind::None);
    model.set_kernel_threads(true);
    assert_eq!(shown(&model), ["kswapd0 16", "kworker/0:1 15", "init 1", "kthreadd 2"]);
    assert!(model.settings().kernel_threads && model.hidden() == 0);
    // Another process with the id 2, as in a container.
    let mut log = ProcessLog::new();
    (0..3).for_each(|step| log.sample(&[process("sh", 2, 1, 0, 0), process("child", 3, 2, step, 0)]));
    let mut board = log.board();
    assert_eq!(shown(&whole_table(&mut board)).len(), 2);
}

#[test]
fn a_table_shows_the_instances_of_its_machine() {
    let mut log = ProcessLog::new();
    (0..3).for_each(|step| log.sample(&[process("a", 10, 1, 5 * step, 7 << 20)]));
    let mut board = log.board();
    let span = board.span().expect("samples");
    for (machine, rows) in [("host", 1), ("OTHER", 0)] {
        let sets = board.catalogue().sets();
        let entry = sets.iter().find(|entry| &*entry.name == "Process").expect("the set");
        let settings = TableSettings { machine: Some(machine.to_owned()), ..TableSettings::default() };
        let mut model = TableModel::with_settings(entry, &settings);
        assert_eq!(model.settings().machine, settings.machine);
        for is_live in [false, true] {
            let paths = model.paths(is_live);
            assert!(paths.iter().all(|path| path.path().machine.as_deref() == Some(machine)), "{paths:?}");
            let figures = TableFigures::read(&mut board, span, &paths).expect("figures");
            model.update(figures);
            assert_eq!(model.counts().1, rows, "{machine}");
        }
    }
}

#[test]
fn the_column_of_machines_has_its_earlier_name_in_view_files() {
    let mut log = ProcessLog::new();
    log.sample(&[process("a", 10, 1, 5, 7 << 20)]);
    let sets = log.board().catalogue().sets();
    let entry = sets.iter().find(|entry| &*entry.name == "Process").expect("the set");
    let settings = TableSettings {
        columns: ["Computer", "Name", "Working Set"].map(str::to_owned).to_vec(),
        sort: Some("Computer".to_owned()),
        ..TableSettings::default()
    };
    let settings = TableModel::with_settings(entry, &settings).settings();
    assert_eq!((&*settings.columns[0], settings.sort.as_deref()), ("Machine", Some("Machine")));
}

#[test]
fn columns_without_values_are_hidden() {
    let mut log = ProcessLog::new();
    // A single sample has no rates, so the column % OF 1 CPU is empty.
    let one =
        [process("a", 10, 1, 5, 7 << 20), process("b", 11, 1, 5, 9 << 20), process("_Total", 0, 0, 9, 0)];
    log.sample(&one);
    let mut board = log.board();
    let mut model = model(&board);
    let cpu = column(&model, "% OF 1 CPU");
    let figures = TableFigures::read(&mut board, seconds(0, 0), &[crate::processes::all()]).expect("figures");
    model.update(figures.clone());
    model.update(figures.clone());
    assert!(!model.is_empty_column(cpu) && model.order().column == cpu);
    model.update(figures.clone());
    assert_eq!(model.empty_columns(), ["% OF 1 CPU"]);
    // The order is by the next column of numbers.
    assert_eq!(
        (model.order().column, shown(&model)),
        (column(&model, "MEMORY"), vec!["b 11".into(), "a 10".into()])
    );
    // An order that the user has chosen is kept.
    let mut chosen = self::model(&board);
    chosen.sort_by(cpu);
    (0..3).for_each(|_| chosen.update(figures.clone()));
    assert_eq!(chosen.order().column, cpu);
}
