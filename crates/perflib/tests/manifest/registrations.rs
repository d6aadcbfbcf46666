//! Registering, listing and unregistering manifests.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use tachograph_perflib::Guid;
use tachograph_perflib::manifest::{
    Folders, RegisterError, Registered, Registration, Unregister, register, registered_in, unregister,
};
use tachograph_perflib::registration::CounterSetInfo;
use tempfile::TempDir;

use crate::{KERNEL, SHOP};

/// A temporary folder for manifests, with a folder for registrations in it.
struct Fixture {
    folder: TempDir,
    folders: Folders,
}

impl Fixture {
    fn new() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let folders = Folders::one(folder.path().join("registered/manifests"));
        Self { folder, folders }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.folder.path().join(name);
        std::fs::write(&file, text).expect("writable");
        file
    }

    fn register(&self, text: &str) -> Result<Registration, RegisterError> {
        register(&self.write("x.man", text), &self.folders, |_| false)
    }

    fn registered(&self) -> Registered {
        registered_in(&self.folders.search)
    }

    fn target(&self, name: &str) -> PathBuf {
        self.folders.search[0].join(name)
    }

    fn names(&self) -> Vec<String> {
        names(&self.registered())
    }

    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.folders.search[0]).expect("the folder");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

fn names(registered: &Registered) -> Vec<String> {
    registered.sets.iter().map(|set| set.info.name.to_string()).collect()
}

fn problems(registered: &Registered) -> Vec<&str> {
    registered.problems.iter().map(|problem| problem.message.as_str()).collect()
}

const SHOP_FILE: &str = "{6a1f5d0c-3b2e-4c57-9d3a-0f2c8d1e7a40}.man";

fn guid(text: &str) -> Guid {
    text.parse().expect("a GUID")
}

#[test]
fn a_manifest_is_registered_and_unregistered() {
    let fixture = Fixture::new();
    assert_eq!(fixture.registered(), Registered::default());
    let registration = fixture.register(SHOP).expect("free");
    assert_eq!(registration.file, fixture.target(SHOP_FILE));
    assert_eq!(std::fs::read_to_string(&registration.file).expect("the file"), SHOP);
    let mode = std::fs::metadata(&registration.file).expect("the file").permissions().mode();
    assert_eq!(mode & 0o7777, 0o644);
    let registered = fixture.registered();
    assert_eq!(names(&registered), ["Shop", "Shop Carts"]);
    assert_eq!(problems(&registered), [""; 0]);
    assert_eq!(registered.sets[0].file.as_ref(), fixture.target(SHOP_FILE));
    assert_eq!(*registered.sets[1].info, registration.manifest.counter_sets().nth(1).expect("two"));
    fixture.register(KERNEL).expect("free");
    assert_eq!(fixture.names(), ["Pump", "Shop", "Shop Carts"]);

    let gone = unregister(Unregister::Manifest(&fixture.folder.path().join("x.man")), &fixture.folders);
    assert_eq!(gone.expect("registered"), fixture.target("{00000000-0000-0000-0000-000000000001}.man"));
    let gone = unregister(Unregister::Guid(registration.manifest.provider.guid.value), &fixture.folders);
    assert_eq!(gone.expect("registered"), fixture.target(SHOP_FILE));
    assert_eq!(fixture.files(), [""; 0]);
}

