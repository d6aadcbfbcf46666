//! The names of the control groups of units, containers and pods.

use std::path::PathBuf;

use crate::open_file::OpenFile;
use crate::roots::Roots;

/// The name of a group. It is final unless a file that has a better name can still appear, as for new containers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GroupName {
    pub(super) name: String,
    pub(super) is_final: bool,
}

/// The number of digits of a container id that are shown, as in `docker ps`.
const SHORT_ID: usize = 12;

/// Finds the names of containers, in the files of the programs that create them.
#[derive(Debug)]
pub struct ContainerNames(Names);

impl ContainerNames {
    /// The names on a machine.
    pub fn new(roots: &Roots) -> Self {
        Self(Names::new(roots))
    }

    /// The name of the container, pod or unit whose control group has this path; `None` if there is no file with its name.
    pub fn find(&self, path: &str) -> Option<String> {
        self.0.find(path).filter(|found| found.is_final).map(|found| found.name)
    }
}

/// Finds the names that people use for control groups, in the files of the programs that create the groups.
#[derive(Debug)]
pub(super) struct Names {
    /// Docker's folder with a subfolder per container.
    docker: PathBuf,
    /// Podman's list of containers.
    podman: PathBuf,
    /// The folder with a subfolder of logs per pod.
    pods: PathBuf,
    /// The folder with a log per container of a pod.
    containers: PathBuf,
}

impl Names {
    pub(super) fn new(roots: &Roots) -> Self {
        Self {
            docker: roots.root.join("var/lib/docker/containers"),
            podman: roots.root.join("var/lib/containers/storage/overlay-containers/containers.json"),
            pods: roots.root.join("var/log/pods"),
            containers: roots.root.join("var/log/containers"),
        }
    }

    /// The name of the unit, container or pod with this path; `None` for other groups, such as slices.
    pub(super) fn find(&self, path: &str) -> Option<GroupName> {
        let (parents, folder) = path.rsplit_once('/')?;
        let (stem, is_scope) = match folder.strip_suffix(".scope") {
            Some(stem) => (stem, true),
            None => (folder, false),
        };
        let is_in_pods = parents.contains("kubepods");
        if let Some((manager, id)) = container_id(stem) {
            let name = if is_in_pods {
                self.name_in_pod(id)
            } else {
                match manager {
                    "docker" => self.docker_name(id),
                    "libpod" => self.podman_name(id),
                    // Without systemd, the name of the parent shows the program (`/docker/ID`).
                    "" if parents.ends_with("/docker") => self.docker_name(id),
                    "" => self.docker_name(id).or_else(|| self.podman_name(id)),
                    _ => None,
                }
            };
            return Some(match name {
                Some(name) => GroupName { name, is_final: true },
                None => GroupName { name: id[..SHORT_ID].to_owned(), is_final: false },
            });
        }
        if let Some(uid) = pod_uid(folder) {
            let name = self.pod_name(&uid);
            let is_final = name.is_some();
            return Some(GroupName { name: name.unwrap_or_else(|| format!("pod {uid}")), is_final });
        }
        let final_name = |name: &str| Some(GroupName { name: name.to_owned(), is_final: true });
        if let Some(name) = folder.strip_prefix("lxc.payload.") {
            return final_name(name);
        }
        let is_unit =
            is_scope || [".service", ".mount", ".socket", ".swap"].iter().any(|end| folder.ends_with(end));
        if is_unit { final_name(&unescape_unit(folder)) } else { None }
    }

