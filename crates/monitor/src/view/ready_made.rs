//! The ready-made views.

use super::View;

const VIEWS: [(&str, &str); 11] = [
    ("overview", include_str!("../views/overview.toml")),
    ("cpu", include_str!("../views/cpu.toml")),
    ("memory", include_str!("../views/memory.toml")),
    ("disk", include_str!("../views/disk.toml")),
    ("network", include_str!("../views/network.toml")),
    ("processes", include_str!("../views/processes.toml")),
    ("cgroups", include_str!("../views/cgroups.toml")),
    ("pressure", include_str!("../views/pressure.toml")),
    ("gpu", include_str!("../views/gpu.toml")),
    ("applications", include_str!("../views/applications.toml")),
    ("sensors", include_str!("../views/sensors.toml")),
];

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    VIEWS.iter().map(|(name, _)| *name)
}

pub(super) fn view(name: &str) -> Option<View> {
    let (_, text) = VIEWS.iter().find(|(known, _)| *known == name)?;
    View::parse(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_made_views_are_valid() {
        for (name, text) in VIEWS {
            let view = View::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(view.is_optional && view.title.is_some(), "{name}");
            assert!(view.panels.iter().all(|panel| panel.title.is_some()), "{name}");
            assert!(view.counters().count() > 0, "{name}");
            assert_eq!(View::ready_made(name), Some(view));
        }
        assert_eq!(View::ready_made("nothing"), None);
    }
}
