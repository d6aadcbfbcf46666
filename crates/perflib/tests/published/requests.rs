//! Requests to providers with a control callback.

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

use crate::fixtures::{Consumer, publish, rows, set, shop};

/// The answer of a test provider to a request; `None` for no answer.
pub(crate) type Answer = Box<dyn Fn(&Request) -> Option<u32> + Send>;

/// A test provider: its file, its instance, and the requests that it received.
pub(crate) type TestProvider = (SetFile, Slot, Receiver<(Kind, u32)>);

/// A provider that answers in a thread and sends the requests that it receives to the channel.
pub(crate) fn provider(folder: &Path, instance: &str, answer: Answer) -> TestProvider {
    provider_of(folder, shop(InstanceKind::Multiple), instance, answer)
}

/// [`provider`] with another set.
pub(crate) fn provider_of(
    folder: &Path,
    description: Description,
    instance: &str,
    answer: Answer,
) -> TestProvider {
    let options = Options { folder: Some(folder.to_owned()), has_control: true, ..Options::default() };
    let file = SetFile::create(description, &options).expect("create set");
    let listener = UnixListener::bind(file.socket_path().expect("valid path")).expect("bind socket");
    file.go_live().expect("rename file");
    let slot = file.create_instance(instance, 0).expect("create instance");
    let (requests_seen, received) = channel();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
            while let Ok(count @ 1..) = stream.read(&mut buffer) {
                bytes.extend_from_slice(&buffer[..count]);
                let answers = requests(&mut bytes, &requests_seen, &answer);
                if stream.write_all(&answers).is_err() {
                    break;
                }
            }
        }
    });
    (file, slot, received)
}

fn requests(bytes: &mut Vec<u8>, requests_seen: &Sender<(Kind, u32)>, answer: &Answer) -> Vec<u8> {
    let mut answers = Vec::new();
    while let Some((request, used)) = Request::decode(bytes).expect("a request") {
        bytes.drain(..used);
        let _ = requests_seen.send((request.kind, request.counter_id));
        answers.extend(answer(&request).map(u32::to_le_bytes).into_iter().flatten());
    }
    answers
}

pub(crate) fn answer_always(code: u32) -> Answer {
    Box::new(move |_| Some(code))
}

#[test]
fn a_provider_gets_requests_before_it_is_read() {
    let folder = tempfile::tempdir().expect("create folder");
    let (_file, slot, requests_seen) = provider(folder.path(), "a", answer_always(0));
    set(&slot, 0, 4);
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\Requests/sec"]);
    assert_eq!(consumer.collect(), rows([("a", [4])]));
    assert_eq!(consumer.collect(), rows([("a", [4])]));
    let next = || requests_seen.recv_timeout(Duration::from_secs(10)).expect("a request");
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
    // Another query requests more counters and is dropped.
    let mut other = Consumer::sharing(Arc::clone(&consumer.registry), &[r"\Shop(*)\*"]);
    other.collect();
    assert_eq!(next(), (Kind::AddCounter, 2));
    drop(other);
    consumer.collect();
    let mut seen: Vec<_> =
        std::iter::from_fn(|| requests_seen.recv_timeout(Duration::from_millis(500)).ok()).collect();
    seen.retain(|(kind, _)| *kind == Kind::RemoveCounter);
    assert_eq!(seen, [(Kind::RemoveCounter, 2)]);
    drop(consumer);
    assert_eq!(requests_seen.recv_timeout(Duration::from_secs(10)), Ok((Kind::RemoveCounter, 1)));
}

