//! Sets of other users, reserved names, and files planted in folders.

use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use tachograph_counters::CounterType as T;
use tachograph_perflib::published::Published;
use tachograph_perflib::registration::{CounterInfo, CounterSetInfo, InstanceType};
use tachograph_perflib::{Clock, Failure, Guid, Provider, Registry, Rows};
use tachograph_shm::{Description, InstanceKind};

use crate::fixtures::{
    Consumer, SHOP, child, files, publish, publish_single, published, registry, rows, set, shop,
};

fn notices(registry: &Registry) -> Vec<String> {
    registry.notices().iter().map(ToString::to_string).collect()
}

/// Published sets as another user sees them.
fn published_for_another_user(folder: &Path) -> Published {
    published(folder).for_user(4_294_900_000)
}

#[test]
fn a_set_of_another_user_has_the_uid_in_its_name() {
    let folder = tempfile::tempdir().expect("create folder");
    let (_file, slot) = publish_single(folder.path(), shop(InstanceKind::Single));
    set(&slot, 0, 3);
    let own = registry(&published(folder.path()), None);
    let strange = registry(&published_for_another_user(folder.path()), None);
    let user = own.publishers(Guid::from_bytes(SHOP.to_bytes()))[0].user;
    let name = format!("Shop [uid {user}]");
    let guid = strange.find(&name).expect("the marked set").guid;
    assert!(strange.find("Shop").is_none());
    assert_ne!(guid, Guid::from_bytes(SHOP.to_bytes()));
    let mut consumer = Consumer::with_registry(strange, &[&format!(r"\{name}\Requests/sec")]);
    assert_eq!(consumer.collect()[0].1, [3]);
}

/// Needs root, to create a file of another user.
#[test]
fn sets_of_two_users_are_separate() {
    let folder = tempfile::tempdir().expect("create folder");
    let (_own, slot) = publish_single(folder.path(), shop(InstanceKind::Single));
    set(&slot, 0, 1);
    let (other, slot) = publish_single(folder.path(), shop(InstanceKind::Single));
    set(&slot, 0, 2);
    let path = other.path().expect("a file");
    if chown(&path, Some(12_345), None).is_err() {
        // Only root can change the owner; the name is covered by the previous test.
        return;
    }
    let registry = registry(&published(folder.path()), None);
    let mut names: Vec<_> = registry.counter_sets().map(|info| info.name.to_string()).collect();
    names.sort();
    assert_eq!(names, ["Shop", "Shop [uid 12345]"]);
    let mut own = Consumer::new(folder.path(), &[r"\Shop\Requests/sec"]);
    assert_eq!(own.collect().into_iter().map(|(_, values)| values).collect::<Vec<_>>(), [[1]]);
    let mut other = Consumer::new(folder.path(), &[r"\Shop [uid 12345]\Requests/sec"]);
    let rows = other.collect();
    assert_eq!(rows[0].1, [2]);
    assert_eq!(rows[0].0, "process", "the name of a process with another owner is not used");
}

/// A provider of a set of the machine.
struct Memory(std::sync::Arc<CounterSetInfo>);

impl Provider for Memory {
    fn info(&self) -> &std::sync::Arc<CounterSetInfo> {
        &self.0
    }

    fn collect(&mut self, _: &mut Rows) -> Result<(), Failure> {
        Ok(())
    }
}

#[test]
fn sets_of_the_machine_cannot_be_published() {
    let folder = tempfile::tempdir().expect("create folder");
    let guid = Guid::from_bytes(SHOP.to_bytes());
    let named = |name: &str, set: u128| Description {
        name: name.to_owned().into(),
        guid: tachograph_shm::Guid::from_u128(set),
        ..shop(InstanceKind::Single)
    };
    let _files = [
        publish_single(folder.path(), named("memory", 1)),
        publish_single(folder.path(), named("Store", SHOP.to_u128())),
        publish_single(folder.path(), named("Kept", 2)),
        publish_single(folder.path(), named("Good", 3)),
    ];
    let mut info = CounterSetInfo::new("Memory", guid, InstanceType::Single);
    info.counters.push(CounterInfo::new(1, "Available Bytes", T::LARGE_RAWCOUNT));
    for mut published in [published(folder.path()), published_for_another_user(folder.path())] {
        let mut registry = Registry::new("HERE", Clock::of_this_machine());
        registry.register(Box::new(Memory(std::sync::Arc::new(info.clone())))).expect("the set");
        published.reserve("KEPT", Guid::from_u128(99));
        published.add_to(&mut registry, None);
        let names: Vec<_> = registry.counter_sets().map(|info| info.name.to_string()).collect();
        assert!(names.len() == 2 && names[0] == "Memory" && names[1].starts_with("Good"), "{names:?}");
        let reported = notices(&registry);
        assert_eq!(reported.len(), 3, "{reported:?}");
        assert!(reported[0].starts_with("the counter set 'memory' of "), "{reported:?}");
        assert!(
            reported[0].ends_with("is omitted: its name or GUID belongs to a counter set of this machine")
        );
        assert_eq!(registry.notices()[1].set(), Some("Store"));
    }
}

