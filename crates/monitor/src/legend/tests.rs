use std::collections::BTreeMap;

use tachograph_counters::civil::FileTime;
use tachograph_counters::set::{Counter, CounterSet, Extent, Instance};
use tachograph_counters::{CounterType, Summary};

use super::*;
use crate::reduced::ReducedSeries;
use crate::series::SeriesId;
use crate::span::Span;

/// The reduced series of instances of a set, given their ids, names and averages.
fn reduced(instances: &[(u64, &str, f64)]) -> Reduced {
    let mut counter = Counter::new("Rate", CounterType::RAWCOUNT, 1);
    counter.default_scale = -1;
    let set = Arc::new(CounterSet::new("WEB1", "Set", Extent::Table));
    let series = instances.iter().map(|&(id, name, average)| {
        let instance = Arc::new(Instance::new(None, name, 0));
        let path = set.path(&instance, &counter);
        let info = SeriesInfo {
            id: SeriesId(id),
            path,
            machine: Some("WEB1".into()),
            set: Arc::clone(&set),
            counter: counter.clone(),
            instance: Some(instance),
        };
        let summary = Summary {
            average: Some(average),
            minimum: Some(0.0),
            maximum: Some(average * 2.0),
            ..Summary::default()
        };
        ReducedSeries { info: Arc::new(info), summary, columns: Vec::new() }
    });
    Reduced { span: Span::new(FileTime(0), FileTime(10)), columns: 1, series: series.collect() }
}

fn path(text: &str) -> PathPattern {
    PathPattern::parse(text).expect("a path")
}

fn names<'a>(items: impl IntoIterator<Item = &'a LegendItem>) -> Vec<String> {
    let name = |item: &LegendItem| LegendColumn::Instance.name(item).unwrap_or("---").to_owned();
    items.into_iter().map(name).collect()
}

#[test]
fn wildcards_add_new_instances_and_remove_old_ones() {
    let mut legend = Legend::default();
    assert!(legend.add(Chosen::new(path(r"\Set(*)\Rate"))));
    assert!(!legend.add(Chosen::new(path(r"\set(*)\RATE"))), "the path is already in the legend");
    assert_eq!(legend.without_items().count(), 1);
    legend.update(&reduced(&[(1, "a", 1.0), (2, "b", 2.0)]), false);
    assert_eq!(names(legend.items()), ["a", "b"]);
    let (a, b) = (legend.items()[0].id(), legend.items()[1].id());
    legend.set_shown(b, false);
    legend.update(&reduced(&[(1, "a", 1.0), (3, "c", 3.0)]), false);
    assert_eq!(names(legend.items()), ["a", "c"]);
    assert_eq!(legend.items()[0].id(), a);
    assert_eq!(legend.items()[1].style(), Style(1), "the colour is free again");
    // The instance returns with another id and its earlier settings.
    legend.update(&reduced(&[(1, "a", 1.0), (9, "b", 2.0)]), false);
    let again = &legend.items()[1];
    assert_eq!((names([again]), again.is_shown(), again.style()), (vec!["b".to_owned()], false, Style(1)));
    // For logs, items without data in the span stay.
    legend.update(&reduced(&[]), true);
    assert_eq!(names(legend.items()), ["a", "b"]);
    assert!(legend.items()[0].series(&reduced(&[])).is_none());
}

#[test]
fn literal_paths_have_an_item_before_their_instance_appears() {
    let mut legend = Legend::default();
    let settings = Settings { style: Some(Style(5)), ..Settings::default() };
    assert!(legend.add(Chosen { settings, ..Chosen::new(path(r"\Set(b)\Rate")) }));
    legend.update(&reduced(&[]), false);
    assert_eq!(names(legend.items()), ["---"]);
    assert_eq!(legend.path_of(&legend.items()[0]), r"\Set(b)\Rate");
    legend.update(&reduced(&[(1, "b", 1.0)]), false);
    assert_eq!((names(legend.items()), legend.items()[0].style()), (vec!["b".to_owned()], Style(5)));
    assert!(!legend.add(Chosen::new(path(r"\\web1\Set(b)\Rate"))), "the path is already in the legend");
    legend.update(&reduced(&[]), false);
    assert_eq!(names(legend.items()), ["b"]);
}

