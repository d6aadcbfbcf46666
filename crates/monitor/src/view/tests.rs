use tachograph_counters::CounterType;
use tachograph_counters::set::Counter;

use super::*;
use crate::catalogue::CounterEntry;
use crate::legend::Settings;
use crate::palette::Style;
use crate::scale::Scale;
use crate::table::TreeKind;

fn document() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/views.md");
    std::fs::read_to_string(file).expect("docs/views.md")
}

/// The first example in this language in the document.
fn example(language: &str) -> String {
    let text = document();
    let start = format!("```{language}\n");
    let begin = text.find(&start).expect("an example") + start.len();
    let length = text[begin..].find("```").expect("its end");
    text[begin..begin + length].to_owned()
}

#[test]
fn the_documented_example_is_a_view() {
    let view = View::parse(&example("toml")).expect("a view");
    assert_eq!((view.interval, view.points), (Some(Duration::from_millis(500)), Some(200)));
    assert_eq!(view.title.as_deref(), Some("Disks"));
    let [processor, disk, heat_map, table] = &view.panels[..] else { panic!("{:?}", view.panels) };
    assert_eq!((processor.kind, processor.axis.scale), (ViewKind::Stacked, AxisScale::Linear));
    assert_eq!((processor.axis.min, processor.axis.max), (Some(0.0), Some(100.0)));
    assert_eq!((processor.limits.as_slice(), processor.width), (&[80.0][..], 2));
    assert_eq!(processor.counters[0].label.as_deref(), Some("user"));
    assert_eq!(processor.counters[0].alternatives[0].path.to_string(), r"\Processor(_Total)\% User Time");
    let settings =
        Settings { style: Some(Style(0)), scale: Scale::Default, is_shown: true, is_highlighted: true };
    assert_eq!(disk.counters[0].settings, settings);
    assert_eq!(disk.axis.scale, AxisScale::Logarithmic);
    assert_eq!(disk.counters[0].except, [r"\PhysicalDisk(_Total)\Avg. Disk sec/Read"]);
    assert_eq!(
        (table.table.set.as_deref(), table.table.sort.as_deref()),
        (Some("Process"), Some("Working Set"))
    );
    assert_eq!((table.table.top, table.table.tree), (Some(20), TreeKind::Parent));
    assert_eq!((heat_map.kind, &processor.bands), (ViewKind::HeatMap, &vec![[80.0, 100.0]]));
    assert_eq!(view.annotations[0].text, "deployed 4.2");
    assert!(view.begin.is_some() && view.end.is_some());
}

/// A file of version 1.
const VERSION_1: &str = r"
version = 1
interval = 0.5
view = 'histogram'
[[counter]]
path = '\Memory\Available Bytes'
scale = -7
shown = false
";

#[test]
fn version_1_is_one_panel() {
    let view = View::parse(VERSION_1).expect("a view");
    let [panel] = &view.panels[..] else { panic!("{:?}", view.panels) };
    assert_eq!((panel.kind, panel.axis.scale), (ViewKind::Bars, AxisScale::Scaled));
    assert_eq!(panel.counters[0].settings.scale, Scale::Exponent(-7));
    assert_eq!(view.interval, Some(Duration::from_millis(500)));
}

#[test]
fn written_views_are_read_unchanged() {
    for text in [
        example("toml"),
        VERSION_1.to_owned(),
        "version = 1\n".to_owned(),
        "version = 2\n".to_owned(),
        "version = 2\noptional = true\n[[panel]]\nkind = 'table'\ncolumns = ['a']\nfilter = 'x'".to_owned(),
        "version = 2\n[[panel]]\nkind = 'table'\nset = 'Process'\nmachine = 'web1'\nsort = 'Name'\nreversed = true\ntop = 5\ntree = 'cgroup'\nkernel_threads = true"
            .to_owned(),
        "version = 1\nview = 'table'\n".to_owned(),
        "version = 1\nview = 'report'\n[range]\nend = '2/19/2013 6:50:17 PM'\n".to_owned(),
        // Which of these times is earlier depends on the zone of a log.
        "version = 1\n[range]\nbegin = '2024-03-05T12:00'\nend = '2024-03-05T10:00Z'\n".to_owned(),
        "version = 1\n[[counter]]\npath = '''\\S(it's \"x\")\\C'''\nshown = false\n".to_owned(),
    ] {
        let view = View::parse(&text).expect(&text);
        let written = view.to_text();
        assert_eq!(View::parse(&written).as_ref(), Ok(&view), "{written}");
    }
}

