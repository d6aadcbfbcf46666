//! Names of control groups for people.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// The number of digits of a container's id that are shown, as in `docker ps`.
const SHORT_ID: usize = 12;

/// Hexadecimal numbers with at least this number of digits are ids of containers.
const MIN_ID: usize = 32;

/// Maximum number of known names. Further groups are shown with their ids.
const MAX_KNOWN: usize = 4096;

/// Names that were not found are searched again after this number of requests: a container's name is sometimes written
/// only after the container has started.
const RETRY: u32 = 10;

/// The names of the containers to which control groups belong, as far as they are known.
#[derive(Debug, Default)]
pub struct GroupNames {
    /// Keyed by path. `None`: not found; the number counts the requests since it was searched.
    known_names: HashMap<Box<str>, (Option<Arc<str>>, u32)>,
}

impl GroupNames {
    /// The groups among these whose containers' names should be searched now, each once.
    pub fn wanted<'a>(&mut self, paths: impl Iterator<Item = &'a str>) -> Vec<Box<str>> {
        let mut wanted: Vec<Box<str>> = Vec::new();
        let groups = paths.map(|path| split_device(path).0);
        for path in groups.filter(|path| has_id(last_component(path))) {
            let has_room = self.known_names.len() < MAX_KNOWN;
            match self.known_names.get_mut(path) {
                Some((Some(_), _)) => {}
                Some((None, age)) if *age + 1 < RETRY => *age += 1,
                Some((None, age)) => {
                    *age = 0;
                    wanted.push(path.into());
                }
                None if has_room => {
                    self.known_names.insert(path.into(), (None, 0));
                    wanted.push(path.into());
                }
                None => {}
            }
        }
        wanted
    }

    /// Adds the results of a search; `None`: not found.
    pub fn add(&mut self, found: impl IntoIterator<Item = (Box<str>, Option<Arc<str>>)>) {
        self.known_names.extend(found.into_iter().map(|(path, name)| (path, (name, 0))));
    }

    /// The text for a group: its path with the name of its container in place of the last part; if that is unknown, with
    /// the runtime and the first 12 digits of the id: `/system.slice/docker-0123456789ab`. Words after the path, such as the
    /// disk of an instance of `Cgroup Disk`, and other texts are unchanged.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let (path, device) = split_device(text);
        if !path.split('/').any(has_id) {
            return text.into();
        }
        let last = last_component(path);
        let mut text = String::with_capacity(path.len());
        for component in path[..path.len() - last.len()].split_inclusive('/') {
            let (name, slash) = component.strip_suffix('/').map_or((component, ""), |name| (name, "/"));
            text.push_str(&short_component(name));
            text.push_str(slash);
        }
        match self.known_names.get(path) {
            Some((Some(name), _)) => text.push_str(name),
            _ => text.push_str(&short_component(last)),
        }
        text.push_str(device);
        text.into()
    }
}

/// The path, and the words after it with the space before them.
fn split_device(text: &str) -> (&str, &str) {
    text.split_at(text.find(' ').unwrap_or(text.len()))
}

fn last_component(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A part of a path between slashes, with the first digits of a container's id: `docker-ID.scope` is `docker-0123456789ab`.
fn short_component(component: &str) -> Cow<'_, str> {
    match id_of(component) {
        Some((runtime, id)) => format!("{runtime}{}", &id[..SHORT_ID]).into(),
        None => component.into(),
    }
}

fn has_id(component: &str) -> bool {
    id_of(component).is_some()
}

/// The part before the id of a container, such as `docker-`, and the id.
fn id_of(component: &str) -> Option<(&str, &str)> {
    let stem = component.strip_suffix(".scope").or_else(|| component.strip_suffix(".service"));
    let stem = stem.unwrap_or(component);
    let start = stem.rfind(['-', ':']).map_or(0, |index| index + 1);
    let (runtime, id) = stem.split_at(start);
    let is_id = id.len() >= MIN_ID && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then_some((runtime, id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digit: char) -> String {
        format!("0123456789ab{}", digit.to_string().repeat(52))
    }

    #[test]
    fn ids_are_shortened() {
        let names = GroupNames::default();
        for (path, expected) in [
            (format!("/system.slice/docker-{}.scope", id('c')), "/system.slice/docker-0123456789ab"),
            (format!("/docker/{}", id('c')), "/docker/0123456789ab"),
            (format!("/docker/{}/init.scope", id('c')), "/docker/0123456789ab/init.scope"),
            (
                format!("/kubepods/pod-x/cri-containerd-{}.scope", id('d')),
                "/kubepods/pod-x/cri-containerd-0123456789ab",
            ),
            (format!("/a/{}", &id('c')[..32]), "/a/0123456789ab"),
            (format!("/docker/{} vda", id('c')), "/docker/0123456789ab vda"),
        ] {
            assert_eq!(names.text(&path), expected);
        }
        for unchanged in ["/", "", "/system.slice/ssh.service", "/a/0123456789abcdef", "eth0", "/a-b/c:d"] {
            assert_eq!(names.text(unchanged), unchanged);
        }
        let not_hexadecimal = format!("/a/{}g", id('c'));
        assert_eq!(names.text(&not_hexadecimal), not_hexadecimal);
    }

    #[test]
    fn known_names_replace_ids() {
        let mut names = GroupNames::default();
        let (web, other) =
            (format!("/system.slice/docker-{}.scope", id('c')), format!("/docker/{}", id('d')));
        let all = ["/", &*web, "/system.slice", &*other, &*web];
        assert_eq!(names.wanted(all.into_iter()), [web.as_str().into(), other.as_str().into()]);
        names.add([(web.as_str().into(), Some("web".into())), (other.as_str().into(), None)]);
        assert_eq!(names.text(&web), "/system.slice/web");
        assert_eq!(names.text(&format!("{web} vda")), "/system.slice/web vda");
        assert_eq!(names.text(&other), "/docker/0123456789ab");
        // Searched again, but not at once.
        for _ in 1..RETRY {
            assert!(names.wanted([&*other].into_iter()).is_empty());
        }
        assert_eq!(names.wanted(all.into_iter()), [Box::from(other.as_str())]);
    }

    #[test]
    fn the_number_of_names_is_bounded() {
        let mut names = GroupNames::default();
        let paths: Vec<_> = (0..MAX_KNOWN + 10).map(|index| format!("/{index:064x}")).collect();
        let wanted = names.wanted(paths.iter().map(String::as_str));
        assert_eq!(wanted.len(), MAX_KNOWN);
        names.add(wanted.into_iter().map(|path| (path, None)));
        assert!(names.wanted(["/x-ffffffffffffffffffffffffffffffff"].into_iter()).is_empty());
    }
}