/// An identifier without a counter requests all counters of its set by the wildcard.
#[test]
fn all_counters_are_requested_by_the_wildcard() {
    let folder = tempfile::tempdir().expect("create folder");
    let (_file, _slot, requests_seen) = provider(folder.path(), "a", answer_always(0));
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\Requests/sec"]);
    let set = consumer.registry.find("Shop").expect("the set").guid;
    let name = "*".to_owned();
    let mut wildcard = [Identifier { set, status: 0, counter_id: None, instance_id: None, index: 0, name }];
    let all = u32::MAX;
    let notified = |consumer: &mut Consumer| -> Vec<_> {
        consumer.query.collect();
        let seen = std::iter::from_fn(|| requests_seen.recv_timeout(Duration::from_secs(20)).ok());
        let until_end = seen.take_while(|(kind, _)| *kind != Kind::CollectEnd);
        until_end.filter(|(kind, _)| *kind != Kind::CollectStart).collect()
    };
    assert_eq!(notified(&mut consumer), [(Kind::AddCounter, 1)]);
    consumer.query.add(&mut wildcard);
    assert_eq!(wildcard[0].status, 0);
    assert_eq!(notified(&mut consumer), [(Kind::RemoveCounter, 1), (Kind::AddCounter, all)]);
    assert_eq!(notified(&mut consumer), []);
    // Counters of another query are requested only after the wildcard is removed.
    let mut other = Consumer::sharing(Arc::clone(&consumer.registry), &[r"\Shop(*)\Open Orders"]);
    assert_eq!(notified(&mut other), []);
    consumer.query.delete(&mut wildcard);
    assert_eq!(wildcard[0].status, 0);
    assert_eq!(
        notified(&mut consumer),
        [(Kind::RemoveCounter, all), (Kind::AddCounter, 1), (Kind::AddCounter, 2)]
    );
}

#[test]
fn an_error_code_as_answer_is_an_error_of_the_set() {
    for kind in [Kind::AddCounter, Kind::CollectStart] {
        let folder = tempfile::tempdir().expect("create folder");
        let answer = move |request: &Request| Some(if request.kind == kind { 5 } else { 0 });
        let (_file, _slot, _requests) = provider(folder.path(), "a", Box::new(answer));
        let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\Requests/sec"]);
        consumer.query.collect();
        let failure = consumer.query.sets()[0].outcome().expect_err("an error");
        assert_eq!(failure.code, ErrorCode::ACCESS_DENIED);
        assert!(failure.reason.contains("answered: access is denied (5)"), "{failure}");
    }
    // Errors of other requests are ignored.
    let folder = tempfile::tempdir().expect("create folder");
    let answer = |request: &Request| Some(if request.kind == Kind::CollectEnd { 5 } else { 0 });
    let (_file, _slot, _requests) = provider(folder.path(), "a", Box::new(answer));
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\Requests/sec"]);
    assert_eq!(consumer.collect(), rows([("a", [0])]));
    assert_eq!(consumer.collect(), rows([("a", [0])]));
}

#[test]
fn a_late_provider_does_not_delay_others() {
    let folder = tempfile::tempdir().expect("create folder");
    let (_good, slot, _requests) = provider(folder.path(), "good", answer_always(0));
    set(&slot, 0, 8);
    let (_bad, _slot, _bad_requests) = provider(folder.path(), "bad", Box::new(|_| None));
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\Requests/sec"]);
    let begin = Instant::now();
    assert_eq!(consumer.collect(), rows([("good", [8])]));
    let took = begin.elapsed();
    assert!(took >= Duration::from_millis(900), "{took:?}");
    assert!(
        consumer.errors()[0].ends_with("did not answer in time (1000 ms for all providers of a collection)"),
        "{:?}",
        consumer.errors()
    );
    // Later collections do not wait for the late provider.
    let begin = Instant::now();
    for _ in 0..20 {
        assert_eq!(consumer.collect(), rows([("good", [8])]));
    }
    assert!(
        begin.elapsed() < Duration::from_secs(10),
        "took {:?}; waiting each time would take 20 s",
        begin.elapsed()
    );
}

/// All providers of a collection together have one second to answer; one that answers immediately is read regardless of the others.
#[test]
fn sets_share_one_deadline() {
    let folder = tempfile::tempdir().expect("create folder");
    let description = |number: u128| {
        let mut description = shop(InstanceKind::Multiple);
        description.name = format!("Shop {number}").into();
        description.guid = Guid::from_u128(number);
        description
    };
    let _bad: Vec<_> = (1..=10)
        .map(|number| provider_of(folder.path(), description(number), "bad", Box::new(|_| None)))
        .collect();
    let (_good, _slot, _requests) = provider_of(folder.path(), description(11), "good", answer_always(0));
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop*(*)\Requests/sec"]);
    let begin = Instant::now();
    consumer.query.collect();
    let took = begin.elapsed();
    assert!(took >= Duration::from_millis(900), "{took:?}");
    assert!(took < Duration::from_secs(6), "{took:?}; one after the other, it would take 10 s");
    let sets = consumer.query.sets().iter();
    let good: Vec<_> =
        sets.filter(|set| set.outcome().is_ok()).map(|set| set.rows().info().name.to_string()).collect();
    assert_eq!(good, ["Shop 11"]);
}

