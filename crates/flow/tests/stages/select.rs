//! Selecting counters.

use tachograph_counters::path::PathPattern;
use tachograph_flow::{Select, Selection};

use crate::made::{Samples, Table, all, cells, sample};

fn selected(paths: &[&str]) -> (Vec<Vec<String>>, Selection) {
    let mut table = Table::new("M", "Set", &["X", "Y"]);
    let samples = vec![
        sample(0, vec![table.group(&[("a", &[(1, 0), (2, 0)]), ("b", &[(3, 0), (4, 0)])])]),
        sample(1, vec![table.group(&[("b", &[(5, 0), (6, 0)]), ("c", &[(7, 0), (8, 0)])])]),
    ];
    let patterns = paths.iter().map(|path| PathPattern::parse(path).expect("a path")).collect();
    let selection = Selection::new(patterns);
    let out = all(Select::new(Samples::new(samples), selection.clone()));
    (out.iter().map(cells).collect(), selection)
}

#[test]
fn nothing_asked_is_everything() {
    let (cells, _) = selected(&[]);
    assert_eq!(cells[0], ["a.X=1", "a.Y=2", "b.X=3", "b.Y=4"]);
}

#[test]
fn a_column_keeps_its_rows_as_they_come_and_go() {
    let (cells, _) = selected(&[r"\Set(*)\Y"]);
    assert_eq!(cells, [["a.Y=2", "b.Y=4"], ["b.Y=6", "c.Y=8"]]);
}

#[test]
fn paths_that_make_no_rectangle_take_only_their_cells() {
    let (cells, selection) = selected(&[r"\Set(a)\X", r"\set(B)\y"]);
    assert_eq!(cells, [vec!["a.X=1", "b.Y=4"], vec!["b.Y=6"]]);
    assert!(selection.unmatched().is_empty());
}

#[test]
fn what_nothing_matched_comes_with_advice() {
    let (cells, selection) = selected(&[r"\Set(*)\X", r"\Set(a)\Z", r"\Sett(*)\X", r"\\N\Set(*)\X"]);
    assert_eq!(cells[1], ["b.X=5", "c.X=7"]);
    let unmatched: Vec<_> = selection.unmatched().into_iter().map(|(path, _)| path).collect();
    assert_eq!(unmatched, [r"\Set(a)\Z", r"\Sett(*)\X", r"\\N\Set(*)\X"]);
}
