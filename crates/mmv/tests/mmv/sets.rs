//! The counter sets of files of all three versions.

use tachograph_counters::{CounterType, Status};
use tachograph_mmv::image_providers;
use tachograph_perflib::registration::InstanceType;

use crate::sampling::{at, collect, names, raw, set};
use crate::writer::{COUNT, COUNTER, DISCRETE, File, I32, INSTANT, Indom, Metric, U64};

#[test]
fn every_version_has_the_same_sets() {
    for version in [1, 2, 3] {
        let mut sets = image_providers("shop", &File::shop(version).image().bytes).expect("read");
        let found: Vec<_> = sets.iter().map(|set| set.info().name.to_string()).collect();
        assert_eq!(found, ["mmv shop", "mmv shop 61"], "version {version}");
        for set in &sets {
            set.info().check().expect("a registration");
        }

        let single = set(&mut sets, "mmv shop");
        assert_eq!(single.info().instance_type, InstanceType::Single);
        assert_eq!(single.info().guid.to_string(), "{2f91a6fc-a788-5e7c-af67-ff701df4da28}");
        let described: Vec<_> = single
            .info()
            .counters
            .iter()
            .map(|counter| (counter.id, &*counter.name, counter.counter_type, &*counter.unit, &*counter.help))
            .collect();
        let no_help = "The program has no description of this value.";
        assert_eq!(
            described,
            [
                (1, "open", CounterType::LARGE_RAWCOUNT, "", no_help),
                (2, "stock", CounterType::LARGE_RAWCOUNT, "bytes", "Bytes in store"),
                (3, "load", CounterType::DOUBLE_RAW, "", no_help),
            ]
        );
        let rows = collect(single, at(100));
        assert_eq!(names(&rows), [""]);
        assert_eq!(raw(&rows, "", "open").first, 1);
        assert_eq!(raw(&rows, "", "stock").first, 4_096);
        assert_eq!(raw(&rows, "", "load").as_double(), 1.5);

        let products = set(&mut sets, "mmv shop 61");
        let info = products.info().clone();
        assert_eq!(info.instance_type, InstanceType::Multiple);
        assert_eq!(&*info.help, "Products. What the shop sells (values of shop in PCP's MMV format)");
        assert_eq!(&*info.provider_name, "PCP MMV");
        assert_eq!(&*info.counters[0].help, "Sold. Since the start.");
        assert_eq!(info.counters[0].counter_type, CounterType::BULK_COUNT);
        assert_eq!((info.counters[1].counter_type, &*info.counters[1].unit), (CounterType::TIMER_100NS, "%"));
        let rows = collect(products, at(100));
        assert_eq!(names(&rows), ["Anvils", "Rockets"]);
        assert_eq!(rows.instances()[1].id(), 5);
        assert_ne!(rows.instances()[0].identity(), rows.instances()[1].identity());
        assert_eq!(raw(&rows, "Rockets", "products.count").first, 20);
        assert_eq!(raw(&rows, "Rockets", "products.time").first, 20_000, "in 100 ns");
    }
}

#[test]
fn names_that_differ_only_in_case_get_a_suffix_and_repeated_items_are_skipped() {
    let mut file = File::new(1);
    file.metrics = vec![
        Metric::new("size", 1, I32, INSTANT, 0).value(1),
        Metric::new("Size", 2, I32, INSTANT, 0).value(2),
        Metric::new("other", 2, I32, INSTANT, 0).value(3),
        Metric::new("all", u32::MAX, I32, INSTANT, 0).value(4),
        Metric::new("", 5, I32, INSTANT, 0).value(5),
        Metric::new(r"a\b(c)*?", 6, I32, INSTANT, 0).value(6),
    ];
    let mut sets = image_providers("x", &file.image().bytes).expect("read");
    sets[0].info().check().expect("a registration");
    let found: Vec<_> = sets[0].info().counters.iter().map(|counter| counter.name.to_string()).collect();
    assert_eq!(found, ["size", "Size [2]", "a_b_c___"]);
    let rows = collect(&mut *sets[0], at(1));
    assert_eq!(raw(&rows, "", "Size [2]").first, 2);
    assert_eq!(raw(&rows, "", "a_b_c___").first, 6);
}

#[test]
fn large_ids_are_collected() {
    let mut file = File::new(2);
    file.metrics = (0..50)
        .map(|n| Metric::new(&format!("m{n}"), 4_000_000_000 + n, U64, COUNTER, COUNT).value(n.into()))
        .collect();
    let mut sets = image_providers("x", &file.image().bytes).expect("read");
    let rows = collect(&mut *sets[0], at(1));
    for n in 0..50 {
        assert_eq!(raw(&rows, "", &format!("m{n}")).first, n);
    }
}

#[test]
fn a_missing_value_is_neither_a_value_nor_an_error() {
    let mut file = File::shop(2);
    // The file has only the count of Rockets.
    file.metrics[1].values.pop();
    let mut sets = image_providers("shop", &file.image().bytes).expect("read");
    let rows = collect(set(&mut sets, "mmv shop 61"), at(1));
    assert_eq!(raw(&rows, "Rockets", "products.count").first, 20);
    assert_eq!(raw(&rows, "Rockets", "products.time").status, Status::NO_INSTANCE);
    assert!(rows.errors().is_empty());
}

#[test]
fn each_domain_is_a_set_even_without_instances() {
    let mut file = File::shop(1);
    let instances = vec![(1, String::new()), (2, "a\u{1b}[2J".to_owned())];
    file.indoms.push(Indom { serial: 9, short: "", long: "", instances });
    file.indoms.push(Indom { serial: 10, short: "", long: "", instances: Vec::new() });
    file.metrics.push(Metric::new("nine", 20, U64, DISCRETE, 0).in_domain(9, &[1, 2]));
    file.metrics.push(Metric::new("ten", 21, U64, DISCRETE, 0).in_domain(10, &[]));
    let mut sets = image_providers("shop", &file.image().bytes).expect("read");
    let rows = collect(set(&mut sets, "mmv shop 9"), at(1));
    assert_eq!(names(&rows), ["1", "a\u{fffd}[2J"]);
    assert_eq!(names(&collect(set(&mut sets, "mmv shop 10"), at(1))), [""; 0]);
}

#[test]
fn only_queried_counters_and_instances_are_collected() {
    use tachograph_perflib::{InstanceFilter, Rows};
    let mut sets = image_providers("shop", &File::shop(1).image().bytes).expect("read");
    let products = set(&mut sets, "mmv shop 61");
    let mut rows = Rows::new(products.info().clone());
    rows.select([8], vec![InstanceFilter::new("rock*", None)]);
    rows.clear(at(1));
    products.collect(&mut rows).expect("collected");
    assert_eq!((names(&rows), rows.width()), (vec!["Rockets"], 1));
    assert_eq!(raw(&rows, "Rockets", "products.time").first, 20_000);
}