#[test]
fn an_instance_removed_from_a_wildcard_stays_removed() {
    let all = reduced(&[(1, "a", 1.0), (2, "b", 2.0)]);
    let mut legend = Legend::default();
    legend.add(Chosen::new(path(r"\Set(*)\*")));
    legend.update(&all, false);
    assert!(!legend.remove(legend.items()[0].id()));
    legend.update(&all, false);
    assert_eq!(names(legend.items()), ["b"]);
    assert_eq!(legend.chosen(false)[0].except, [r"\Set(a)\Rate"]);
    // Adding the instance's own path restores it.
    assert!(legend.add(Chosen::new(path(r"\Set(a)\Rate"))));
    legend.update(&all, false);
    assert_eq!(names(legend.sorted(&all)), ["b", "a"]);
    assert!(!legend.remove(legend.items()[0].id()));
    assert!(legend.remove(legend.items()[0].id()), "the path is removed with its last item");
    assert!(legend.is_empty());
}

#[test]
fn items_are_sorted_by_any_column() {
    let all = reduced(&[(1, "a10", 1.0), (2, "a9", 3.0), (3, "b", 2.0)]);
    let mut legend = Legend::default();
    legend.add(Chosen::new(path(r"\Set(*)\Rate")));
    legend.add(Chosen::new(path(r"\Other(x)\Rate")));
    legend.update(&all, false);
    legend.set_shown(legend.items()[1].id(), true);
    let mut orders = BTreeMap::new();
    for column in LegendColumn::ALL {
        legend.set_order(Some(SortOrder::of_column(column)));
        let default_order = names(legend.sorted(&all));
        legend.set_order(Some(SortOrder::of_column(column).reversed()));
        let reversed = names(legend.sorted(&all));
        assert_eq!((default_order.len(), reversed.len()), (4, 4));
        orders.insert(column.title(), (default_order, reversed));
    }
    let orders_by = |title: &str| (orders[title].0.join(" "), orders[title].1.join(" "));
    assert_eq!(orders_by("Average"), ("a9 b a10 ---".to_owned(), "a10 b a9 ---".to_owned()));
    assert_eq!(orders_by("Instance"), ("a9 a10 b ---".to_owned(), "b a10 a9 ---".to_owned()));
}

#[test]
fn scales_fit_the_visible_values() {
    let all = reduced(&[(1, "a", 20.0), (2, "b", 0.02), (3, "c", 0.0)]);
    let mut legend = Legend::default();
    legend.add(Chosen::new(path(r"\Set(*)\Rate")));
    legend.update(&all, false);
    assert_eq!(legend.items()[0].exponent(), -1, "the default scale of the counter");
    legend.fit(&[], &all);
    let exponents: Vec<_> = legend.items().iter().map(LegendItem::exponent).collect();
    assert_eq!(exponents, [0, 3, -1]);
    legend.move_scale(legend.items()[1].id(), -1);
    assert_eq!(legend.items()[1].scale(), Scale::Exponent(2));
}

