//! Providers that are asked by several queries or many readers, beside slow ones, or that end while they are asked.

use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Barrier, Mutex};
use std::time::Duration;

use tachograph_perflib::{ErrorCode, Guid};
use tachograph_publish::{Publisher, dynamic};
use tachograph_shm::control::{Kind, Request};
use tachograph_shm::{Description, InstanceKind, Options, SetFile};

use crate::asked::{Answer, Answering, always, provider, provider_of};
use crate::made::{Consumer, child, files, rows, shop};
use crate::trust::wait_for_shop;

/// The shop of a number.
fn shop_of(number: u128) -> Description {
    let mut description = shop(InstanceKind::Multiple);
    description.name = format!("Shop {number}").into();
    description.guid = tachograph_shm::Guid::from_u128(number);
    description
}

/// Providers of some sets, the requests of which go through `answer` with the number of their set.
fn providers(
    folder: &Path,
    count: u128,
    answer: impl Fn(u128, &Request) -> Option<u32> + Clone + Send + 'static,
) -> Vec<Answering> {
    let provider = |number| {
        let answer = answer.clone();
        let answer: Answer = Box::new(move |request| answer(number, request));
        provider_of(folder, shop_of(number), "a", answer)
    };
    (1..=count).map(provider).collect()
}

fn outcomes(consumer: &Consumer) -> Vec<Result<(), ErrorCode>> {
    let sets = consumer.query.sets().iter();
    sets.map(|set| set.outcome().map_err(|failure| failure.code)).collect()
}

/// Each answers when all were asked.
#[test]
fn all_sets_are_asked_before_one_is_waited_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let all_are_asked = Arc::new(Barrier::new(3));
    let answer = move |_, request: &Request| {
        if request.kind == Kind::CollectStart {
            all_are_asked.wait();
        }
        Some(0)
    };
    let _providers = providers(folder.path(), 3, answer);
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop*(*)\Requests/sec"]);
    for _ in 0..5 {
        consumer.query.collect();
        assert_eq!(outcomes(&consumer), [Ok(()); 3]);
    }
}

/// Queries of one registry share the connections, and get their own answers.
#[test]
fn queries_ask_at_the_same_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let _providers = providers(folder.path(), 2, |_, _| Some(0));
    let mut first = Consumer::new(folder.path(), &[r"\Shop*(*)\Requests/sec"]);
    let registry = Arc::clone(&first.registry);
    let collect = |consumer: &mut Consumer| {
        for _ in 0..300 {
            consumer.query.collect();
            assert_eq!(outcomes(consumer), [Ok(()); 2]);
        }
    };
    std::thread::scope(|scope| {
        for paths in [[r"\Shop 2(*)\*", r"\Shop 1(*)\*"], [r"\Shop 1(*)\Open Orders", r"\Shop 2(*)\*"]] {
            let registry = Arc::clone(&registry);
            scope.spawn(move || collect(&mut Consumer::on(registry, &paths)));
        }
        collect(&mut first);
    });
}

/// A provider of the library with a callback, and its instance.
fn callback(folder: &Path) -> (dynamic::Provider, Arc<dynamic::Instance>) {
    let guid = shop_of(1).guid;
    let publisher = Publisher::new().folder(folder);
    let options = dynamic::Options { publisher, control: Some(Arc::new(|_| Ok(()))) };
    let provider = dynamic::Provider::start(guid, options).expect("it starts");
    provider.register(shop_of(1)).expect("registered");
    let instance = provider.create_instance(guid, "a", 0).expect("room");
    (provider, instance)
}

/// More readers than a provider keeps connections of, one after the other: each is cut off between its collections.
#[test]
fn too_many_readers_take_turns() {
    let folder = tempfile::tempdir().expect("a folder");
    let _provider = callback(folder.path());
    let paths = &[r"\Shop 1(*)\Requests/sec"];
    let mut consumers: Vec<_> = (0..20).map(|_| Consumer::new(folder.path(), paths)).collect();
    for _ in 0..5 {
        for consumer in &mut consumers {
            assert_eq!(consumer.collect(), rows([("a", [0])]));
        }
    }
}

/// The same at the same time: who is cut off waits, or asks again.
#[test]
fn too_many_readers_at_the_same_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let _provider = callback(folder.path());
    let begin = Barrier::new(40);
    std::thread::scope(|scope| {
        for _ in 0..40 {
            scope.spawn(|| {
                let mut consumer = Consumer::new(folder.path(), &[r"\Shop 1(*)\Requests/sec"]);
                begin.wait();
                for _ in 0..10 {
                    assert_eq!(consumer.collect(), rows([("a", [0])]));
                }
            });
        }
    });
}

/// What a child process runs: it publishes, and ends when it is asked for values.
pub(crate) fn die_when_asked(folder: &Path) {
    let answer: Answer = Box::new(|request| {
        if request.kind == Kind::CollectStart {
            std::process::abort();
        }
        Some(0)
    });
    let _provider = provider(folder, "a", answer);
    let parent = std::os::unix::process::parent_id();
    while std::os::unix::process::parent_id() == parent {
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn who_dies_when_it_is_asked_is_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    for _ in 0..10 {
        let mut child = child(folder.path(), "dies when asked");
        let mut consumer = wait_for_shop(folder.path());
        assert_eq!(consumer.collect(), []);
        assert_eq!(consumer.troubles(), [""; 0]);
        assert_eq!(consumer.registry.publishers(Guid::from_bytes(crate::made::SHOP.to_bytes())), []);
        child.wait().expect("it is dead");
        // The socket of one that was killed stays until somebody looks for what was left.
        let left = files(folder.path()).into_iter().filter(|name| !name.ends_with(".sock"));
        assert_eq!(left.count(), 0);
    }
}

/// One that lives and ends each connection has an error of its own.
#[test]
fn who_hangs_up_cannot_be_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options { folder: Some(folder.path().to_owned()), has_control: true, ..Options::default() };
    let file = SetFile::create(shop(InstanceKind::Multiple), &options).expect("a set");
    let listener = UnixListener::bind(file.socket_path().expect("a path")).expect("a socket");
    file.go_live().expect("a name");
    let (came, connections): (Sender<()>, _) = channel();
    let came = Mutex::new(came);
    std::thread::spawn(move || {
        while listener.accept().is_ok() {
            let _ = came.lock().expect("a lock").send(());
        }
    });
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\Requests/sec"]);
    consumer.query.collect();
    assert_eq!(outcomes(&consumer), [Err(ErrorCode::NO_DATA)]);
    let failure = consumer.query.sets()[0].outcome().expect_err("an error");
    assert!(failure.reason.contains("cannot be asked"), "{failure}");
    assert!(connections.try_iter().count() <= 4, "it connects anew a few times only");
    // Another provider of the set is read all the same.
    let _good = provider(folder.path(), "good", always(0));
    assert_eq!(consumer.collect(), rows([("good", [0])]));
    assert_eq!(consumer.troubles().len(), 1);
}
