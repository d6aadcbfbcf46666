//! Providers that are asked before their values are read.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use tachograph_counters::CounterType as T;
use tachograph_perflib::block::Identifier;
use tachograph_perflib::{Clock, ErrorCode};
use tachograph_shm::control::{Kind, Request};
use tachograph_shm::{CounterDescription, Description, Guid, InstanceKind, Options, SetFile, Slot};

use crate::made::{Consumer, publish, rows, set, shop};

/// What a made provider does with a request.
pub(crate) type Answer = Box<dyn Fn(&Request) -> Option<u32> + Send>;

/// A made provider: its file, its instance, and what it was asked.
pub(crate) type Answering = (SetFile, Slot, Receiver<(Kind, u32)>);

/// A provider that answers, in a thread; what it was asked comes out of the channel.
pub(crate) fn provider(folder: &Path, instance: &str, answer: Answer) -> Answering {
    provider_of(folder, shop(InstanceKind::Multiple), instance, answer)
}

/// A provider of another set that answers.
pub(crate) fn provider_of(
    folder: &Path,
    description: Description,
    instance: &str,
    answer: Answer,
) -> Answering {
    let options = Options { folder: Some(folder.to_owned()), has_control: true, ..Options::default() };
    let file = SetFile::create(description, &options).expect("a set");
    let listener = UnixListener::bind(file.socket_path().expect("a path")).expect("a socket");
    file.go_live().expect("a name");
    let slot = file.create_instance(instance, 0).expect("an instance");
    let (asked, received) = channel();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
            while let Ok(count @ 1..) = stream.read(&mut buffer) {
                bytes.extend_from_slice(&buffer[..count]);
                let answers = requests(&mut bytes, &asked, &answer);
                if stream.write_all(&answers).is_err() {
                    break;
                }
            }
        }
    });
    (file, slot, received)
}

fn requests(bytes: &mut Vec<u8>, asked: &Sender<(Kind, u32)>, answer: &Answer) -> Vec<u8> {
    let mut answers = Vec::new();
    while let Some((request, used)) = Request::decode(bytes).expect("a request") {
        bytes.drain(..used);
        let _ = asked.send((request.kind, request.counter_id));
        answers.extend(answer(&request).map(u32::to_le_bytes).into_iter().flatten());
    }
    answers
}

pub(crate) fn always(code: u32) -> Answer {
    Box::new(move |_| Some(code))
}

#[test]
fn a_provider_is_asked_before_it_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_file, slot, asked) = provider(folder.path(), "a", always(0));
    set(&slot, 0, 4);
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\Requests/sec"]);
    assert_eq!(consumer.collect(), rows([("a", [4])]));
    assert_eq!(consumer.collect(), rows([("a", [4])]));
    let next = || asked.recv_timeout(Duration::from_secs(10)).expect("a request");
    let all = u32::MAX;
    for expected in [
        (Kind::AddCounter, 1),
        (Kind::CollectStart, all),
        (Kind::CollectEnd, all),
        (Kind::CollectStart, all),
        (Kind::CollectEnd, all),
    ] {
        assert_eq!(next(), expected);
    }
    let guid = consumer.registry.find("Shop").expect("the set").guid;
    assert_eq!(consumer.registry.instances(guid).map(|instances| instances.len()), Ok(1));
    assert_eq!(next(), (Kind::EnumInstances, all));
    // Another query wants more, and ends.
    let mut other = Consumer::on(Arc::clone(&consumer.registry), &[r"\Shop(*)\*"]);
    other.collect();
    assert_eq!(next(), (Kind::AddCounter, 2));
    drop(other);
    consumer.collect();
    let mut seen: Vec<_> =
        std::iter::from_fn(|| asked.recv_timeout(Duration::from_millis(500)).ok()).collect();
    seen.retain(|(kind, _)| *kind == Kind::RemoveCounter);
    assert_eq!(seen, [(Kind::RemoveCounter, 2)]);
    drop(consumer);
    assert_eq!(asked.recv_timeout(Duration::from_secs(10)), Ok((Kind::RemoveCounter, 1)));
}