/// The time stamp of a collection is later than all values that providers update on request.
#[test]
fn the_time_stamp_is_after_all_answers() {
    let folder = tempfile::tempdir().expect("create folder");
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
        assert!(before < last && last <= at, "answered at {last}, after {before}; the time stamp is {at}");
        assert!(consumer.query.sets().iter().all(|set| set.rows().timestamps().ticks == at));
    }
}

/// Increments of a provider while its requests fail do not appear as an increase of the total.
#[test]
fn a_total_without_a_failed_process_has_another_identity() {
    let folder = tempfile::tempdir().expect("create folder");
    let good = publish(folder.path(), shop(InstanceKind::SingleAggregate));
    let good_slot = good.create_instance("good", 0).expect("create instance");
    set(&good_slot, 0, 1);
    let fails = Arc::new(AtomicBool::new(false));
    let is_failing = Arc::clone(&fails);
    let answer = move |request: &Request| {
        let fails = request.kind == Kind::CollectStart && is_failing.load(Ordering::Relaxed);
        Some(if fails { 5 } else { 0 })
    };
    let description = shop(InstanceKind::SingleAggregate);
    let (_file, slot, _requests) = provider_of(folder.path(), description, "a", Box::new(answer));
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
fn a_late_provider_is_queried_again_after_its_answer() {
    let folder = tempfile::tempdir().expect("create folder");
    let slow = std::sync::atomic::AtomicBool::new(true);
    let answer = move |_: &Request| {
        if slow.swap(false, std::sync::atomic::Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1_500));
        }
        Some(0)
    };
    let (_file, _slot, _requests) = provider(folder.path(), "a", Box::new(answer));
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\Requests/sec"]);
    consumer.query.collect();
    assert_eq!(code(&consumer), Err(ErrorCode::TIMEOUT));
    collect_until_complete(&mut consumer);
}

/// The status of the only set in the last collection.
fn code(consumer: &Consumer) -> Result<(), ErrorCode> {
    consumer.query.sets()[0].outcome().map_err(|failure| failure.code)
}

/// Collects until the late provider has answered.
fn collect_until_complete(consumer: &mut Consumer) {
    let begin = Instant::now();
    while code(consumer).is_err() && begin.elapsed() < Duration::from_secs(20) {
        consumer.query.collect();
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(code(consumer), Ok(()));
}

/// Requests that exceed the socket's buffer are sent later, even after a timeout.
#[test]
fn a_slow_provider_gets_all_requests() {
    let folder = tempfile::tempdir().expect("create folder");
    let mut description = shop(InstanceKind::Multiple);
    description.counters.extend(
        (10..10_010).map(|id| CounterDescription::new(id, format!("Counter {id}"), T::LARGE_RAWCOUNT.0)),
    );
    let (go_on, wait) = channel::<()>();
    let answer = move |_: &Request| {
        let _ = wait.recv();
        Some(0)
    };
    let (_file, _slot, _requests) = provider_of(folder.path(), description, "a", Box::new(answer));
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\*"]);
    consumer.query.collect();
    assert_eq!(code(&consumer), Err(ErrorCode::TIMEOUT));
    drop(go_on);
    collect_until_complete(&mut consumer);
}

#[test]
fn a_provider_without_a_socket_is_an_error() {
    let folder = tempfile::tempdir().expect("create folder");
    let options = Options { folder: Some(folder.path().to_owned()), has_control: true, ..Options::default() };
    let file = SetFile::create(shop(InstanceKind::Multiple), &options).expect("create set");
    file.go_live().expect("rename file");
    let mut consumer = Consumer::new(folder.path(), &[r"\Shop(*)\Requests/sec"]);
    consumer.query.collect();
    let failure = consumer.query.sets()[0].outcome().expect_err("an error");
    assert_eq!(failure.code, ErrorCode::NO_DATA);
    assert!(failure.reason.contains("cannot query"), "{failure}");
}
