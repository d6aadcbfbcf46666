//! `derive(CounterSet)` on generated Rust yields the sets of the manifest.

use tachograph_perflib::manifest::Manifest;
use tachograph_publish::CounterSet;

/// The golden texts of `generated.rs`.
#[allow(dead_code, unreachable_pub, reason = "the fields are for applications")]
mod shop {
    include!("golden/shop.rs");
}
#[allow(dead_code, unreachable_pub, reason = "as above")]
mod every_type {
    include!("golden/every_type.rs");
}

#[track_caller]
fn assert_equals_derived<S: CounterSet>(manifest: &Manifest, index: usize) {
    let set = manifest.counter_sets().nth(index).expect("a set");
    let derived = S::description();
    assert_eq!(derived.guid.to_string(), set.guid.to_string());
    assert_eq!(derived.provider_guid.to_string(), set.provider_guid.to_string());
    assert_eq!(derived.provider_name, *set.provider_name);
    assert_eq!((derived.name.as_ref(), derived.help.as_ref()), (&*set.name, &*set.help));
    assert_eq!(derived.instance_type, set.instance_type);
    assert_eq!(derived.counters.len(), set.counters.len());
    for counter in &derived.counters {
        let info = &set.counters[set.position(counter.id).expect("the same ids")];
        let name = &info.name;
        assert_eq!(counter.counter_type, info.counter_type, "{name}");
        assert!(name.is_empty() || counter.name == **name, "{name}");
        assert_eq!((counter.base_id, counter.detail_level), (info.base_id, info.detail_level), "{name}");
        assert_eq!(counter.default_scale, info.default_scale, "{name}");
        // A multi timer needs no clock, so the derived description omits the companions for the clock.
        let clock = (counter.time_id, counter.frequency_id);
        assert!(clock == (info.time_id, info.frequency_id) || info.counter_type.is_multi(), "{name}");
        assert_eq!(counter.multiplier_id, info.multiplier_id, "{name}");
        if !info.counter_type.is_base() {
            assert_eq!(counter.help, *info.help, "{name}");
            assert_eq!(counter.aggregate, info.aggregate, "{name}");
            // The attribute `reference` is ignored.
            assert_eq!(counter.attributes.0, info.attributes.0 & !1, "{name}");
        }
    }
}

#[test]
fn derived_sets_equal_those_of_the_manifest() {
    let manifest = crate::good(crate::SHOP);
    assert_equals_derived::<shop::Shop>(&manifest, 0);
    assert_equals_derived::<shop::Carts>(&manifest, 1);
    assert_equals_derived::<every_type::EveryType>(&crate::generated::every(), 0);
}
