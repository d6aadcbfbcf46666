//! `query --sort`, `--top` and `--group-by` of this machine.

use std::process::Child;

use crate::run::Folder;

/// Processes with one name, which are killed when this value is dropped.
struct Sleepers(Vec<Child>);

impl Sleepers {
    fn start(folder: &Folder, name: &str, count: usize) -> Self {
        std::os::unix::fs::symlink("/bin/sleep", folder.path(name)).expect("a link");
        let start = |_| std::process::Command::new(folder.path(name)).arg("600").spawn().expect("a process");
        Self((0..count).map(start).collect())
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The rows of the last table: instance and the cells of its counters.
fn last_table(text: &str) -> Vec<Vec<String>> {
    let table = text.split("\n\n").last().expect("a table");
    let rows = table.lines().skip(2);
    rows.map(|row| {
        row.split("  ").map(|cell| cell.trim().to_owned()).filter(|cell| !cell.is_empty()).collect()
    })
    .collect()
}

fn number(cell: &str) -> f64 {
    cell.replace(',', "").parse().unwrap_or(f64::NEG_INFINITY)
}

#[test]
fn instances_are_sorted_in_each_sample() {
    let folder = Folder::new();
    let paths = [r"\Process(*)\Working Set", r"\Process(*)\Thread Count"];
    let options = ["query", "-sc", "2", "-si", "0.05", "--raw-numbers", "--sort", "working set"];
    let all = folder.run([&options[..], &paths[..]].concat());
    assert_eq!(all.status, 0, "{}", all.stderr);
    assert_eq!(all.stdout.split("\n\n").count(), 2, "{}", all.stdout);
    let header = all.stdout.lines().nth(1).expect("a header");
    let words: Vec<_> = header.split("  ").filter(|word| !word.is_empty()).map(str::trim).collect();
    // The ids of processes are added.
    assert_eq!(words[1..], ["ID Process", "Working Set (bytes)", "Thread Count"], "{header}");
    let rows = last_table(&all.stdout);
    // Totals and other instances without a rank are last.
    let has_no_rank = |row: &&Vec<String>| row[0] == "Idle" || row[0].starts_with('_');
    let (ranked, totals) = rows.split_at(rows.len() - rows.iter().filter(has_no_rank).count());
    let sizes: Vec<_> = ranked.iter().map(|row| number(&row[2])).collect();
    let ids = ranked.iter().map(|row| row[1].replace(',', ""));
    assert!(ids.clone().all(|id| id.parse::<u32>().is_ok_and(|id| id > 0)), "{ids:?}");
    // Totals have no id.
    assert!(totals.iter().all(|row| row.len() == 3), "{totals:?}");
    assert!(sizes.len() > 3 && sizes.windows(2).all(|pair| pair[0] >= pair[1]), "{sizes:?}");
    let mut last: Vec<_> = totals.iter().map(|row| row[0].as_str()).collect();
    last.sort_unstable();
    assert!(last.contains(&"Idle") && last.contains(&"_Total"), "{last:?}");
    let top = folder.run(
        [
            &["query", "-sc", "1", "-si", "0.05", "--sort", r"\Process(*)\Working Set", "--top", "3"],
            &paths[..],
        ]
        .concat(),
    );
    let rows = last_table(&top.stdout);
    assert_eq!(rows.len(), 3, "{}", top.stdout);
    assert!(!top.stdout.contains("_Total"), "{}", top.stdout);
    let total = ["query", "-sc", "1", "-si", "0.05", "--sort", "Thread Count", "--top", "1"];
    let total = folder.prints([&total[..], &[r"\Process(_Total)\Thread Count"]].concat());
    assert_eq!(last_table(&total)[0][0], "_Total", "{total}");
}

#[test]
fn instances_of_a_name_are_summed() {
    let folder = Folder::new();
    let sleepers = Sleepers::start(&folder, "sumsleep", 3);
    let path = r"\Process(sumsleep*)\Thread Count";
    let query = ["query", path, "-sc", "1", "-si", "0.05", "-f", "json"];
    let text = folder.prints([&query[..], &["--group-by", "name"]].concat());
    let sample: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let found = sample.to_string();
    assert!(found.contains(r"Process(sumsleep)\\Thread Count") && !found.contains("sumsleep#"), "{found}");
    assert!(found.contains(r#"Thread Count":3"#), "{found}");
    // CSV has a column for each name that exists at the start.
    let csv = folder.prints(["query", path, "-sc", "1", "-si", "0.05", "-f", "csv", "--group-by", "name"]);
    assert_eq!(csv.lines().next().map(|header| header.matches("sumsleep").count()), Some(1), "{csv}");
    assert!(csv.lines().nth(1).is_some_and(|row| row.ends_with(r#","3""#)), "{csv}");
    drop(sleepers);
}

#[test]
fn formats_with_fixed_columns_cannot_be_sorted() {
    let folder = Folder::new();
    let path = r"\Process(*)\Working Set";
    for (arguments, message) in [
        (
            &["--sort", "Working Set", "-f", "csv"][..],
            "--sort works only with -f table, not with CSV: its columns are fixed at the start; sort the log afterwards with \
             'tacho stats LOG --sort'",
        ),
        (
            &["--sort", "Working Set", "-f", "json"],
            "--sort works only with -f table, not with JSON: JSON objects have no order; sort their values with another tool, \
             such as jq",
        ),
        (
            &["--group-by", "name", "-o", "out.blg"],
            "--group-by: a BLG stores the instances of the machine; omit --group-by and use 'tacho stats LOG --group-by name' later",
        ),
        (
            &["--sort", "Handle Count", "-sc", "1", "-si", "0.05"],
            "--sort 'Handle Count': none of the queried counters has this name and is available; add its path to the command",
        ),
    ] {
        folder.run([&["query", path], arguments].concat()).fails_with(2, message);
    }
    assert!(folder.names().is_empty());
    let ran = folder.run(["query", path, "--top", "3"]);
    assert!(ran.status == 2 && ran.stderr.contains("--sort"), "{ran:?}");
}