#[test]
fn a_view_with_a_switched_axis_can_be_opened_again() {
    let mut view = View::parse("version = 2\n[[panel]]\nmin = -1\nmax = 100\n").expect("a view");
    for (scale, min, max) in [
        (AxisScale::Scaled, None, None),
        (AxisScale::Logarithmic, None, Some(100.0)),
        (AxisScale::Linear, Some(-1.0), Some(100.0)),
    ] {
        view.panels[0].axis.scale = scale;
        let axis = View::parse(&view.to_text()).expect("a view").panels[0].axis;
        assert_eq!((axis.scale, axis.min, axis.max), (scale, min, max));
    }
}

#[test]
fn missing_counters_are_replaced_by_alternatives_or_omitted() {
    let text = r"
version = 2
optional = true
[[panel]]
[[panel.counter]]
path = '\A\a'
or = ['\B\b', '\C\c']
label = 'a'
[[panel.counter]]
path = '\D\d'
[[panel]]
[[panel.counter]]
path = '\E\e'
";
    let has = |path: &PathPattern| ["B", "C"].contains(&path.set().to_string().as_str());
    let mut view = View::parse(text).expect("a view");
    assert_eq!(view.resolve(has), [r"\D\d", r"\E\e"]);
    assert_eq!(view.paths().iter().map(ToString::to_string).collect::<Vec<_>>(), [r"\B\b"]);
    assert_eq!(view.panels.len(), 1);
    // A user's own view keeps what is missing.
    let mut view = View::parse(&text.replace("optional = true", "")).expect("a view");
    assert!(view.resolve(has).is_empty());
    assert_eq!((view.panels.len(), view.counters().count()), (2, 3));
}

#[test]
fn an_alternative_can_have_a_label_of_its_own() {
    let text = r"
version = 2
[[panel]]
top = 3
[[panel.counter]]
path = '\Memory\Used Bytes'
or = [{ path = '\Memory\Committed Bytes', label = 'committed' }, '\Memory\Other Bytes']
label = 'used'
";
    let of = |set: &'static str| move |path: &PathPattern| path.to_string().ends_with(set);
    let mut view = View::parse(text).expect("a view");
    assert_eq!((view.panels[0].max_lines, view.panels[0].table.top), (Some(3), None));
    let shown = |view: &View| {
        let counter = &view.panels[0].counters[0];
        (counter.path.to_string(), counter.label.clone().expect("a label"))
    };
    let named = |path: &str, label: &str| (path.to_owned(), label.to_owned());
    view.resolve(of("Committed Bytes"));
    assert_eq!(shown(&view), named(r"\Memory\Committed Bytes", "committed"));
    // Files keep the labels, so that another source gets its own.
    let mut again = View::parse(&view.to_text()).expect("a view");
    assert_eq!(again, view);
    again.resolve(of("Used Bytes"));
    assert_eq!(shown(&again), named(r"\Memory\Used Bytes", "used"));
    again.resolve(of("Other Bytes"));
    assert_eq!(shown(&again), named(r"\Memory\Other Bytes", "used"));
}

#[test]
fn a_table_without_its_set_is_omitted() {
    let text = r"
version = 2
optional = true
[[panel]]
kind = 'table'
set = 'B'
[[panel]]
kind = 'table'
set = 'D'
[[panel]]
kind = 'table'
";
    let has = |path: &PathPattern| path.matches_set("B", true);
    let mut view = View::parse(text).expect("a view");
    assert!(view.has_table());
    assert!(view.resolve(has).is_empty());
    let sets: Vec<_> = view.panels.iter().map(|panel| panel.table.set.as_deref()).collect();
    assert_eq!(sets, [Some("B")]);
}