#[test]
fn a_view_contains_changed_settings() {
    let all = reduced(&[(1, "a", 20.0), (2, "b", 0.02)]);
    let mut legend = Legend::default();
    legend.add(Chosen::new(path(r"\Set(*)\Rate")));
    legend.update(&all, false);
    legend.set_highlighted(legend.items()[1].id(), true);
    let chosen = legend.chosen(false);
    let saved: Vec<_> =
        chosen.iter().map(|chosen| (chosen.path.to_string(), chosen.settings.is_highlighted)).collect();
    assert_eq!(saved, [(r"\Set(b)\Rate".to_owned(), true), (r"\Set(*)\Rate".to_owned(), false)]);
    let mut again = Legend::default();
    for chosen in chosen {
        assert!(again.add(chosen));
    }
    again.update(&all, false);
    let mut shown: Vec<_> =
        again.items().iter().map(|item| (names([item]), item.style(), item.is_highlighted())).collect();
    shown.sort();
    assert_eq!(shown, [(vec!["a".to_owned()], Style(0), false), (vec!["b".to_owned()], Style(1), true)]);
    assert_eq!(legend.chosen(true)[0].path.to_string(), r"\\WEB1\Set(b)\Rate");
}

#[test]
fn short_names_omit_what_all_items_have_in_common() {
    let short = |legend: &Legend| {
        let items: Vec<_> = legend.items().iter().collect();
        legend.short_names(&items)
    };
    let mut legend = Legend::default();
    legend.add(Chosen::new(path(r"\Set(*)\Rate")));
    legend.update(&reduced(&[(1, "a", 1.0)]), false);
    assert_eq!(short(&legend), ["a Rate"]);
    legend.update(&reduced(&[(1, "a", 1.0), (2, "b", 2.0)]), false);
    assert_eq!(short(&legend), ["a", "b"]);
    // The label is kept. If the path has wildcards, the name begins with the instance.
    for (pattern, label, names) in [
        (r"\Set(*)\Rate", "in", ["a in", "b in"].as_slice()),
        (r"\Set(*)\Rate", "", &["a", "b"]),
        (r"\Set(a)\Rate", "in", &["in"]),
    ] {
        let mut legend = Legend::default();
        legend.add(Chosen { label: Some(label.to_owned()), ..Chosen::new(path(pattern)) });
        legend.update(&reduced(&[(1, "a", 1.0), (2, "b", 2.0)]), false);
        assert_eq!(short(&legend), names);
    }
    let mut legend = Legend::default();
    legend.add(Chosen::new(path(r"\None(x)\Counter")));
    assert_eq!(short(&legend), [r"\None(x)\Counter"]);
}

#[test]
fn short_names_begin_with_the_machine_if_there_are_several() {
    let of = |machine: &str, id: u64| {
        let mut figures = reduced(&[(id, "a", 1.0), (id + 1, "b", 2.0)]);
        for series in &mut figures.series {
            let info = SeriesInfo { machine: Some(machine.into()), ..(*series.info).clone() };
            series.info = Arc::new(info);
        }
        figures.series
    };
    let figures = Reduced { series: [of("web", 1), of("db", 3)].concat(), ..reduced(&[]) };
    for (pattern, label, expected) in [
        (r"\Set(*)\Rate", None, ["web a", "web b", "db a", "db b"].as_slice()),
        (r"\Set(*)\Rate", Some("in"), &["web a in", "web b in", "db a in", "db b in"]),
        // The label is the same for all.
        (r"\Set(a)\Rate", Some("mean"), &["web", "db"]),
    ] {
        let mut legend = Legend::default();
        legend.add(Chosen { label: label.map(str::to_owned), ..Chosen::new(path(pattern)) });
        legend.update(&figures, false);
        let items: Vec<_> = legend.items().iter().collect();
        assert_eq!(legend.short_names(&items), expected);
    }
}

#[test]
fn inactive_items_can_be_left_out_of_charts() {
    let mut legend = Legend::default();
    legend.add(Chosen { only_active: true, ..Chosen::new(path(r"\Set(*)\Rate")) });
    let figures = reduced(&[(1, "up", 1.0), (2, "down", 0.0)]);
    legend.update(&figures, false);
    let charted: Vec<_> = legend.items().iter().filter(|item| legend.is_charted(item, &figures)).collect();
    assert_eq!(names(charted), ["up"]);
    let id = legend.items()[0].id();
    legend.set_shown(id, false);
    assert!(!legend.items().iter().any(|item| legend.is_charted(item, &figures)));
}