#[track_caller]
fn assert_taken(result: Result<Registration, RegisterError>, words: &str) {
    match result {
        Err(RegisterError::Taken(message)) => assert!(message.contains(words), "{message}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn registered_names_and_guids_cannot_be_registered_again() {
    let fixture = Fixture::new();
    fixture.register(SHOP).expect("free");
    assert_taken(fixture.register(SHOP), "provider {6a1f5d0c-3b2e-4c57-9d3a-0f2c8d1e7a40} is registered");
    let other = |guids: &str| SHOP.replace("d1e7a4", guids).replace("name=\"Shop", "name=\"New");
    // The GUID of one set, and the name of one set.
    let same_guid = other("d1e7a5").replace("d1e7a52", "d1e7a42");
    assert_taken(fixture.register(&same_guid), "this GUID is already registered by");
    assert_taken(
        fixture.register(&other("d1e7a5").replace("\"New\"", "\"SHOP\"")),
        "this name is already registered by",
    );
    let belongs_to_the_machine = |info: &CounterSetInfo| &*info.name == "New Carts";
    let file = fixture.write("y.man", &other("d1e7a5"));
    assert_taken(
        register(&file, &fixture.folders, belongs_to_the_machine),
        "a counter set of this machine already has this name or GUID",
    );
    assert_eq!(fixture.files(), [SHOP_FILE]);
    register(&file, &fixture.folders, |_| false).expect("free");
    assert_eq!(fixture.names(), ["Shop", "Shop Carts", "New", "New Carts"]);
    // As if the manifest had been registered before the machine had a set with this name.
    let remaining = fixture.registered().without(belongs_to_the_machine);
    assert_eq!(names(&remaining), ["Shop", "Shop Carts", "New"]);
    assert!(problems(&remaining)[0].contains("'New Carts'"), "{remaining:?}");
}

#[test]
fn the_first_folder_has_priority() {
    let (first, second) = (Fixture::new(), Fixture::new());
    first.register(&SHOP.replace("Carts by kind.", "First.")).expect("free");
    second.register(SHOP).expect("free");
    second.register(KERNEL).expect("free");
    let both = [first.folders.search[0].clone(), "/nonexistent".into(), second.folders.search[0].clone()];
    let registered = registered_in(&both);
    assert_eq!(names(&registered), ["Shop", "Shop Carts", "Pump"]);
    assert_eq!(&*registered.sets[1].info.help, "First.");
    assert_eq!(registered.problems.len(), 2);
    // A set conflicts with sets in any search folder.
    let folders = Folders { search: both.to_vec(), ..Folders::one(first.folders.search[0].clone()) };
    let file = second.write("pump.man", &KERNEL.replace("000001", "000009"));
    assert_taken(register(&file, &folders, |_| false), "this GUID is already registered by");
}

#[test]
fn invalid_manifests_and_a_missing_folder_are_errors() {
    let fixture = Fixture::new();
    match fixture.register(&SHOP.replace("perf_average_base", "perf_raw_base")) {
        Err(RegisterError::Invalid(violations)) => assert_eq!(violations.errors(), 2),
        other => panic!("{other:?}"),
    }
    assert!(!fixture.folders.search[0].exists());
    let missing = register(Path::new("/nonexistent/x.man"), &fixture.folders, |_| false);
    assert!(matches!(missing, Err(RegisterError::Io { .. })), "{missing:?}");
    let file = fixture.write("x.man", SHOP);
    let nowhere = register(&file, &Folders::default(), |_| false);
    assert!(matches!(nowhere, Err(RegisterError::NoFolder)), "{nowhere:?}");
    let in_a_file = register(&file, &Folders::one(&file), |_| false);
    assert!(matches!(in_a_file, Err(RegisterError::Io { .. })), "{in_a_file:?}");
}

#[test]
fn unknown_registrations_are_errors() {
    let fixture = Fixture::new();
    let file = fixture.write("x.man", SHOP);
    let message_of = |what: Unregister<'_>| match unregister(what, &fixture.folders) {
        Err(RegisterError::NotRegistered(message)) => message,
        other => panic!("{other:?}"),
    };
    let shop = "{6a1f5d0c-3b2e-4c57-9d3a-0f2c8d1e7a40}";
    assert_eq!(message_of(Unregister::Manifest(&file)), format!("{shop} is not registered"));
    fixture.register(SHOP).expect("free");
    let one_of_two = "{6a1f5d0c-3b2e-4c57-9d3a-0f2c8d1e7a41}";
    assert_eq!(
        message_of(Unregister::Guid(guid(one_of_two))),
        format!("{one_of_two} is one of 2 counter sets of a provider: unregister the provider, {shop}")
    );
    // The only set of its provider.
    fixture.register(KERNEL).expect("free");
    let only = unregister(Unregister::Guid(guid("{00000000-0000-0000-0000-000000000002}")), &fixture.folders);
    only.expect("registered");
    assert_eq!(fixture.files(), [SHOP_FILE]);
}

#[test]
fn files_that_are_not_valid_manifests_are_reported() {
    let fixture = Fixture::new();
    fixture.register(SHOP).expect("free");
    let secret = fixture.write("secret", KERNEL);
    symlink(&secret, fixture.target("a.man")).expect("a link");
    symlink("/dev/zero", fixture.target("b.man")).expect("a link");
    std::fs::create_dir(fixture.target("c.man")).expect("a folder");
    assert!(make_pipe(&fixture.target("d.man")));
    std::fs::write(fixture.target("e.man"), "<a>").expect("writable");
    std::fs::write(fixture.target("f.man"), vec![b' '; (16 << 20) + 1]).expect("writable");
    std::fs::write(fixture.target(".partial.man"), KERNEL).expect("writable");
    std::fs::write(fixture.target("README"), "x").expect("writable");
    let registered = fixture.registered();
    assert_eq!(names(&registered), ["Shop", "Shop Carts"]);
    assert_eq!(
        problems(&registered),
        [
            "it is a link; only regular files are read",
            "it is a link; only regular files are read",
            "it is not a regular file",
            "it is not a regular file",
            "1:4: error: XML: found broken XML (the root node was opened but never closed), expected well-formed XML without a \
             document type",
            "it has more than 16777216 bytes",
        ]
    );
    // Links are not followed, neither at the final nor at the temporary name.
    let planted = fixture.target("{00000000-0000-0000-0000-000000000001}.man");
    let victim = fixture.write("victim", "mine");
    symlink(&victim, &planted).expect("a link");
    symlink(&victim, fixture.target(".registration.partial")).expect("a link");
    assert_taken(fixture.register(KERNEL), "the provider is registered");
    std::fs::remove_file(&planted).expect("the file");
    fixture.register(KERNEL).expect("free");
    assert_eq!(std::fs::read_to_string(&victim).expect("the file"), "mine");
    assert!(!fixture.files().contains(&".registration.partial".to_owned()));
    assert_eq!(registered_in(&[victim]).problems.len(), 1);
}

fn make_pipe(path: &Path) -> bool {
    std::process::Command::new("mkfifo").arg(path).status().is_ok_and(|status| status.success())
}

/// All manifests have the same sets but different providers. The file of the registration that succeeds is complete.
#[test]
fn only_one_of_several_concurrent_registrations_succeeds() {
    let fixture = Fixture::new();
    let results: Vec<_> = std::thread::scope(|scope| {
        let fixture = &fixture;
        let threads: Vec<_> = (0..8)
            .map(|n| {
                let text = SHOP.replace("d1e7a40", &format!("d1e7b4{n}"));
                let file = fixture.write(&format!("{n}.man"), &text);
                scope.spawn(move || register(&file, &fixture.folders, |_| false).is_ok())
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!(results.iter().filter(|registered| **registered).count(), 1);
    assert_eq!(fixture.files().len(), 1);
    assert_eq!(fixture.names(), ["Shop", "Shop Carts"]);
}