/// An identifier without a counter is for all counters of its set, and is told as one.
#[test]
fn all_counters_are_told_as_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_file, _slot, asked) = provider(folder.path(), "a", always(0));
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\Requests/sec"]);
    let set = consumer.registry.find("Shop").expect("the set").guid;
    let name = "*".to_owned();
    let mut every = [Identifier { set, status: 0, counter_id: None, instance_id: None, index: 0, name }];
    let all = u32::MAX;
    let told = |consumer: &mut Consumer| -> Vec<_> {
        consumer.query.collect();
        let seen = std::iter::from_fn(|| asked.recv_timeout(Duration::from_secs(20)).ok());
        let until_end = seen.take_while(|(kind, _)| *kind != Kind::CollectEnd);
        until_end.filter(|(kind, _)| *kind != Kind::CollectStart).collect()
    };
    assert_eq!(told(&mut consumer), [(Kind::AddCounter, 1)]);
    consumer.query.add(&mut every);
    assert_eq!(every[0].status, 0);
    assert_eq!(told(&mut consumer), [(Kind::RemoveCounter, 1), (Kind::AddCounter, all)]);
    assert_eq!(told(&mut consumer), []);
    // What another query wants of them is not told beside it, but when it is not all any more.
    let mut other = Consumer::on(Arc::clone(&consumer.registry), &[r"\Shop(*)\Open Orders"]);
    assert_eq!(told(&mut other), []);
    consumer.query.delete(&mut every);
    assert_eq!(every[0].status, 0);
    assert_eq!(
        told(&mut consumer),
        [(Kind::RemoveCounter, all), (Kind::AddCounter, 1), (Kind::AddCounter, 2)]
    );
}

#[test]
fn an_error_reaches_the_consumer() {
    for kind in [Kind::AddCounter, Kind::CollectStart] {
        let folder = tempfile::tempdir().expect("a folder");
        let answer = move |request: &Request| Some(if request.kind == kind { 5 } else { 0 });
        let (_file, _slot, _asked) = provider(folder.path(), "a", Box::new(answer));
        let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\Requests/sec"]);
        consumer.query.collect();
        let failure = consumer.query.sets()[0].outcome().expect_err("an error");
        assert_eq!(failure.code, ErrorCode::ACCESS_DENIED);
        assert!(failure.reason.contains("answered: access is denied (5)"), "{failure}");
    }
    // Errors of other requests are nobody's.
    let folder = tempfile::tempdir().expect("a folder");
    let answer = |request: &Request| Some(if request.kind == Kind::CollectEnd { 5 } else { 0 });
    let (_file, _slot, _asked) = provider(folder.path(), "a", Box::new(answer));
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\Requests/sec"]);
    assert_eq!(consumer.collect(), rows([("a", [0])]));
    assert_eq!(consumer.collect(), rows([("a", [0])]));
}

#[test]
fn who_does_not_answer_holds_nobody_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_good, slot, _asked) = provider(folder.path(), "good", always(0));
    set(&slot, 0, 8);
    let (_bad, _slot, _asked_bad) = provider(folder.path(), "bad", Box::new(|_| None));
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\Requests/sec"]);
    let begin = Instant::now();
    assert_eq!(consumer.collect(), rows([("good", [8])]));
    let took = begin.elapsed();
    assert!(took >= Duration::from_millis(900), "{took:?}");
    assert!(
        consumer.troubles()[0].ends_with("did not answer in time (1000 ms for all of a collection)"),
        "{:?}",
        consumer.troubles()
    );
    // It is not waited for again.
    let begin = Instant::now();
    for _ in 0..20 {
        assert_eq!(consumer.collect(), rows([("good", [8])]));
    }
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?} for what would be 20 s", begin.elapsed());
}

/// The sets of a collection have one second together; a provider that answers at once has its values in it all the same.
#[test]
fn sets_wait_together() {
    let folder = tempfile::tempdir().expect("a folder");
    let description = |number: u128| {
        let mut description = shop(InstanceKind::Multiple);
        description.name = format!("Shop {number}").into();
        description.guid = Guid::from_u128(number);
        description
    };
    let _bad: Vec<_> = (1..=10)
        .map(|number| provider_of(folder.path(), description(number), "bad", Box::new(|_| None)))
        .collect();
    let (_good, _slot, _asked) = provider_of(folder.path(), description(11), "good", always(0));
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop*(*)\Requests/sec"]);
    let begin = Instant::now();
    consumer.query.collect();
    let took = begin.elapsed();
    assert!(took >= Duration::from_millis(900), "{took:?}");
    assert!(took < Duration::from_secs(6), "{took:?} for what would be 10 s, one after the other");
    let sets = consumer.query.sets().iter();
    let good: Vec<_> =
        sets.filter(|set| set.outcome().is_ok()).map(|set| set.rows().info().name.to_string()).collect();
    assert_eq!(good, ["Shop 11"]);
}

