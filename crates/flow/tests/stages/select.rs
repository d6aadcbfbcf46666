//! Selecting counters.

use tachograph_counters::path::{CounterPath, PathPattern};
use tachograph_counters::set::Counter;
use tachograph_counters::{CounterType, RawValue};
use tachograph_flow::{Select, Selection};

use crate::fixture::{Samples, Table, all, cells, sample, single};

fn selected(paths: &[&str]) -> (Vec<Vec<String>>, Selection) {
    selected_without(paths, &[])
}

fn selected_without(paths: &[&str], except: &[&str]) -> (Vec<Vec<String>>, Selection) {
    let mut table = Table::new("M", "Set", &["X", "Y"]);
    let samples = vec![
        sample(0, vec![table.group(&[("a", &[(1, 0), (2, 0)]), ("b", &[(3, 0), (4, 0)])])]),
        sample(1, vec![table.group(&[("b", &[(5, 0), (6, 0)]), ("c", &[(7, 0), (8, 0)])])]),
    ];
    let patterns = paths.iter().map(|path| PathPattern::parse(path).expect("a path")).collect();
    let except: Vec<_> = except.iter().map(|path| CounterPath::parse(path).expect("a path")).collect();
    let selection = Selection::new(patterns).without(&except);
    let out = all(Select::new(Samples::new(samples), selection.clone()));
    (out.iter().map(cells).collect(), selection)
}

#[test]
fn without_paths_everything_is_selected() {
    let (cells, _) = selected(&[]);
    assert_eq!(cells[0], ["a.X=1", "a.Y=2", "b.X=3", "b.Y=4"]);
}

#[test]
fn a_selected_column_keeps_its_rows() {
    let (cells, _) = selected(&[r"\Set(*)\Y"]);
    assert_eq!(cells, [["a.Y=2", "b.Y=4"], ["b.Y=6", "c.Y=8"]]);
}

#[test]
fn paths_select_only_their_cells() {
    let (cells, selection) = selected(&[r"\Set(a)\X", r"\set(B)\y"]);
    assert_eq!(cells, [vec!["a.X=1", "b.Y=4"], vec!["b.Y=6"]]);
    assert!(selection.unmatched().is_empty());
}

#[test]
fn single_counters_are_excluded() {
    let whole = selected(&[r"\Set(*)\*"]).0;
    for (except, left) in [
        (vec![r"\\m\set(A)\x"], [vec!["b.X=3", "a.Y=2", "b.Y=4"], vec!["b.X=5", "c.X=7", "b.Y=6", "c.Y=8"]]),
        (vec![r"\Set(b)\Y", r"\Set(b)\X"], [vec!["a.X=1", "a.Y=2"], vec!["c.X=7", "c.Y=8"]]),
    ] {
        let (cells, selection) = selected_without(&[r"\Set(*)\*"], &except);
        assert_eq!(cells, left, "{except:?}");
        assert!(selection.unmatched().is_empty());
    }
    // Paths of other machines and sets do not match; wildcards have no effect here.
    for except in [r"\\N\Set(a)\X", r"\Other(a)\X", r"\Set(*)\X", r"\Set(a)\*"] {
        assert_eq!(
            selected_without(&[r"\Set(*)\*"], &[except]).0.concat().len(),
            whole.concat().len(),
            "{except}"
        );
    }
    // A group of one fixed instance is excluded entirely.
    let counter = || Counter::new("X", CounterType::RAWCOUNT, 0);
    let fixed = |label: &str| single("M", "Set", label, counter(), RawValue::new(1, 0));
    let except = CounterPath::parse(r"\Set(a)\X").expect("a path");
    let pattern = PathPattern::parse(r"\Set(*)\X").expect("a path");
    let selection = Selection::new(vec![pattern]).without(&[except]);
    let out = all(Select::new(Samples::new([sample(0, vec![fixed("a"), fixed("b")])]), selection));
    assert_eq!((cells(&out[0]), out[0].groups.len()), (vec!["b.X=1".to_owned()], 1));
}

#[test]
fn unmatched_paths_have_suggestions() {
    let (cells, selection) = selected(&[r"\Set(*)\X", r"\Set(a)\Z", r"\Sett(*)\X", r"\\N\Set(*)\X"]);
    assert_eq!(cells[1], ["b.X=5", "c.X=7"]);
    let unmatched: Vec<_> = selection.unmatched().into_iter().map(|(path, _)| path).collect();
    assert_eq!(unmatched, [r"\Set(a)\Z", r"\Sett(*)\X", r"\\N\Set(*)\X"]);
}

#[test]
fn identities_are_added_to_selected_counters() {
    let mut table = Table::new("M", "Process", &["ID Process", "X", "Y"]);
    let mut other = Table::new("M", "Thread", &["ID Thread", "X"]);
    let groups = vec![
        table.group(&[("a", &[(100, 0), (1, 0), (2, 0)]), ("b", &[(200, 0), (3, 0), (4, 0)])]),
        other.group(&[("a/0", &[(101, 0), (5, 0)])]),
    ];
    let selected = |path: &str| {
        let pattern = PathPattern::parse(path).expect("a path");
        let selection = Selection::new(vec![pattern]).with_identities();
        let out = all(Select::new(Samples::new([sample(0, groups.clone())]), selection.clone()));
        (cells(&out[0]), selection)
    };
    let (found, selection) = selected(r"\Process(b)\Y");
    assert_eq!(found, ["b.ID Process=200", "b.Y=4"]);
    assert_eq!(selection.added_identities(), [r"\Process(*)\ID Process"]);
    let (found, selection) = selected(r"\Process(a)\ID Process");
    assert_eq!((found, selection.added_identities().len()), (vec!["a.ID Process=100".to_owned()], 0));
    // Nothing is added to a set without a selected counter.
    let (found, selection) = selected(r"\Process(*)\Z");
    assert!(found.is_empty() && selection.added_identities().is_empty());
    assert_eq!(selection.unmatched().len(), 1);
}
