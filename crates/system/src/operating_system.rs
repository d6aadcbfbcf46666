//! The name of the operating system.

use std::path::PathBuf;

use crate::open_file::OpenFile;
use crate::roots::Roots;
use crate::scan::lines;

/// The maximum length of a name, in characters.
const MAX_NAME: usize = 100;

/// The distribution and the kernel's release: `Debian GNU/Linux 12 (bookworm), Linux 6.1.0-18-amd64`. A part that cannot be read
/// is omitted; `None` if neither can be read.
pub fn operating_system(roots: &Roots) -> Option<String> {
    // os-release(5): the second file is used if the first one does not exist.
    let files = ["etc/os-release", "usr/lib/os-release"];
    let distribution =
        files.iter().find_map(|file| pretty_name(&read(roots.root.join(file))?).map(printable));
    let release = read(roots.proc.join("sys/kernel/osrelease"));
    let release = release.as_deref().and_then(|text| lines(text).next()).map(String::from_utf8_lossy);
    let release = release.map(|release| printable(release.into_owned()));
    let kernel = release.filter(|release| !release.is_empty()).map(|release| format!("Linux {release}"));
    let parts: Vec<_> = distribution.into_iter().filter(|name| !name.is_empty()).chain(kernel).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn read(path: PathBuf) -> Option<Vec<u8>> {
    OpenFile::new(path).read().ok().map(<[u8]>::to_vec)
}

/// The value of `PRETTY_NAME`, without quotes.
fn pretty_name(text: &[u8]) -> Option<String> {
    let value = lines(text).find_map(|line| line.strip_prefix(b"PRETTY_NAME="))?;
    let value = String::from_utf8_lossy(value);
    let value = value.trim();
    if let Some(quoted) = value.strip_prefix('\'') {
        return Some(quoted.strip_suffix('\'').unwrap_or(quoted).to_owned());
    }
    let quoted = value.strip_prefix('"').map(|rest| rest.strip_suffix('"').unwrap_or(rest));
    let mut name = String::new();
    let mut characters = quoted.unwrap_or(value).chars();
    while let Some(character) = characters.next() {
        // In double quotes, a backslash precedes characters that a shell would replace.
        name.extend(if character == '\\' { characters.next() } else { Some(character) });
    }
    Some(name)
}

/// A text without control characters, of bounded length.
fn printable(text: String) -> String {
    text.chars().filter(|character| !character.is_control()).take(MAX_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Machine;

    fn name_of(files: &[(&str, &str)]) -> Option<String> {
        operating_system(&Machine::new(files).roots)
    }

    #[test]
    fn the_distribution_and_the_kernel_are_named() {
        let kernel = ("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
        let debian =
            ("etc/os-release", "NAME=\"x\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n");
        let expected = "Debian GNU/Linux 12 (bookworm), Linux 6.1.0-18-amd64";
        assert_eq!(name_of(&[kernel, debian]).as_deref(), Some(expected));
        let vendor = ("usr/lib/os-release", "PRETTY_NAME='Alpine \\ 3'\n");
        assert_eq!(name_of(&[vendor]).as_deref(), Some("Alpine \\ 3"));
        assert_eq!(name_of(&[kernel, debian, vendor]).as_deref(), Some(expected));
        assert_eq!(name_of(&[kernel]).as_deref(), Some("Linux 6.1.0-18-amd64"));
        assert_eq!(name_of(&[]), None);
    }

    #[test]
    fn damaged_names_are_bounded_and_printable() {
        let name = |value: &str| name_of(&[("etc/os-release", &format!("PRETTY_NAME={value}\n"))]);
        assert_eq!(name("Plain").as_deref(), Some("Plain"));
        assert_eq!(name("\"a \\\"b\\\" \\$c\"").as_deref(), Some("a \"b\" $c"));
        assert_eq!(name("\"open").as_deref(), Some("open"));
        assert_eq!(name("\"end\\").as_deref(), Some("end"));
        assert_eq!(name("'\u{1b}[31mred\u{7}'").as_deref(), Some("[31mred"));
        assert_eq!(name("").as_deref(), None);
        let long = name(&"x".repeat(1_000_000)).expect("a name");
        assert_eq!(long.len(), MAX_NAME);
    }
}
