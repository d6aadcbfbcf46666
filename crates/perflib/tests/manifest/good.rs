//! Valid manifests.

use tachograph_counters::CounterType;
use tachograph_perflib::Guid;
use tachograph_perflib::manifest::{Callback, ProviderType, SchemaVersion};
use tachograph_perflib::registration::{Aggregate, Attributes, InstanceType};

use crate::{KERNEL, SHOP, good};

fn guid(last: u8) -> Guid {
    Guid::from_u128(0x6a1f5d0c_3b2e_4c57_9d3a_0f2c8d1e7a00 + u128::from(last))
}

#[test]
fn every_attribute_is_read() {
    let manifest = good(SHOP);
    assert_eq!(manifest.schema_version, SchemaVersion::V2_0);
    let provider = &manifest.provider;
    assert_eq!(provider.guid.value, guid(0x40));
    assert_eq!((provider.guid.at.line, provider.guid.at.column), (10, 33));
    assert_eq!(&*provider.name, "Shop");
    assert_eq!(&*provider.application_identity, "shopd");
    assert_eq!(provider.symbol.as_ref().map(|symbol| &*symbol.value), Some("ShopProvider"));
    assert_eq!(provider.callback, Callback::Custom);
    assert_eq!(provider.provider_type, ProviderType::UserMode);
    assert_eq!(provider.resource_base, None);
    let [shop, carts] = provider.counter_sets.as_slice() else { panic!("two sets") };
    assert_eq!(shop.info.guid, guid(0x41));
    assert_eq!((&*shop.uri, &*shop.symbol, &*shop.info.name), ("Example.Shop", "Shop", "Shop"));
    assert_eq!(&*shop.info.help, "What the shop did & what it has.");
    assert_eq!(
        (shop.info.instance_type, shop.name_id, shop.description_id),
        (InstanceType::Single, Some(100), Some(102))
    );
    assert_eq!(carts.info.instance_type, InstanceType::MultipleAggregate);
    assert!(shop.structs.is_empty());

    let [requests, open, time, base, hits, lookups, state] = shop.counters.as_slice() else {
        panic!("seven")
    };
    assert_eq!((requests.info.id, requests.info.default_scale, requests.info.detail_level), (1, -2, 100));
    assert_eq!(requests.symbol.as_deref(), Some("ShopRequests"));
    assert_eq!((requests.name_id, requests.description_id), (Some(104), Some(106)));
    assert_eq!(requests.info.counter_type, CounterType::BULK_COUNT);
    assert_eq!((open.info.detail_level, open.info.aggregate), (200, Aggregate::Total));
    assert_eq!(open.info.attributes, Attributes::DISPLAY_AS_REAL);
    assert_eq!((time.info.base_id, time.info.time_id), (Some(4), None));
    assert_eq!(
        (&*base.info.name, &*base.info.help, base.info.attributes),
        ("", "", Attributes::NO_DISPLAYABLE)
    );
    assert_eq!((hits.info.id, hits.info.base_id, &hits.symbol), (16, Some(17), &None));
    assert_eq!(lookups.info.attributes.0, 3);
    assert_eq!(state.info.attributes.0, 5);
    let [_, _, busy, workers, count, clock, _] = carts.counters.as_slice() else { panic!("seven") };
    assert_eq!((busy.info.time_id, busy.info.frequency_id), (Some(5), Some(6)));
    assert_eq!(workers.info.multiplier_id, Some(4));
    let aggregates = [busy, workers, count, clock].map(|counter| counter.info.aggregate);
    assert_eq!(
        aggregates,
        [Aggregate::Average, Aggregate::Maximum, Aggregate::Minimum, Aggregate::Undefined]
    );
}

#[test]
fn a_kernel_mode_provider_with_namespace_prefixes_is_read() {
    let manifest = good(KERNEL);
    assert_eq!(manifest.schema_version, SchemaVersion::V1_1);
    let provider = &manifest.provider;
    assert_eq!(&*provider.name, "Counters");
    assert_eq!((provider.provider_type, provider.resource_base), (ProviderType::KernelMode, Some(0x100)));
    assert!(provider.symbol.is_none());
    let set = &provider.counter_sets[0];
    assert_eq!(set.info.instance_type, InstanceType::SingleAggregateHistory);
    assert_eq!((&*set.structs[0].name, &*set.structs[0].c_type), ("Values", "PUMP_VALUES"));
    let counter = &set.counters[0];
    assert_eq!((counter.structure.as_deref(), counter.field.as_deref()), (Some("Values"), Some("Strokes")));
    assert_eq!(counter.info.id, u32::MAX - 1);
}

#[test]
fn registered_sets_are_valid() {
    let manifest = good(SHOP);
    let sets: Vec<_> = manifest.counter_sets().collect();
    for set in &sets {
        set.check().expect("valid set");
        assert_eq!((set.provider_guid, &*set.provider_name), (guid(0x40), "Shop"));
    }
    let shop = &sets[0];
    assert_eq!((&*shop.name, shop.guid, shop.instance_type), ("Shop", guid(0x41), InstanceType::Single));
    assert_eq!(&*shop.help, "What the shop did & what it has.");
    let time = &shop.counters[2];
    assert_eq!(
        (time.id, &*time.name, &*time.unit, &*time.source),
        (3, "Avg. sec/Request", "seconds", "shopd")
    );
    assert_eq!(time.companions().collect::<Vec<_>>(), [4]);
    assert_eq!((&*shop.counters[3].name, shop.counters[3].is_displayable()), ("", false));
    let workers = &sets[1].counters[3];
    assert_eq!(workers.companions().collect::<Vec<_>>(), [5, 6, 4]);
    assert_eq!(workers.aggregate, Aggregate::Maximum);
}

/// A set for each instance type, and a counter for each attribute.
#[test]
fn every_instance_type_and_attribute_is_read() {
    for (word, instances) in [
        ("single", InstanceType::Single),
        ("multiple", InstanceType::Multiple),
        ("globalAggregate", InstanceType::SingleAggregate),
        ("multipleAggregate", InstanceType::MultipleAggregate),
        ("globalAggregateHistory", InstanceType::SingleAggregateHistory),
    ] {
        let text = SHOP.replace("\"multipleAggregate\"", &format!("\"{word}\""));
        assert_eq!(good(&text).provider.counter_sets[1].info.instance_type, instances);
    }
    for (word, attribute) in [
        ("reference", 1),
        ("noDisplay", 2),
        ("noDigitGrouping", 4),
        ("displayAsReal", 8),
        ("displayAsHex", 0x10),
    ] {
        let text = SHOP.replace("\"displayAsReal\"", &format!("\"{word}\""));
        assert_eq!(good(&text).provider.counter_sets[0].counters[1].info.attributes.0, attribute);
    }
    let defaults = SHOP.replace(" instances=\"multipleAggregate\"", "").replace("callback=\"custom\"", "");
    let defaults = good(&defaults.replace("providerType=\"userMode\"", "")).provider;
    assert_eq!(defaults.counter_sets[1].info.instance_type, InstanceType::Single);
    assert_eq!((defaults.callback, defaults.provider_type), (Callback::Default, ProviderType::UserMode));
}
