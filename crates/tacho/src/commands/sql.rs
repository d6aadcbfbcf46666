//! `tacho sql`: runs `tacho-sql`, which is a separate program because DataFusion would make `tacho` ten times as large.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::arguments::SqlArguments;
use crate::failure::{Failure, cannot};

/// The program.
const PROGRAM: &str = "tacho-sql";

/// Replaces this process with `tacho-sql`, which then receives signals and sets the exit status.
pub(crate) fn run(arguments: &SqlArguments) -> Result<ExitCode, Failure> {
    let executable = std::env::current_exe().ok();
    let folder = executable.as_deref().and_then(Path::parent);
    let Some(program) = find(folder, std::env::var_os("PATH").as_deref()) else {
        return Err(Failure::runtime(missing(folder)));
    };
    let error = Command::new(&program).args(&arguments.arguments).exec();
    Err(cannot("run", &program, &error))
}

/// Finds the program in the folder of `tacho`, or in a folder of `PATH`.
fn find(folder: Option<&Path>, path: Option<&OsStr>) -> Option<PathBuf> {
    let folders = path.map(std::env::split_paths).into_iter().flatten();
    let candidates = folder.map(Path::to_path_buf).into_iter().chain(folders);
    // Relative entries are ignored: they could run another user's program from the working folder.
    let absolute = candidates.filter(|folder| folder.is_absolute());
    absolute.map(|folder| folder.join(PROGRAM)).find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

fn missing(folder: Option<&Path>) -> String {
    let place = folder.map_or_else(String::new, |folder| format!(" {} or", folder.display()));
    format!(
        "SQL needs the program '{PROGRAM}', which is not in{place} a folder of PATH: build it with \
         'cargo build --release -p tachograph-sql' and put target/release/{PROGRAM} next to tacho"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_tacho_precedes_the_path() {
        let folders = [tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder")];
        let [beside, in_path] = folders.each_ref().map(|folder| folder.path());
        let path = std::env::join_paths([Path::new(""), in_path]).expect("a path");
        let found = || find(Some(beside), Some(&path));
        let create = |folder: &Path, mode: u32| {
            let file = folder.join(PROGRAM);
            std::fs::write(&file, "").expect("written");
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("permissions");
            file
        };
        assert_eq!(found(), None);
        let second = create(in_path, 0o755);
        assert_eq!(found(), Some(second.clone()));
        // Not executable.
        create(beside, 0o644);
        assert_eq!(found(), Some(second));
        let first = create(beside, 0o755);
        assert_eq!(found(), Some(first));
        assert_eq!(find(None, None), None);
    }
}