#[test]
fn table_settings_are_saved_only_for_tables() {
    let mut view = View::parse("version = 2\n[[panel]]\nkind = 'table'\ntop = 5").expect("a view");
    view.panels[0].kind = ViewKind::Line;
    let again = View::parse(&view.to_text()).expect("a view");
    assert_eq!((again.panels[0].kind, again.panels[0].table.top), (ViewKind::Line, None));
}

#[test]
fn other_sets_get_panels() {
    let set = |name: &str, counters: usize| SetEntry {
        machine: None,
        name: name.into(),
        help: "".into(),
        has_instances: true,
        counters: (0..counters)
            .map(|index| CounterEntry {
                counter: Counter::new(format!("C{index}"), CounterType::RAWCOUNT, 1),
                help: "".into(),
            })
            .collect(),
    };
    let sets = [set("A", 1), set("B", 20), set("C", 0), set("D", 1), set("E", 1)];
    let mut view =
        View::parse("version = 2\n[[panel]]\n[[panel.counter]]\npath = '\\A(x)\\C0'").expect("a view");
    view.add_other_sets(&sets, 3);
    let titles: Vec<_> = view.panels.iter().map(|panel| panel.title.as_deref()).collect();
    assert_eq!(titles, [None, Some("B"), Some("D")]);
    assert_eq!(view.panels[1].counters.len(), MAX_ADDED);
    assert_eq!(view.panels[1].counters[0].path.to_string(), r"\B(*)\C0");
}

#[test]
fn views_are_found_by_name() {
    assert_eq!(View::find(Path::new("overview")), Ok(View::ready_made("overview").expect("a view")));
    let error = View::find(Path::new("overviw")).expect_err("no such view").to_string();
    assert!(error.starts_with("overviw: is neither a ready-made view (overview, cpu, "), "{error}");
}