/// What a provider makes when it is asked is not newer than the time stamp that it gets.
#[test]
fn the_moment_comes_after_the_answers() {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = Clock::of_this_machine();
    let answered = Arc::new(AtomicI64::new(0));
    let _sets = [1, 2].map(|number| {
        let mut description = shop(InstanceKind::Multiple);
        description.name = format!("Shop {number}").into();
        description.guid = Guid::from_u128(number);
        let (clock, answered) = (clock.clone(), Arc::clone(&answered));
        let answer = move |request: &Request| {
            if request.kind == Kind::CollectStart {
                answered.store(clock.now().ticks, Ordering::SeqCst);
            }
            Some(0)
        };
        provider_of(folder.path(), description, "a", Box::new(answer))
    });
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop 1(*)\*", r"\Shop 2(*)\*"]);
    for _ in 0..10 {
        let before = answered.load(Ordering::SeqCst);
        let at = consumer.query.collect().ticks;
        let last = answered.load(Ordering::SeqCst);
        assert!(before < last && last <= at, "answered at {last}, after {before}; the moment is {at}");
        assert!(consumer.query.sets().iter().all(|set| set.rows().at().ticks == at));
    }
}

/// What a provider counted while it failed is no growth of the total.
#[test]
fn a_total_without_one_is_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let good = publish(folder.path(), shop(InstanceKind::SingleAggregate));
    let good_slot = good.create_instance("good", 0).expect("an instance");
    set(&good_slot, 0, 1);
    let fails = Arc::new(AtomicBool::new(false));
    let is_failing = Arc::clone(&fails);
    let answer = move |request: &Request| {
        let fails = request.kind == Kind::CollectStart && is_failing.load(Ordering::Relaxed);
        Some(if fails { 5 } else { 0 })
    };
    let description = shop(InstanceKind::SingleAggregate);
    let (_file, slot, _asked) = provider_of(folder.path(), description, "a", Box::new(answer));
    set(&slot, 0, 100);
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop\Requests/sec"]);
    let mut collect = |fail: bool| {
        fails.store(fail, Ordering::Relaxed);
        let value = consumer.collect()[0].1[0];
        (value, consumer.identities()[0])
    };
    let whole = collect(false);
    assert_eq!(collect(false), whole);
    let partial = collect(true);
    assert_eq!(collect(true), partial);
    let again = collect(false);
    assert_eq!(collect(false), again);
    assert_eq!((whole.0, partial.0, again.0), (101, 1, 101));
    assert!(whole.1 != partial.1 && partial.1 != again.1 && whole.1 != again.1);
}

#[test]
fn who_answers_late_is_asked_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let slow = std::sync::atomic::AtomicBool::new(true);
    let answer = move |_: &Request| {
        if slow.swap(false, std::sync::atomic::Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1_500));
        }
        Some(0)
    };
    let (_file, _slot, _asked) = provider(folder.path(), "a", Box::new(answer));
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\Requests/sec"]);
    consumer.query.collect();
    let code = |consumer: &Consumer| consumer.query.sets()[0].outcome().map_err(|failure| failure.code);
    assert_eq!(code(&consumer), Err(ErrorCode::TIMEOUT));
    let begin = Instant::now();
    while code(&consumer).is_err() && begin.elapsed() < Duration::from_secs(20) {
        consumer.query.collect();
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(code(&consumer), Ok(()));
}

/// What does not fit into the socket's buffer is sent when there is room again, also by those who do not wait any more.
#[test]
fn who_takes_requests_late_gets_all_of_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut description = shop(InstanceKind::Multiple);
    description.counters.extend(
        (10..10_010).map(|id| CounterDescription::new(id, format!("Counter {id}"), T::LARGE_RAWCOUNT.0)),
    );
    let (go_on, wait) = channel::<()>();
    let answer = move |_: &Request| {
        let _ = wait.recv();
        Some(0)
    };
    let (_file, _slot, _asked) = provider_of(folder.path(), description, "a", Box::new(answer));
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\*"]);
    let code = |consumer: &Consumer| consumer.query.sets()[0].outcome().map_err(|failure| failure.code);
    consumer.query.collect();
    assert_eq!(code(&consumer), Err(ErrorCode::TIMEOUT));
    drop(go_on);
    let begin = Instant::now();
    while code(&consumer).is_err() && begin.elapsed() < Duration::from_secs(20) {
        consumer.query.collect();
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(code(&consumer), Ok(()));
}

#[test]
fn without_a_socket_a_provider_cannot_be_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options { folder: Some(folder.path().to_owned()), has_control: true, ..Options::default() };
    let file = SetFile::create(shop(InstanceKind::Multiple), &options).expect("a set");
    file.go_live().expect("a name");
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\Requests/sec"]);
    consumer.query.collect();
    let failure = consumer.query.sets()[0].outcome().expect_err("an error");
    assert_eq!(failure.code, ErrorCode::NO_DATA);
    assert!(failure.reason.contains("cannot be asked"), "{failure}");
}
