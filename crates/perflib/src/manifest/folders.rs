//! The folders of registered manifests.

use std::ffi::OsString;
use std::path::PathBuf;

/// Manifests that root has registered on this machine.
const SYSTEM_DIR: &str = "/etc/tachograph/manifests";
/// Manifests that packages install.
const PACKAGE_DIR: &str = "/usr/share/tachograph/manifests";

/// The folders of registered manifests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folders {
    /// The folder in which new manifests are registered; `None` if the environment does not specify a folder.
    pub target: Option<PathBuf>,
    /// The folders in which registered manifests are searched, in order. If a counter set is registered twice, the first
    /// registration is used.
    pub search: Vec<PathBuf>,
}

impl Folders {
    /// The folders that the environment specifies.
    ///
    /// The target is `TACHO_MANIFEST_DIR` if set; otherwise `/etc/tachograph/manifests` for root, and
    /// `$XDG_DATA_HOME/tachograph/manifests` (`~/.local/share/tachograph/manifests`) for other users. The search path
    /// is `TACHO_MANIFEST_DIR`, `/etc/tachograph/manifests`, `/usr/share/tachograph/manifests` and, for users other
    /// than root, the user's own folder.
    pub fn from_environment() -> Self {
        Self::from_variables(|name| std::env::var_os(name), rustix::process::geteuid().is_root())
    }

    fn from_variables(variable: impl Fn(&str) -> Option<OsString>, is_root: bool) -> Self {
        let folder = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        // The XDG Base Directory Specification requires relative paths to be ignored.
        let absolute = |name: &str| folder(name).filter(|path| path.is_absolute());
        let user_dir = absolute("XDG_DATA_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".local/share")))
            .map(|data| data.join("tachograph/manifests"))
            .filter(|_| !is_root);
        let chosen = folder("TACHO_MANIFEST_DIR");
        let system_dir = PathBuf::from(SYSTEM_DIR);
        let target =
            chosen.clone().or_else(|| if is_root { Some(system_dir.clone()) } else { user_dir.clone() });
        let mut search: Vec<_> = chosen.into_iter().collect();
        for folder in [system_dir, PACKAGE_DIR.into()].into_iter().chain(user_dir) {
            if !search.contains(&folder) {
                search.push(folder);
            }
        }
        Self { target, search }
    }

    /// Uses one folder as the target and the search path.
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
        let folders = Folders::from_variables(variable, is_root);
        assert_eq!(folders.target, target.map(PathBuf::from));
        assert_eq!(folders.search, search.iter().map(PathBuf::from).collect::<Vec<_>>());
    }

    #[test]
    fn the_environment_determines_the_folders() {
        let home = ("HOME", "/home/ann");
        let own = "/home/ann/.local/share/tachograph/manifests";
        folders(&[home], true, Some(SYSTEM_DIR), &[SYSTEM_DIR, PACKAGE_DIR]);
        folders(&[home], false, Some(own), &[SYSTEM_DIR, PACKAGE_DIR, own]);
        folders(&[home, ("XDG_DATA_HOME", "data")], false, Some(own), &[SYSTEM_DIR, PACKAGE_DIR, own]);
        let data = "/data/tachograph/manifests";
        folders(&[home, ("XDG_DATA_HOME", "/data")], false, Some(data), &[SYSTEM_DIR, PACKAGE_DIR, data]);
        folders(&[("TACHO_MANIFEST_DIR", "m")], true, Some("m"), &["m", SYSTEM_DIR, PACKAGE_DIR]);
        folders(
            &[home, ("TACHO_MANIFEST_DIR", "/m")],
            false,
            Some("/m"),
            &["/m", SYSTEM_DIR, PACKAGE_DIR, own],
        );
        folders(&[("TACHO_MANIFEST_DIR", "")], false, None, &[SYSTEM_DIR, PACKAGE_DIR]);
        folders(&[("TACHO_MANIFEST_DIR", SYSTEM_DIR)], true, Some(SYSTEM_DIR), &[SYSTEM_DIR, PACKAGE_DIR]);
    }
}