#[test]
fn errors_have_line_numbers() {
    for (text, error) in [
        ("", "missing field `version`"),
        (
            "version = 3",
            "line 1: version 3 is unknown: this program supports versions 1 and 2; a newer program wrote the file",
        ),
        ("version = 1\n[[panel]]", "line 2: panel is not a key of version 1: set version = 2"),
        ("version = 1\ntitle = 'x'", "line 2: title is not a key of version 1: set version = 2"),
        ("version = 2\nview = 'line'", "line 2: view is not a key of version 2: a panel has a kind"),
        (
            "version = 2\n[[counter]]\npath = '\\S\\C'",
            "line 2: counter is not a key of version 2: counters are in [[panel.counter]]",
        ),
        (
            "version = 2\n[[panel]]\nkind = 'pie'",
            "line 3: kind is 'pie': expected line, bars, report, table, area, stacked or heatmap",
        ),
        (
            "version = 2\n[[panel]]\naxis = 'log'",
            "line 3: axis is 'log': expected scaled, linear or logarithmic",
        ),
        ("version = 2\n[[panel]]\nmin = inf", "line 3: min is inf: expected a finite number"),
        (
            "version = 2\n[[panel]]\naxis = 'logarithmic'\nmin = 0",
            "line 4: min is 0: a logarithmic axis is above 0",
        ),
        (
            "version = 2\n[[panel]]\naxis = 'scaled'\nmax = 50",
            "line 4: max: an axis of kind scaled is from 0 to 100",
        ),
        ("version = 2\n[[panel]]\nmin = 5\nmax = 5", "line 4: max: the axis ends before it begins"),
        ("version = 2\n[[panel]]\nlimits = [1, nan]", "line 3: limits is NaN: expected a finite number"),
        (
            "version = 2\n[[panel]]\nbands = [[2, 1]]",
            "line 3: bands has [2, 1]: expected two finite numbers, the lower first",
        ),
        (
            "version = 2\n[[panel]]\nbands = [[0, inf]]",
            "line 3: bands has [0, inf]: expected two finite numbers, the lower first",
        ),
        (
            "version = 2\n[[annotation]]\nbegin = '2024-03-05T10:00:00'\nend = '2024-03-05T09:00:00'\ntext = ''",
            "line 4: the range ends before it begins",
        ),
        (
            "version = 1\n[[annotation]]\nbegin = '2024-03-05T10:00:00'\ntext = ''",
            "line 2: annotation is not a key of version 1: set version = 2",
        ),
        ("version = 2\n[[panel]]\nwidth = 5", "line 3: width is 5: expected an integer from 1 to 4"),
        ("version = 2\n[[panel]]\nset = 'S'", "line 3: set: only a panel of kind table has it"),
        ("version = 1\n[table]\nset = 'S'", "line 2: unknown field `table`"),
        ("version = 2\n[[panel]]\nmachine = 'a'", "line 3: machine: only a panel of kind table has it"),
        (
            "version = 2\n[[panel]]\nkind = 'table'\nmachine = '\\\\a'",
            "line 4: machine: expected a name without backslashes",
        ),
        (
            "version = 2\n[[panel]]\nkind = 'stacked'\ntop = 5",
            "line 4: top: only a panel of kind table, line or area has it",
        ),
        ("version = 2\n[[panel]]\ntop = 0", "line 3: top is 0: expected an integer from 1 to 100000"),
        (
            "version = 2\n[[panel]]\n[[panel.counter]]\npath = '\\S\\C'\nor = [{ path = 'S' }]",
            "line 5: 'S' is not a counter path",
        ),
        (
            "version = 2\n[[panel]]\nkind = 'table'\ntree = 'user'",
            "line 4: tree is 'user': expected parent or cgroup",
        ),
        ("version = 2\n[[panel]]\ncolour = 1", "line 3: unknown field `colour`"),
        (
            "version = 2\n[[panel]]\n[[panel.counter]]\npath = '\\S\\C'\nor = ['S']",
            "line 5: 'S' is not a counter path",
        ),
        ("version = 1\nintervall = 2", "line 2: unknown field `intervall`"),
        ("version = 1\n\ninterval = 0", "line 3: interval is 0: expected seconds from 0.001 to a year"),
        ("version = 1\ninterval = nan", "line 2: interval is NaN: expected seconds from 0.001 to a year"),
        ("version = 1\npoints = 1", "line 2: points is 1: expected an integer from 2 to 1000"),
        ("version = 1\nview = 'pie'", "line 2: view is 'pie': expected line, histogram, report or table"),
        ("version = 1\n[range]\nbegin = 'noon'", "line 3: "),
        ("version = 1\n[[counter]]\npath = 'Memory'", "line 3: 'Memory' is not a counter path: "),
        ("version = 1\n[[counter]]\ncolour = 1", "line 2: missing field `path`"),
        (
            "version = 1\n[[counter]]\npath = '\\S\\C'\ncolour = 33",
            "line 4: colour is 33: expected an integer from 1 to 32",
        ),
        (
            "version = 1\n[[counter]]\npath = '\\S\\C'\nscale = 10",
            "line 4: scale is 10: expected an integer from -9 to 9",
        ),
        ("version = 1\n[[counter]]\npath = '\\S\\C'\nshown = 'no'", "line 4: invalid type"),
        ("version = 1\n[[counter]]\npath = '\\S\\C'\nexcept = ['S']", "line 4: 'S' is not a counter path"),
        (
            "version = 1\n[[counter]]\npath = '\\S(*)\\C'\nexcept = ['\\S(a)\\C',\n'\\S(b*)\\C']",
            "line 5: '\\S(b*)\\C' in except has a wildcard: list counters one by one",
        ),
        (
            "version = 1\n[range]\nbegin = '2024-03-05'\nend = '2024-03-05'",
            "line 4: the range ends before it begins",
        ),
        (
            "version = 1\n[range]\nend = '2024-03-05T10:00Z'\nbegin = '2024-03-05T12:00+01:00'",
            "line 3: the range ends before it begins",
        ),
        ("version = 1\n[[counter]\n", "line 2: "),
        ("version = 1\nversion = 1", "line 2: duplicate key"),
    ] {
        let message = View::parse(text).expect_err(text).to_string();
        assert!(message.starts_with(error) || message.ends_with(error), "{text:?}: {message}");
    }
}

