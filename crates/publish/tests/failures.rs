//! Folders in which publishing fails: the error says what to do, the counters still work, and no files remain. Tests
//! that require another user or other limits start this program again.

#[path = "all/seen.rs"]
mod seen;

use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tachograph_publish::{
    Counter, CounterSet, Gauge, PublishError, Publisher, StripedCounter, Timer, WriteError,
};

#[derive(CounterSet)]
#[counter_set(name = "Shop")]
struct Shop {
    #[counter(name = "Requests/sec")]
    requests: Counter,
    #[counter(name = "Avg. sec/Request", base = "Requests Base")]
    time: Timer,
}

#[derive(CounterSet)]
#[counter_set(name = "Carts", instances = "multiple")]
struct Carts {
    #[counter(name = "Things")]
    things: Gauge,
}

/// The environment variable with the folder, for the child process that runs a test again.
const CHILD_FOLDER: &str = "PUBLISH_TEST_FOLDER";

/// The folder, in the child process.
fn child_folder() -> Option<PathBuf> {
    std::env::var_os(CHILD_FOLDER).map(PathBuf::from)
}

/// The command that runs one of this program's tests in a folder.
fn child_command(test: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", test, "--nocapture"]).env(CHILD_FOLDER, folder);
    command
}

fn assert_success(output: &Output) {
    let text = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{} (signal {:?}): {text}{error}",
        output.status,
        output.status.signal()
    );
    assert!(text.contains("1 passed"), "{text}");
}

/// Checks that starting a set fails and that its counters still work. Returns the error.
fn start_error(publisher: &Publisher) -> PublishError {
    let mut reported = None;
    let shop = publisher.start_or_unpublished::<Shop>(|error| reported = Some(error));
    assert!(!shop.is_published());
    shop.requests.add(2);
    drop(shop.time.start());
    assert_eq!(shop.requests.value(), 2);
    assert_eq!(shop.time.sum().map(|sum| sum.count), Some(1));
    let carts = publisher.start_set_or_unpublished::<Carts>(|_| ());
    let cart = carts.instance("one").expect("memory");
    cart.things.set(7);
    assert_eq!(carts.find("one", 0).expect("the instance").things.value(), 7);
    drop((cart, carts));
    reported.expect("an error was reported")
}

fn io_kind(error: &PublishError) -> Option<ErrorKind> {
    match error {
        PublishError::Write(WriteError::Io(_, _, error)) => Some(error.kind()),
        _ => None,
    }
}

#[test]
fn a_missing_folder_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("missing").join("folder");
    let error = start_error(&Publisher::new().folder(&missing));
    assert_eq!(error.code(), 3, "{error}");
    let text = error.to_string();
    assert!(text.contains(missing.to_str().expect("text")) && text.contains("TACHO_RUNTIME_DIR"), "{text}");
    assert!(!missing.exists());
}

#[test]
fn a_link_or_a_file_is_not_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let (target, link, file) =
        (folder.path().join("target"), folder.path().join("link"), folder.path().join("file"));
    std::fs::create_dir(&target).expect("a folder");
    symlink(&target, &link).expect("a link");
    std::fs::write(&file, "").expect("a file");
    for path in [link, file] {
        let error = start_error(&Publisher::new().folder(&path));
        assert!(matches!(error.code(), 3 | 5), "{error}");
    }
    assert_eq!(seen::all_entries(&target), [""; 0]);
}