#[test]
fn of_sets_with_the_same_name_the_first_published_one_is_kept() {
    let folder = tempfile::tempdir().expect("create folder");
    let (first, slot) = publish_single(folder.path(), shop(InstanceKind::Single));
    let second = Description { guid: tachograph_shm::Guid::from_u128(5), ..shop(InstanceKind::Single) };
    let _second = publish_single(folder.path(), second);
    let published = published(folder.path());
    let both = registry(&published, None);
    assert_eq!(both.enumerate().collect::<Vec<_>>(), [Guid::from_bytes(SHOP.to_bytes())]);
    assert!(notices(&both)[0].ends_with("has the same name"), "{:?}", notices(&both));
    drop((first, slot));
    let after = registry(&published, Some(&both));
    assert_eq!(after.enumerate().collect::<Vec<_>>(), [Guid::from_u128(5)]);
    assert!(after.notices().is_empty());
}

#[test]
fn names_that_cannot_occur_in_a_path_are_rejected() {
    let folder = tempfile::tempdir().expect("create folder");
    let mut files = Vec::new();
    for (set, name) in (1..).zip([r"A\B", "Shop (old)", "All*", "Wh?t", " ", r"\\M"]) {
        let description = Description {
            name: name.to_owned().into(),
            guid: tachograph_shm::Guid::from_u128(set),
            ..shop(InstanceKind::Single)
        };
        files.push(publish_single(folder.path(), description));
    }
    let mut description = shop(InstanceKind::Single);
    description.counters[0].name = r"a\b".into();
    files.push(publish_single(folder.path(), description));
    let mut description = shop(InstanceKind::Single);
    description.guid = tachograph_shm::Guid::from_u128(100);
    description.name = "Twins".into();
    description.counters[1].name = "REQUESTS/sec".into();
    // Either the writer or the reader rejects two counters with the same name.
    let options = tachograph_shm::Options { folder: Some(folder.path().to_owned()), ..Default::default() };
    let twins = tachograph_shm::SetFile::create(description, &options).ok();
    if let Some(twins) = &twins {
        twins.go_live().expect("rename file");
    }
    let registry = registry(&published(folder.path()), None);
    assert_eq!(registry.counter_sets().count(), 0, "{registry:?}");
    assert_eq!(registry.notices().len(), 7 + usize::from(twins.is_some()), "{:?}", notices(&registry));
}

#[test]
fn control_characters_are_replaced() {
    let folder = tempfile::tempdir().expect("create folder");
    let description = Description { help: "a\u{1b}[2Jb".into(), ..shop(InstanceKind::Multiple) };
    let file = publish(folder.path(), description);
    let _slot = file.create_instance("x\u{7}\ny", 0).expect("create instance");
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\Requests/sec"]);
    assert_eq!(consumer.collect(), rows([("x\u{FFFD}\u{FFFD}y", [0])]));
    assert_eq!(&*consumer.registry.find("Shop").expect("the set").help, "a\u{FFFD}[2Jb");
}

