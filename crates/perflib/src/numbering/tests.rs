use super::*;

fn key(name: &str, identity: u64) -> Arc<InstanceKey> {
    Arc::new(InstanceKey::new(name, identity as u32, identity))
}

fn labels(numbering: &mut Numbering, keys: &[&Arc<InstanceKey>]) -> Vec<String> {
    let keys: Vec<_> = keys.iter().map(|&key| Arc::clone(key)).collect();
    numbering.assign(&keys).iter().map(ToString::to_string).collect()
}

#[test]
fn an_index_is_reused_only_after_a_sample_without_it() {
    let mut numbering = Numbering::default();
    let [a, b, c, d] = [1, 2, 3, 4].map(|identity| key("x", identity));
    assert_eq!(labels(&mut numbering, &[&a, &b]), ["x", "x#1"]);
    // The instance `x` has ended, but `x#1` exists; the new instance does not get `x` in this sample.
    assert_eq!(labels(&mut numbering, &[&c, &b]), ["x#2", "x#1"]);
    assert_eq!(labels(&mut numbering, &[&d, &c, &b]), ["x#3", "x", "x#1"]);
    // `d` waited for `x#2`, which was still in use in the previous sample.
    assert_eq!(labels(&mut numbering, &[&d, &c, &b]), ["x#2", "x", "x#1"]);
}

#[test]
fn a_successor_gets_the_name_one_sample_later() {
    let mut numbering = Numbering::default();
    let [first, second, third] = [1, 2, 3].map(|identity| key("_Total", identity));
    assert_eq!(labels(&mut numbering, &[&first]), ["_Total"]);
    assert_eq!(labels(&mut numbering, &[&second]), ["_Total#1"]);
    assert_eq!(labels(&mut numbering, &[&second]), ["_Total"]);
    assert_eq!(labels(&mut numbering, &[&second]), ["_Total"]);
    // Even if the instance is replaced in every interval, two consecutive samples never use one name for two
    // instances.
    assert_eq!(labels(&mut numbering, &[&third]), ["_Total#1"]);
    assert_eq!(labels(&mut numbering, &[&first]), ["_Total"]);
    assert_eq!(labels(&mut numbering, &[]), [""; 0]);
    assert_eq!(labels(&mut numbering, &[&second]), ["_Total"]);
}

#[test]
fn a_name_is_reused_immediately_if_identities_differ() {
    let mut numbering = Numbering::new(MatchedBy::Identity);
    let [first, second, third] = [1, 2, 3].map(|identity| key("x", identity));
    assert_eq!(labels(&mut numbering, &[&first]), ["x"]);
    assert_eq!(labels(&mut numbering, &[&second]), ["x"]);
    assert_eq!(labels(&mut numbering, &[&second, &third]), ["x", "x#1"]);
    assert_eq!(labels(&mut numbering, &[&first, &third]), ["x", "x#1"]);
    // Without an identity, the name is not reused immediately.
    let unknown = Arc::new(InstanceKey::new("x", 9, 0));
    assert_eq!(labels(&mut numbering, &[&unknown, &third]), ["x#2", "x#1"]);
    assert_eq!(labels(&mut numbering, &[&unknown, &third]), ["x", "x#1"]);
    assert_eq!(labels(&mut numbering, &[&first, &third]), ["x#2", "x#1"]);
    // An instance whose own name ends in `#1` gets another suffix if its plain name was just in use.
    let mut numbering = Numbering::new(MatchedBy::Identity);
    let other = key("x#1", 7);
    assert_eq!(labels(&mut numbering, &[&first, &second]), ["x", "x#1"]);
    assert_eq!(labels(&mut numbering, &[&first, &other]), ["x", "x#1#1"]);
}

#[test]
fn consecutive_samples_never_share_a_name_between_instances() {
    check_random_instances(Numbering::default(), |_, _| false);
}

#[test]
fn a_name_is_reused_immediately_if_ids_differ() {
    let mut numbering = Numbering::new(MatchedBy::Id);
    let [first, second] = [1, 2].map(|identity| key("x", identity));
    assert_eq!(labels(&mut numbering, &[&first]), ["x"]);
    assert_eq!(labels(&mut numbering, &[&second]), ["x"]);
    // Another process with the same id is another instance.
    let reused = Arc::new(InstanceKey::new("x", 2, 3));
    assert_eq!(labels(&mut numbering, &[&reused]), ["x#1"]);
    numbering.set_matched_by(MatchedBy::Name);
    assert_eq!(labels(&mut numbering, &[&first]), ["x"]);
    assert_eq!(labels(&mut numbering, &[&second]), ["x#1"]);
}

#[test]
fn consecutive_samples_never_share_a_name_and_identity_between_instances() {
    check_random_instances(Numbering::new(MatchedBy::Identity), |known, identity| {
        known != 0 && identity != 0
    });
}

/// Checks with random instances that consecutive samples never use one name for two instances, unless consumers can
/// distinguish them.
fn check_random_instances(mut numbering: Numbering, are_distinct: impl Fn(u64, u64) -> bool) {
    let mut state = 7_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    let mut living: Vec<Arc<InstanceKey>> = Vec::new();
    let mut before: HashMap<String, u64> = HashMap::new();
    for next in 0..5_000 {
        living.retain(|_| random(4) > 0);
        for _ in 0..random(4) {
            let name = ["a", "b", "a#1", "a#1#1", "b#2"][random(5) as usize];
            let identity = 10 * next + living.len() as u64 + 1;
            let is_own = name == "a" && random(8) == 0;
            living.push(match is_own && !living.iter().any(|key| key.is_reserved()) {
                true => Arc::new(InstanceKey::new(name, 0, identity).reserved()),
                false => key(name, identity),
            });
        }
        let names: Vec<String> = numbering.assign(&living).iter().map(ToString::to_string).collect();
        let now: HashMap<String, u64> =
            names.iter().cloned().zip(living.iter().map(|key| key.identity())).collect();
        assert_eq!(now.len(), living.len(), "{names:?}");
        for (name, identity) in &now {
            let is_same = |known: &u64| known == identity || are_distinct(*known, *identity);
            assert!(before.get(name).is_none_or(is_same), "{name} at {next}");
        }
        before = now;
    }
}