#[test]
fn a_folder_without_permission_is_an_error() {
    if let Some(folder) = child_folder() {
        let error = start_error(&Publisher::new().folder(&folder));
        assert!(error.is_permission_denied(), "{error}");
        assert_eq!(io_kind(&error), Some(ErrorKind::PermissionDenied));
        assert!(error.to_string().contains("TACHO_RUNTIME_DIR"), "{error}");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o555)).expect("a mode");
    let mut command = child_command("a_folder_without_permission_is_an_error", folder.path());
    let is_root = std::fs::write(folder.path().join("probe"), "").is_ok();
    if is_root {
        std::fs::remove_file(folder.path().join("probe")).expect("a file");
        // As user nobody, which can only run a copy of the program in an accessible folder.
        let accessible = tempfile::Builder::new()
            .permissions(PermissionsExt::from_mode(0o755))
            .tempdir()
            .expect("a folder");
        let copy = accessible.path().join("program");
        // A separate process copies the program. If this process had the copy open for writing, children that other
        // tests start at that moment would inherit the descriptor, and the copy could not be executed until they exec
        // (ETXTBSY).
        let program = std::env::current_exe().expect("this program");
        let copied = Command::new("install").args(["-m", "755"]).args([&program, &copy]).status();
        assert!(copied.expect("a copy").success());
        let mut command = Command::new(&copy);
        command
            .args(["--exact", "a_folder_without_permission_is_an_error", "--nocapture"])
            .env(CHILD_FOLDER, folder.path());
        assert_success(&command.uid(65_534).gid(65_534).current_dir("/").output().expect("start child"));
    } else {
        assert_success(&command.output().expect("start child"));
    }
    assert_eq!(seen::all_entries(folder.path()), [""; 0]);
}

#[test]
fn exceeding_the_limit_of_file_sizes_is_an_error() {
    if let Some(folder) = child_folder() {
        let error = start_error(&Publisher::new().folder(&folder));
        assert!(error.is_full(), "{error}");
        assert_eq!(io_kind(&error), Some(ErrorKind::FileTooLarge));
        assert!(error.to_string().contains("ulimit"), "{error}");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    run_with_limit("ulimit -f 1", "exceeding_the_limit_of_file_sizes_is_an_error", folder.path());
    assert_eq!(seen::all_entries(folder.path()), [""; 0]);
}

#[test]
fn instances_beyond_the_maximal_file_size_are_an_error() {
    if let Some(folder) = child_folder() {
        let carts = Publisher::new().folder(&folder).start_set::<Carts>().expect("the first page exists");
        let mut room = Vec::new();
        let error = loop {
            match carts.instance(&room.len().to_string()) {
                Ok(cart) => room.push(cart),
                Err(error) => break error,
            }
            assert!(room.len() < 100_000, "the limit has no effect");
        };
        assert!(error.is_full(), "{error}");
        // Existing instances continue, and ending one frees its slot.
        room.iter().for_each(|cart| cart.things.add(1));
        assert_eq!(seen::rows(&mut seen::set(&folder)).len(), room.len());
        drop(room.pop());
        room.push(carts.instance("last").expect("room again"));
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    run_with_limit("ulimit -f 300", "instances_beyond_the_maximal_file_size_are_an_error", folder.path());
    assert_eq!(seen::all_entries(folder.path()), [""; 0]);
}

/// Runs a test of this program under a limit that a shell sets.
fn run_with_limit(limit: &str, test: &str, folder: &Path) {
    let child = child_command(test, folder);
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("{limit} && exec \"$0\" \"$@\""))
        .arg(child.get_program())
        .args(child.get_args());
    assert_success(&command.env(CHILD_FOLDER, folder).output().expect("start child"));
}

/// A set whose 65,536 instances take 512 MiB.
#[derive(CounterSet)]
#[counter_set(name = "Wide", instances = "multiple")]
struct Wide {
    #[counter(name = "Things/sec", striped = 64)]
    things: StripedCounter,
}

#[test]
fn a_set_works_with_little_memory() {
    if let Some(folder) = child_folder() {
        let publisher = Publisher::new().folder(folder.join("missing").join("folder"));
        let wide = publisher.start_set_or_unpublished::<Wide>(|_| ());
        let one = wide.instance("one").expect("memory");
        one.things.add(1);
        assert_eq!(one.things.value(), 1);
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    run_with_limit("ulimit -v 450000", "a_set_works_with_little_memory", folder.path());
}
