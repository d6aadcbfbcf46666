//! The pages of the repository: links are valid, and the guide names every command.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::run::Folder;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// README, ARCHITECTURE, CHANGELOG, docs/, and the READMEs of folders.
fn pages() -> Vec<PathBuf> {
    let root = root();
    let mut pages: Vec<PathBuf> = ["fuzz/README.md", "tools/pmu-vm/README.md", "crates/web/page/README.md"]
        .iter()
        .map(|page| root.join(page))
        .collect();
    for folder in [root.clone(), root.join("docs")] {
        let files = std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path());
        pages.extend(files.filter(|file| file.extension().is_some_and(|extension| extension == "md")));
    }
    pages
}

/// The lines of a page that are not in a fenced block, without code spans.
fn prose(page: &str) -> Vec<String> {
    let outside = page.split("```").step_by(2);
    let lines = outside.flat_map(str::lines);
    lines.map(|line| line.split('`').step_by(2).collect::<Vec<_>>().join("`")).collect()
}

/// The anchors of a page's headings, as GitHub derives them.
fn anchors(page: &str) -> HashSet<String> {
    let headings = page.split("```").step_by(2).flat_map(str::lines).filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| -> String {
        let kept = |c: char| c.is_alphanumeric() || c == '-' || c == '_' || c == ' ';
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        text.chars().filter(|&c| kept(c)).map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn links_are_valid() {
    let mut broken = Vec::new();
    let mut checked = 0;
    for page in pages() {
        for line in prose(&read(&page)) {
            for link in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                if link.starts_with("http") {
                    continue;
                }
                checked += 1;
                let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
                let target =
                    if file.is_empty() { page.clone() } else { page.parent().expect("a folder").join(file) };
                if !target.exists() || !anchor.is_empty() && !anchors(&read(&target)).contains(anchor) {
                    broken.push(format!("{}: {link}", page.display()));
                }
            }
        }
    }
    assert!(checked > 50, "{checked}");
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn the_guide_names_every_command() {
    let guide = read(&root().join("docs/guide.md"));
    let help = Folder::new().prints(["--help"]);
    let (_, commands) = help.split_once("\nCommands:\n").expect("the commands");
    let names = commands.lines().take_while(|line| !line.is_empty());
    let names =
        names.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    let mut count = 0;
    for name in names.filter(|&name| name != "help") {
        assert!(guide.contains(&format!("tacho {name}")), "{name}");
        count += 1;
    }
    assert!(count > 9, "{help}");
}

#[test]
fn the_readme_is_short() {
    assert!(read(&root().join("README.md")).lines().count() <= 150);
}
