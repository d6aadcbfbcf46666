use super::*;
use crate::legend::Settings;
use crate::palette::Style;
use crate::scale::Scale;

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
    assert_eq!((view.kind, view.counters.len()), (ViewKind::Line, 3));
    let settings =
        Settings { style: Some(Style(0)), scale: Scale::Default, is_shown: true, is_highlighted: true };
    assert_eq!(view.counters[0].settings, settings);
    assert_eq!(view.counters[1].except, [r"\PhysicalDisk(_Total)\Avg. Disk sec/Read"]);
    assert_eq!(view.counters[2].settings.scale, Scale::Exponent(-7));
    assert!(view.begin.is_some() && view.end.is_some());
}

#[test]
fn views_round_trip() {
    for text in [
        example("toml"),
        "version = 1\n".to_owned(),
        "version = 1\nview = 'table'\n[table]\nset = 'Process'\ncolumns = ['Name', 'Working Set']\nsort = 'Name'\n\
         reversed = true\ntree = 'parent'\nrows = 10\nfilter = 'sql'\n"
            .to_owned(),
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
fn errors_have_line_numbers() {
    for (text, error) in [
        ("", "missing field `version`"),
        (
            "version = 2",
            "line 1: version 2 is unknown: this program supports version 1; a newer program wrote the file",
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
    view.counters[0].except = vec![r"\S(a*)\C".to_owned(), r"\S(b)\C".to_owned()];
    let again = View::parse(&view.to_text()).expect("a view");
    assert_eq!(again.counters[0].except, [r"\S(b)\C"]);
}

#[test]
fn views_are_saved_and_opened() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("view.toml");
    let view = View::parse(&example("toml")).expect("a view");
    view.save(&path, false).expect("saved");
    assert_eq!(View::open(&path).as_ref(), Ok(&view));
    let error = View::default().save(&path, false).expect_err("it is there");
    assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
    View::default().save(&path, true).expect("overwritten");
    assert_eq!(View::open(&path), Ok(View::default()));
    std::fs::write(&path, b"version = 1\n# \xff").expect("written");
    let error = View::open(&path).expect_err("no text");
    assert_eq!(error.to_string(), format!("{}, line 2: not UTF-8", path.display()));
    let full = format!("version = 1\n#{}", "x".repeat((1 << 20) - 13));
    std::fs::write(&path, &full).expect("written");
    assert_eq!(View::open(&path), Ok(View::default()));
    std::fs::write(&path, full + "x").expect("written");
    for path in [&*path, Path::new("/dev/zero")] {
        let error = View::open(path).expect_err("it is too large");
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
