//! Where registered manifests are kept.

use std::ffi::OsString;
use std::path::PathBuf;

/// Registrations of this machine, made by root.
const OF_MACHINE: &str = "/etc/tachograph/manifests";
/// Registrations that come with installed packages.
const OF_PACKAGES: &str = "/usr/share/tachograph/manifests";

/// The folders of registered manifests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folders {
    /// Where new registrations go; `None` where the environment names no place.
    pub target: Option<PathBuf>,
    /// Where registrations are looked for, in this order: of two with the same counter set the first holds.
    pub search: Vec<PathBuf>,
}

impl Folders {
    /// The folders of the environment.
    ///
    /// The target is `TACHO_MANIFEST_DIR` if set, else `/etc/tachograph/manifests` for root, else
    /// `$XDG_DATA_HOME/tachograph/manifests` (`~/.local/share/tachograph/manifests`). Searched are `TACHO_MANIFEST_DIR`,
    /// `/etc/tachograph/manifests`, `/usr/share/tachograph/manifests`, and for other users than root their own. Root does
    /// not look into the home of whoever it was called by.
    pub fn of_environment() -> Self {
        Self::of(|name| std::env::var_os(name), rustix::process::geteuid().is_root())
    }

    fn of(variable: impl Fn(&str) -> Option<OsString>, is_root: bool) -> Self {
        let folder = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        // A relative path is none, says the XDG Base Directory Specification.
        let absolute = |name: &str| folder(name).filter(|path| path.is_absolute());
        let of_user = absolute("XDG_DATA_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".local/share")))
            .map(|data| data.join("tachograph/manifests"))
            .filter(|_| !is_root);
        let told = folder("TACHO_MANIFEST_DIR");
        let of_machine = PathBuf::from(OF_MACHINE);
        let target =
            told.clone().or_else(|| if is_root { Some(of_machine.clone()) } else { of_user.clone() });
        let mut search: Vec<_> = told.into_iter().collect();
        for folder in [of_machine, OF_PACKAGES.into()].into_iter().chain(of_user) {
            if !search.contains(&folder) {
                search.push(folder);
            }
        }
        Self { target, search }
    }

    /// One folder for everything.
    pub fn one(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self { target: Some(folder.clone()), search: vec![folder] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn folders(variables: &[(&str, &str)], is_root: bool, target: Option<&str>, search: &[&str]) {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        let folders = Folders::of(variable, is_root);
        assert_eq!(folders.target, target.map(PathBuf::from));
        assert_eq!(folders.search, search.iter().map(PathBuf::from).collect::<Vec<_>>());
    }

    #[test]
    fn the_environment_says_where() {
        let home = ("HOME", "/home/ann");
        let own = "/home/ann/.local/share/tachograph/manifests";
        folders(&[home], true, Some(OF_MACHINE), &[OF_MACHINE, OF_PACKAGES]);
        folders(&[home], false, Some(own), &[OF_MACHINE, OF_PACKAGES, own]);
        folders(&[home, ("XDG_DATA_HOME", "data")], false, Some(own), &[OF_MACHINE, OF_PACKAGES, own]);
        let data = "/data/tachograph/manifests";
        folders(&[home, ("XDG_DATA_HOME", "/data")], false, Some(data), &[OF_MACHINE, OF_PACKAGES, data]);
        folders(&[("TACHO_MANIFEST_DIR", "m")], true, Some("m"), &["m", OF_MACHINE, OF_PACKAGES]);
        folders(
            &[home, ("TACHO_MANIFEST_DIR", "/m")],
            false,
            Some("/m"),
            &["/m", OF_MACHINE, OF_PACKAGES, own],
        );
        folders(&[("TACHO_MANIFEST_DIR", "")], false, None, &[OF_MACHINE, OF_PACKAGES]);
        folders(&[("TACHO_MANIFEST_DIR", OF_MACHINE)], true, Some(OF_MACHINE), &[OF_MACHINE, OF_PACKAGES]);
    }
}