#[test]
fn counters_of_another_version_are_omitted() {
    let folder = tempfile::tempdir().expect("create folder");
    let mut old = shop(InstanceKind::Multiple);
    old.counters[1].counter_type = T::BULK_COUNT;
    let file = publish(folder.path(), old);
    let slot = file.create_instance("old", 0).expect("create instance");
    set(&slot, 0, 1);
    set(&slot, 1, 2);
    let new = publish(folder.path(), shop(InstanceKind::Multiple));
    let slot = new.create_instance("new", 0).expect("create instance");
    set(&slot, 0, 3);
    set(&slot, 1, 4);
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\*"]);
    let reported = notices(&consumer.registry);
    assert!(reported.len() == 1 && reported[0].contains("is another version than that of"), "{reported:?}");
    let raw = consumer.collect_raw();
    assert_eq!((raw[0].1[0].first, raw[1].1[1].first), (1, 4));
    assert!(raw[0].1[1].status.is_error() && raw[1].1[1].status.is_good());
    assert_eq!(
        consumer.errors(),
        [format!(
            "process {} does not publish this counter, or publishes it with another type",
            std::process::id()
        )]
    );
    // Descriptions with different instance types have no counters in common.
    drop(file);
    let single = publish_single(folder.path(), shop(InstanceKind::Single));
    drop(new);
    drop(slot);
    consumer.query.collect();
    let failure = consumer.query.sets()[0].outcome().expect_err("nothing to read");
    assert!(failure.reason.contains("another type"), "{failure}");
    drop(single);
}

#[test]
fn planted_files_are_rejected() {
    let folder = tempfile::tempdir().expect("create folder");
    let elsewhere = tempfile::tempdir().expect("create folder");
    let (file, _slot) = publish_single(elsewhere.path(), shop(InstanceKind::Single));
    let target = file.path().expect("a file");
    let planted = |name: &str| folder.path().join(name);
    symlink(&target, planted("link.tacho")).expect("a link");
    let _other = std::fs::hard_link(&target, planted("twin.tacho"));
    std::fs::create_dir(planted("folder.tacho")).expect("create folder");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        planted("pipe.tacho"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .expect("a pipe");
    std::fs::write(planted("empty.tacho"), "").expect("a file");
    std::fs::write(planted("text.tacho"), "x".repeat(4096)).expect("a file");
    let _socket = std::os::unix::net::UnixListener::bind(planted("socket.tacho")).expect("bind socket");
    symlink("/dev/zero", planted("zero.tacho")).expect("a link");
    let registry = registry(&published(folder.path()), None);
    assert_eq!(registry.counter_sets().count(), 0);
    let reported = notices(&registry).join("\n");
    for name in ["link", "folder", "twin", "zero"] {
        assert!(reported.contains(&format!("{name}.tacho: ")), "{name}: {reported}");
    }
    assert!(files(elsewhere.path()).len() == 1, "the targets of symbolic links are not deleted");
}

#[test]
fn links_and_unreadable_folders_are_reported() {
    let folder = tempfile::tempdir().expect("create folder");
    let (_file, _slot) = publish_single(folder.path(), shop(InstanceKind::Single));
    let other = tempfile::tempdir().expect("create folder");
    let link = other.path().join("link");
    symlink(folder.path(), &link).expect("a link");
    let linked = registry(&published(&link), None);
    assert_eq!((linked.counter_sets().count(), linked.notices().len()), (0, 1), "{:?}", notices(&linked));
    // Root can read every folder.
    let closed = other.path().join("closed");
    std::fs::create_dir(&closed).expect("create folder");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o0)).expect("a mode");
    let reported = notices(&registry(&published(&closed), None));
    if !rustix::process::geteuid().is_root() {
        assert!(reported.len() == 1 && reported[0].contains("closed: "), "{reported:?}");
    }
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).expect("a mode");
}

/// A file can contain any process id, so the program's name is used only if the process has the same owner.
#[test]
fn a_program_is_named_only_if_the_owner_matches() {
    let folder = tempfile::tempdir().expect("create folder");
    let mut child = child(folder.path(), "single");
    let mut consumer = wait_for_shop(folder.path());
    let collected = consumer.collect();
    child.kill().expect("kill");
    child.wait().expect("wait");
    let name = std::fs::read_to_string("/proc/self/comm").expect("the name");
    assert_eq!(collected[0].0, name.trim());
    assert_eq!(consumer.registry.publishers(Guid::from_bytes(SHOP.to_bytes())), []);
}

pub(crate) fn wait_for_shop(folder: &Path) -> Consumer {
    for _ in 0..2_000 {
        let registry = registry(&published(folder), None);
        if registry.find("Shop").is_some() {
            return Consumer::with_registry(registry, &[r"\Shop(*)\Requests/sec"]);
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("no process publishes the set");
}
