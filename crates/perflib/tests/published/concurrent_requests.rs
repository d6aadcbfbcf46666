//! Requests of several queries and many readers, and providers that exit or close connections.

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

use crate::fixtures::{Consumer, child, files, rows, shop};
use crate::requests::{Answer, TestProvider, answer_always, provider, provider_of};
use crate::trust::wait_for_shop;

/// The description of the set with this number.
fn shop_number(number: u128) -> Description {
    let mut description = shop(InstanceKind::Multiple);
    description.name = format!("Shop {number}").into();
    description.guid = tachograph_shm::Guid::from_u128(number);
    description
}

/// Providers of several sets; `answer` gets the number of the set.
fn providers(
    folder: &Path,
    count: u128,
    answer: impl Fn(u128, &Request) -> Option<u32> + Clone + Send + 'static,
) -> Vec<TestProvider> {
    let provider = |number| {
        let answer = answer.clone();
        let answer: Answer = Box::new(move |request| answer(number, request));
        provider_of(folder, shop_number(number), "a", answer)
    };
    (1..=count).map(provider).collect()
}

fn outcomes(consumer: &Consumer) -> Vec<Result<(), ErrorCode>> {
    let sets = consumer.query.sets().iter();
    sets.map(|set| set.outcome().map_err(|failure| failure.code)).collect()
}

/// Each provider answers only after all providers have received a request.
#[test]
fn all_requests_are_sent_before_the_first_wait() {
    let folder = tempfile::tempdir().expect("create folder");
    let all_have_a_request = Arc::new(Barrier::new(3));
    let answer = move |_, request: &Request| {
        if request.kind == Kind::CollectStart {
            all_have_a_request.wait();
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

#[test]
fn concurrent_queries_get_their_own_answers() {
    let folder = tempfile::tempdir().expect("create folder");
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
            scope.spawn(move || collect(&mut Consumer::sharing(registry, &paths)));
        }
        collect(&mut first);
    });
}

/// A provider of `tachograph-publish` with a callback, and its instance.
fn provider_with_callback(folder: &Path) -> (dynamic::Provider, Arc<dynamic::Instance>) {
    let guid = shop_number(1).guid;
    let publisher = Publisher::new().folder(folder);
    let options = dynamic::Options { publisher, control: Some(Arc::new(|_| Ok(()))) };
    let provider = dynamic::Provider::start(guid, options).expect("start provider");
    provider.register(shop_number(1)).expect("registered");
    let instance = provider.create_instance(guid, "a", 0).expect("create instance");
    (provider, instance)
}

/// If there are more readers than connections, a provider closes each connection between two collections.
#[test]
fn too_many_readers_reconnect() {
    let folder = tempfile::tempdir().expect("create folder");
    let _provider = provider_with_callback(folder.path());
    let paths = &[r"\Shop 1(*)\Requests/sec"];
    let mut consumers: Vec<_> = (0..20).map(|_| Consumer::new(folder.path(), paths)).collect();
    for _ in 0..5 {
        for consumer in &mut consumers {
            assert_eq!(consumer.collect(), rows([("a", [0])]));
        }
    }
}

#[test]
fn too_many_concurrent_readers_reconnect() {
    let folder = tempfile::tempdir().expect("create folder");
    let _provider = provider_with_callback(folder.path());
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

/// The code of a child process that exits when values are requested.
pub(crate) fn exit_on_request(folder: &Path) {
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
fn a_process_that_exits_on_a_request_is_gone() {
    let folder = tempfile::tempdir().expect("create folder");
    for _ in 0..10 {
        let mut child = child(folder.path(), "exits on request");
        let mut consumer = wait_for_shop(folder.path());
        assert_eq!(consumer.collect(), []);
        assert_eq!(consumer.errors(), [""; 0]);
        assert_eq!(consumer.registry.publishers(Guid::from_bytes(crate::fixtures::SHOP.to_bytes())), []);
        child.wait().expect("wait");
        // The socket of a killed process remains until the next scan.
        let left = files(folder.path()).into_iter().filter(|name| !name.ends_with(".sock"));
        assert_eq!(left.count(), 0);
    }
}

#[test]
fn a_provider_that_closes_connections_is_an_error() {
    let folder = tempfile::tempdir().expect("create folder");
    let options = Options { folder: Some(folder.path().to_owned()), has_control: true, ..Options::default() };
    let file = SetFile::create(shop(InstanceKind::Multiple), &options).expect("create set");
    let listener = UnixListener::bind(file.socket_path().expect("valid path")).expect("bind socket");
    file.go_live().expect("rename file");
    let (accepted, connections): (Sender<()>, _) = channel();
    let accepted = Mutex::new(accepted);
    std::thread::spawn(move || {
        while listener.accept().is_ok() {
            let _ = accepted.lock().expect("lock").send(());
        }
    });
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\Requests/sec"]);
    consumer.query.collect();
    assert_eq!(outcomes(&consumer), [Err(ErrorCode::NO_DATA)]);
    let failure = consumer.query.sets()[0].outcome().expect_err("an error");
    assert!(failure.reason.contains("cannot query"), "{failure}");
    assert!(connections.try_iter().count() <= 4, "the number of reconnections is bounded");
    // Other providers of the set are not affected.
    let _good = provider(folder.path(), "good", answer_always(0));
    assert_eq!(consumer.collect(), rows([("good", [0])]));
    assert_eq!(consumer.errors().len(), 1);
}