    /// The name of a container. Docker writes it as `"Name":"/web"`; other names in this file have no slash.
    fn docker_name(&self, id: &str) -> Option<String> {
        let text = read(self.docker.join(id).join("config.v2.json"))?;
        container_name(text.split_once(r#""Name":"/"#)?.1)
    }

    /// The name of a container. Podman writes a list of objects with `"id":"ID"` and `"names":["web"]`.
    fn podman_name(&self, id: &str) -> Option<String> {
        let text = read(self.podman.clone())?;
        let object = text.split_once(&format!(r#""id":"{id}""#))?.1;
        let object = object.split(r#""id":""#).next()?;
        container_name(object.split_once(r#""names":[""#)?.1)
    }

    /// The name of a container in a pod, from the name of its log: `POD_NAMESPACE_CONTAINER-ID.log`.
    fn name_in_pod(&self, id: &str) -> Option<String> {
        let end = format!("-{id}.log");
        find(&self.containers, |name| {
            let mut parts = name.strip_suffix(&end)?.splitn(3, '_');
            let (pod, namespace, container) = (parts.next()?, parts.next()?, parts.next()?);
            Some(format!("{namespace}/{pod}/{container}"))
        })
    }

    /// The name of a pod, from the name of the folder with its logs: `NAMESPACE_POD_UID`.
    fn pod_name(&self, uid: &str) -> Option<String> {
        let end = format!("_{uid}");
        find(&self.pods, |name| {
            let (namespace, pod) = name.strip_suffix(&end)?.split_once('_')?;
            Some(format!("{namespace}/{pod}"))
        })
    }
}

/// The program and the id in the name of a container's group: `docker-ID`, `cri-containerd-ID`, or only the id.
fn container_id(stem: &str) -> Option<(&str, &str)> {
    let (manager, id) = stem.rsplit_once('-').unwrap_or(("", stem));
    let is_id =
        id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    // The group of podman's monitor process also has the container's id in its name.
    (is_id && manager != "libpod-conmon").then_some((manager, id))
}

/// The uid in the name of a pod's group: `pod1b2a...`, `kubepods-burstable-pod1b2a_....slice`.
fn pod_uid(folder: &str) -> Option<String> {
    let uid = match folder.strip_suffix(".slice") {
        Some(stem) => stem.strip_prefix("kubepods")?.rsplit_once("-pod")?.1.replace('_', "-"),
        None => folder.strip_prefix("pod")?.to_owned(),
    };
    let is_uid = uid.len() >= 32 && uid.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_uid.then_some(uid)
}

/// Decodes systemd's escapes in the name of a unit: `a\x2db` is `a-b`.
fn unescape_unit(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, after)) = rest.split_once(r"\x") {
        text.push_str(before);
        match after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if byte.is_ascii_graphic() => {
                text.push(char::from(byte));
                rest = &after[2..];
            }
            _ => {
                text.push_str(r"\x");
                rest = after;
            }
        }
    }
    text + rest
}

fn read(path: PathBuf) -> Option<String> {
    let mut file = OpenFile::new(path);
    Some(String::from_utf8_lossy(file.read().ok()?).into_owned())
}

/// The name before the next quotation mark; `None` if it is not a container name, which consists of letters, digits, `_`, `.`
/// and `-`.
fn container_name(text: &str) -> Option<String> {
    let name = text.split('"').next()?;
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    (!name.is_empty() && name.len() <= 255 && name.bytes().all(is_allowed)).then(|| name.to_owned())
}

/// Calls `result` with the names of up to 65,536 entries of a folder until it returns a result.
fn find(folder: &PathBuf, result: impl Fn(&str) -> Option<String>) -> Option<String> {
    let entries = std::fs::read_dir(folder).ok()?.take(65_536).map_while(Result::ok);
    entries.into_iter().find_map(|entry| result(entry.file_name().to_str()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Machine;

    fn id(digit: char) -> String {
        digit.to_string().repeat(64)
    }

    fn machine() -> Machine {
        let machine = Machine::new(&[]);
        let (web, db, app) = (id('a'), id('b'), id('c'));
        let docker =
            r#"{"StreamConfig":{},"MountPoints":{"/d":{"Name":"volume"}},"Name":"/web","Driver":"overlay2"}"#;
        machine.write(&format!("var/lib/docker/containers/{web}/config.v2.json"), docker);
        let podman = format!(
            r#"[{{"id":"{app}","names":["other"]}},{{"id":"{db}","names":["db","alias"],"image":"x"}},{{"id":"{}"}}]"#,
            id('d')
        );
        machine.write("var/lib/containers/storage/overlay-containers/containers.json", podman);
        let uid = "1b2a3c4d-0000-1111-2222-333344445555";
        machine.write(&format!("var/log/pods/shop_cart-7d9_{uid}/cart/0.log"), "");
        machine.write(&format!("var/log/containers/cart-7d9_shop_cart-{}.log", id('e')), "");
        machine
    }

    #[test]
    fn groups_have_the_names_that_people_use() {
        let machine = machine();
        let names = Names::new(&machine.roots);
        let pod = "kubepods-burstable-pod1b2a3c4d_0000_1111_2222_333344445555.slice";
        for (path, expected) in [
            ("/system.slice/ssh.service", "ssh.service"),
            (r"/system.slice/dev-disk\x2dby.swap", "dev-disk-by.swap"),
            (r"/machine.slice/machine-qemu\x2d1\x2dvm.scope", "machine-qemu-1-vm.scope"),
            (&format!("/system.slice/docker-{}.scope", id('a')), "web"),
            (&format!("/docker/{}", id('a')), "web"),
            (&format!("/machine.slice/libpod-{}.scope", id('b')), "db"),
            (&format!("/libpod_parent/libpod-{}", id('b')), "db"),
            (&format!("/kubepods.slice/{pod}"), "shop/cart-7d9"),
            ("/kubepods/burstable/pod1b2a3c4d-0000-1111-2222-333344445555", "shop/cart-7d9"),
            (&format!("/kubepods.slice/{pod}/cri-containerd-{}.scope", id('e')), "shop/cart-7d9/cart"),
            ("/lxc.payload.box", "box"),
        ] {
            let expected = GroupName { name: expected.to_owned(), is_final: true };
            assert_eq!(names.find(path), Some(expected), "{path}");
        }
        let conmon = format!("/machine.slice/libpod-conmon-{}.scope", id('b'));
        assert_eq!(names.find(&conmon).map(|name| name.is_final), Some(true));
        for path in ["/", "/system.slice", "/user.slice/user-0.slice", "/podium", "/docker", "/a/pod-x"] {
            assert_eq!(names.find(path), None, "{path}");
        }
    }

    #[test]
    fn only_names_in_files_are_names_of_containers() {
        let machine = Machine::new(&[]);
        let path = format!("/docker/{}", id('a'));
        let names = ContainerNames::new(&machine.roots);
        assert_eq!(names.find(&path), None);
        machine.write(&format!("var/lib/docker/containers/{}/config.v2.json", id('a')), r#"{"Name":"/web"}"#);
        assert_eq!(names.find(&path).as_deref(), Some("web"));
        assert_eq!(names.find("/user.slice"), None);
    }

    #[test]
    fn a_container_without_a_file_has_a_short_id() {
        let machine = machine();
        let names = Names::new(&machine.roots);
        for path in [
            format!("/docker/{}", id('f')),
            format!("/machine.slice/libpod-{}.scope", id('d')),
            format!("/system.slice/crio-{}.scope", id('f')),
        ] {
            let found = names.find(&path).expect("a container");
            assert_eq!((found.name.len(), found.is_final), (SHORT_ID, false), "{path}");
        }
        let found = names.find("/kubepods/podffffffff-0000-1111-2222-333344445555").expect("a pod");
        assert_eq!(found.name, "pod ffffffff-0000-1111-2222-333344445555");
    }

    #[test]
    fn malformed_files_are_ignored() {
        let machine = machine();
        let names = Names::new(&machine.roots);
        let path = format!("/docker/{}", id('a'));
        for broken in [
            "",
            "{",
            r#"{"Name":"/"}"#,
            r#"{"Name":"/a b"}"#,
            r#"{"Name":"/a\u0000"}"#,
            "\"Name\":\"/\u{fffd}",
        ] {
            machine.write(&format!("var/lib/docker/containers/{}/config.v2.json", id('a')), broken);
            assert_eq!(names.find(&path).map(|name| name.is_final), Some(false), "{broken:?}");
        }
        assert_eq!(unescape_unit(r"a\x2db\xzz\x1"), r"a-b\xzz\x1");
        assert_eq!(unescape_unit(r"\x5cx2d\xc3\xa9"), r"\x2d\xc3\xa9");
    }
}