#[test]
fn removed_instances_with_wildcards_in_their_names_are_omitted() {
    let mut view = View::parse("version = 1\n[[counter]]\npath = '\\S(*)\\C'").expect("a view");
    // An instance can have any name.
    view.panels[0].counters[0].except = vec![r"\S(a*)\C".to_owned(), r"\S(b)\C".to_owned()];
    let again = View::parse(&view.to_text()).expect("a view");
    assert_eq!(again.panels[0].counters[0].except, [r"\S(b)\C"]);
}

#[test]
fn views_are_saved_and_opened() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("view.toml");
    let view = View::parse(&example("toml")).expect("a view");
    view.save(&path, false).expect("saved");
    assert_eq!(View::open(&path).as_ref(), Ok(&view));
    let error = View::default().save(&path, false).expect_err("the file exists");
    assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
    View::default().save(&path, true).expect("overwritten");
    assert_eq!(View::open(&path), Ok(View::default()));
    std::fs::write(&path, b"version = 1\n# \xff").expect("written");
    let error = View::open(&path).expect_err("no text");
    assert_eq!(error.to_string(), format!("{}, line 2: not UTF-8", path.display()));
    let full = format!("version = 1\n#{}", "x".repeat((1 << 20) - 13));
    std::fs::write(&path, &full).expect("written");
    assert_eq!(View::open(&path), Ok(View::of_counters(Vec::new())));
    std::fs::write(&path, full + "x").expect("written");
    for path in [&*path, Path::new("/dev/zero")] {
        let error = View::open(path).expect_err("the file is too large");
        let what = "the file is larger than 1 MiB, the limit for such files";
        assert_eq!(error.to_string(), format!("{}: {what}", path.display()));
    }
    let missing = folder.path().join("none.toml");
    assert!(
        View::open(&missing)
            .expect_err("no file")
            .to_string()
            .starts_with(&format!("{}: ", missing.display()))
    );
}

#[test]
fn annotations_and_bands_are_written_as_they_were_read() {
    let text = r"
version = 2
[[annotation]]
begin = '2024-03-05T10:00:00'
text = 'deployed'
[[annotation]]
begin = '2024-03-05T10:00:00Z'
end = '2024-03-05T10:30:00Z'
text = 'backup'
[[panel]]
kind = 'heatmap'
bands = [[80, 100], [-1.5, 0]]
";
    let view = View::parse(text).expect("a view");
    assert_eq!((view.annotations.len(), view.annotations[1].text.as_str()), (2, "backup"));
    assert!(view.annotations[0].end.is_none() && view.annotations[1].end.is_some());
    assert_eq!(view.panels[0].bands, [[80.0, 100.0], [-1.5, 0.0]]);
    assert_eq!(view.panels[0].kind, ViewKind::HeatMap);
    assert_eq!(View::parse(&view.to_text()), Ok(view));
    let long =
        format!("version = 2\n[[annotation]]\nbegin = '2024-03-05T10:00:00'\ntext = '{}'", "x".repeat(501));
    assert_eq!(View::parse(&long).expect_err("too long").line(), Some(4));
    let many =
        format!("version = 2\n{}", "[[annotation]]\nbegin = '2024-03-05T10:00:00'\ntext = ''\n".repeat(1001));
    assert!(View::parse(&many).is_err());
}

#[test]
fn sums_over_names_survive_saving() {
    let view = View::parse("version = 2\ngroup_by = 'name'\n").expect("a view");
    assert!(view.sums_names);
    assert!(view.to_text().contains("group_by = \"name\""), "{}", view.to_text());
    assert_eq!(View::parse(&view.to_text()), Ok(view));
    assert!(!View::parse("version = 2").expect("a view").sums_names);
    for (text, line) in [("version = 2\ngroup_by = 'user'", 2), ("version = 1\ngroup_by = 'name'", 2)] {
        assert_eq!(View::parse(text).expect_err("an unknown value").line(), Some(line));
    }
}