#[test]
fn unchanged_instances_are_the_same_object() {
    let mut numbering = Numbering::default();
    let keys = [key("a", 1), key("b", 2)];
    let first = Arc::clone(numbering.assign(&keys));
    assert!(Arc::ptr_eq(&first, numbering.assign(&keys)));
    assert!(Arc::ptr_eq(&first, numbering.assign(&[key("a", 1), key("b", 2)])));
    assert!(!Arc::ptr_eq(&first, numbering.assign(&keys[..1])));
}

#[test]
fn a_reserved_name_is_independent_of_the_order() {
    let mut numbering = Numbering::default();
    let [first, second] = [1, 2].map(|identity| key("_Total", identity));
    let other_case = key("_TOTAL", 3);
    let total = Arc::new(InstanceKey::new("_Total", 0, 0).reserved());
    let names = labels(&mut numbering, &[&first, &other_case, &second, &total]);
    assert_eq!(names, ["_Total#1", "_TOTAL#1", "_Total#2", "_Total"]);
    // The name stays reserved while the total is absent, and no instance waits for it.
    assert_eq!(labels(&mut numbering, &[&second]), ["_Total#2"]);
    assert_eq!(labels(&mut numbering, &[&second]), ["_Total#2"]);
    assert_eq!(labels(&mut numbering, &[&second, &first]), ["_Total#2", "_Total#1"]);
    assert_eq!(labels(&mut numbering, &[&total, &first]), ["_Total", "_Total#1"]);
    // Another reserved instance waits for the name; an ordinary instance does not.
    let other_total = Arc::new(InstanceKey::new("_Total", 0, 1).reserved());
    let another = key("_Total", 4);
    let keys = [&another, &first, &other_total];
    assert_eq!(labels(&mut numbering, &keys), ["_Total#2", "_Total#1", "_Total#3"]);
    assert_eq!(labels(&mut numbering, &keys), ["_Total#2", "_Total#1", "_Total"]);
}

#[test]
fn an_instance_loses_its_name_when_the_name_becomes_reserved() {
    let mut numbering = Numbering::default();
    let impostor = key("_Total", 7);
    let total = Arc::new(InstanceKey::new("_Total", 0, 0).reserved());
    assert_eq!(labels(&mut numbering, &[&impostor]), ["_Total"]);
    // In one sample, the name is unused, so that consumers never confuse the two instances.
    assert_eq!(labels(&mut numbering, &[&impostor, &total]), ["_Total#1", "_Total#2"]);
    assert_eq!(labels(&mut numbering, &[&impostor, &total]), ["_Total#1", "_Total"]);
    assert_eq!(labels(&mut numbering, &[&impostor, &total]), ["_Total#1", "_Total"]);
}

#[test]
fn equal_instances_are_numbered_in_order() {
    let mut numbering = Numbering::default();
    let same = key("same", 0);
    assert_eq!(labels(&mut numbering, &[&same, &same, &same]), ["same", "same#1", "same#2"]);
    assert_eq!(labels(&mut numbering, &[&same, &same]), ["same", "same#1"]);
    assert_eq!(labels(&mut numbering, &[&same, &same, &same]), ["same", "same#1", "same#2"]);
}

/// With a time that grows with the square or the cube of the number of instances, this would take minutes or days.
#[test]
fn thousands_of_instances_can_have_the_same_name() {
    const COUNT: u64 = 20_000;
    for new in [Numbering::default, || Numbering::new(MatchedBy::Identity)] {
        let mut numbering = new();
        // A name with `#` makes the check for equal display names necessary.
        let hash = key("zombie#x", 1);
        let born = |from: u64| (from..from + COUNT).map(|identity| key("zombie", identity));
        for generation in 0..6 {
            // Half of the instances are replaced in each sample.
            let keys: Vec<_> = born(10 + generation * COUNT / 2).chain([Arc::clone(&hash)]).collect();
            let names = numbering.assign(&keys);
            let labels: std::collections::HashSet<_> = names.iter().map(|name| name.label()).collect();
            assert_eq!(labels.len(), keys.len());
        }
        let same = vec![key("same", 0); COUNT as usize];
        for _ in 0..3 {
            let names = numbering.assign(&same);
            assert_eq!(names[names.len() - 1].label(), format!("same#{}", COUNT - 1));
        }
    }
}

#[test]
fn memory_stays_bounded_while_instances_appear_and_disappear() {
    let mut numbering = Numbering::default();
    for pid in 0..10_000 {
        let one = key(&format!("worker:{pid}"), pid);
        let churned = key("sh", 100_000 + pid);
        let names = labels(&mut numbering, &[&one, &churned]);
        // The two indexes are used in turn.
        assert!(names[1] == "sh" || names[1] == "sh#1", "{names:?}");
    }
    assert!(numbering.names.len() <= 4, "{}", numbering.names.len());
    assert!(numbering.table.len() <= 5, "{}", numbering.table.len());
}
