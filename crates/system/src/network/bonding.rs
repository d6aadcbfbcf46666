//! `Bonding`: bonded interfaces and their members, from `/sys/class/net/*/bonding`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, InstanceKey, Provider, Row, Rows};

use crate::error_texts::{LastReason, error_text};
use crate::open_file::OpenFile;
use crate::ordered::move_if_present;
use crate::roots::Roots;
use crate::scan::{parse_single_number, words};
use crate::table::{CounterInfo, SetTable};

const LINK_UP: u32 = 1;
const INTERFACES: u32 = 2;
const INTERFACES_UP: u32 = 3;
const ACTIVE: u32 = 4;
const LINK_FAILURES: u32 = 5;

#[rustfmt::skip]
pub(super) static TABLE: SetTable = SetTable {
    name: "Bonding",
    guid: 0x559b1b01_af47_55d4_9c94_5fbeaee3a9a7,
    instance_type: InstanceType::Multiple,
    help: "Bonded network interfaces, and whether the links of their members are up.",
    instances: "Bonds (bond0), each followed by its members (bond0/eth0), in the kernel's order.",
    total: "",
    repeats: None,
    counters: &[
        row(LINK_UP, "Link Up", "/sys/class/net/*: bonding/mii_status, bonding_slave/mii_status",
            "1 if the link of the bond, or of the member, is up; otherwise 0."),
        row(INTERFACES, "Interfaces", "/sys/class/net/*/bonding/slaves", "The number of members of the bond."),
        row(INTERFACES_UP, "Interfaces Up", "/sys/class/net/*/bonding_slave/mii_status",
            "The number of members of the bond whose link is up."),
        row(ACTIVE, "Active", "/sys/class/net/*/bonding_slave/state",
            "1 if the member carries traffic, 0 if it is a backup."),
        row(LINK_FAILURES, "Link Failures", "/sys/class/net/*/bonding_slave/link_failure_count",
            "The number of failures of the member's link since it joined the bond."),
    ],
};

const fn row(id: u32, name: &'static str, source: &'static str, help: &'static str) -> CounterInfo {
    CounterInfo::row(id, name, CounterType::RAWCOUNT, "", 0, source, help)
}

struct Bonding {
    info: Arc<CounterSetInfo>,
    /// `/sys/class/net`.
    class: PathBuf,
    /// The file with the names of the bonds.
    masters: OpenFile,
    bonds: Vec<Bond>,
}

struct Bond {
    name: Vec<u8>,
    key: Arc<InstanceKey>,
    /// The file with the names of the members.
    slaves: OpenFile,
    mii_status: OpenFile,
    members: Vec<Member>,
    reason: LastReason,
}

struct Member {
    name: Vec<u8>,
    key: Arc<InstanceKey>,
    mii_status: OpenFile,
    state: OpenFile,
    link_failures: OpenFile,
    reason: LastReason,
}

/// The provider, if the kernel has bonding.
pub(super) fn provider(roots: &Roots) -> Option<Box<dyn Provider>> {
    let class = roots.sys.join("class/net");
    let mut masters = OpenFile::new(class.join("bonding_masters"));
    let has_bonding = masters.is_readable();
    has_bonding.then(|| -> Box<dyn Provider> {
        Box::new(Bonding { info: TABLE.info(), class, masters, bonds: Vec::new() })
    })
}

impl Provider for Bonding {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let Self { class, masters, bonds, .. } = self;
        let names = masters.read_or_fail()?.trim_ascii();
        let mut next = 0;
        for name in words(names) {
            if !move_if_present(bonds, next, |bond| bond.name == name) {
                bonds.insert(next, Bond::new(class, name));
            }
            bonds[next].push_rows(class, rows);
            next += 1;
        }
        bonds.truncate(next);
        Ok(())
    }

    fn idle(&mut self) {
        self.masters.close();
        self.bonds = Vec::new();
    }
}

impl Bond {
    fn new(class: &Path, name: &[u8]) -> Self {
        let text = String::from_utf8_lossy(name);
        let folder = class.join(&*text).join("bonding");
        Self {
            name: name.to_vec(),
            key: Arc::new(InstanceKey::new(&*text, 0, 0)),
            slaves: OpenFile::new(folder.join("slaves")),
            mii_status: OpenFile::new(folder.join("mii_status")),
            members: Vec::new(),
            reason: LastReason::default(),
        }
    }

    fn push_rows(&mut self, class: &Path, rows: &mut Rows) {
        let Self { key, slaves, mii_status, members, reason, .. } = self;
        let mut next = 0;
        let listed = match slaves.read() {
            Ok(names) => {
                for name in words(names.trim_ascii()) {
                    if !move_if_present(members, next, |member| member.name == name) {
                        members.insert(next, Member::new(class, key.name(), name));
                    }
                    next += 1;
                }
                Ok(())
            }
            Err(error) => Err(error_text(slaves.path().display(), &error)),
        };
        members.truncate(next);

        // The bond's row comes before the rows of its members, but contains the number of their links that are up, so these are read
        // first.
        let mut up: Result<u64, String> = Ok(0);
        for member in &mut *members {
            up = up.and_then(|up| Ok(up + link_up(&mut member.mii_status)?));
        }
        if rows.wants_instance(key.full_name(), key.id()) {
            let mut row = rows.push(key);
            let count = members.len() as u64;
            set_or_fail(&mut row, LINK_UP, link_up(mii_status), reason);
            set_or_fail(&mut row, INTERFACES, listed.clone().map(|()| count), reason);
            set_or_fail(&mut row, INTERFACES_UP, listed.and(up), reason);
            row.omit(ACTIVE);
            row.omit(LINK_FAILURES);
        }
        for member in members {
            if rows.wants_instance(member.key.full_name(), member.key.id()) {
                member.fill(&mut rows.push(&member.key));
            }
        }
    }
}

impl Member {
    fn new(class: &Path, bond: &str, name: &[u8]) -> Self {
        let text = String::from_utf8_lossy(name);
        let folder = class.join(&*text).join("bonding_slave");
        let file = |name: &str| OpenFile::new(folder.join(name));
        Self {
            name: name.to_vec(),
            key: Arc::new(InstanceKey::with_parent(bond, &text, 0, 0)),
            mii_status: file("mii_status"),
            state: file("state"),
            link_failures: file("link_failure_count"),
            reason: LastReason::default(),
        }
    }

    fn fill(&mut self, row: &mut Row<'_>) {
        let Self { mii_status, state, link_failures, reason, .. } = self;
        set_or_fail(row, LINK_UP, link_up(mii_status), reason);
        set_or_fail(row, ACTIVE, value(state, |text| Some(u64::from(text == b"active"))), reason);
        set_or_fail(row, LINK_FAILURES, value(link_failures, parse_single_number), reason);
        row.omit(INTERFACES);
        row.omit(INTERFACES_UP);
    }
}

/// Reads a link status: 1 if the link is up, otherwise 0.
fn link_up(mii_status: &mut OpenFile) -> Result<u64, String> {
    value(mii_status, |text| Some(u64::from(text == b"up")))
}

/// Reads a file and parses its only line.
fn value(file: &mut OpenFile, parse: impl Fn(&[u8]) -> Option<u64>) -> Result<u64, String> {
    let parsed = match file.read() {
        Ok(text) => text.strip_suffix(b"\n").filter(|text| !text.is_empty()).and_then(parse),
        Err(error) => return Err(error_text(file.path().display(), &error)),
    };
    parsed.ok_or_else(|| format!("{}: malformed", file.path().display()))
}

fn set_or_fail(row: &mut Row<'_>, id: u32, value: Result<u64, String>, reason: &mut LastReason) {
    match value {
        Ok(value) => row.set(id, value),
        Err(text) => row.fail(id, reason.intern(&text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Machine, at, check_idle, collect, first_value, names, value};

    #[test]
    fn bonds_are_followed_by_their_members() {
        let machine = Machine::new(&[("sys/class/net/bonding_masters", "bond0\n")]);
        for (file, text) in [
            ("bond0/bonding/slaves", "eth0 eth1\n"),
            ("bond0/bonding/mii_status", "up\n"),
            ("eth0/bonding_slave/mii_status", "up\n"),
            ("eth0/bonding_slave/state", "active\n"),
            ("eth0/bonding_slave/link_failure_count", "2\n"),
            ("eth1/bonding_slave/mii_status", "going down\n"),
            ("eth1/bonding_slave/state", "backup\n"),
            ("eth1/bonding_slave/link_failure_count", "3\n"),
        ] {
            machine.write(&format!("sys/class/net/{file}"), text);
        }
        check_idle(&machine, "", &mut *provider(&machine.roots).expect("bonding"));
        let mut set = provider(&machine.roots).expect("bonding");
        let rows = collect(&mut *set, at(1));
        assert_eq!(names(&rows), ["bond0", "bond0/eth0", "bond0/eth1"]);
        assert_eq!([1, 2, 3].map(|id| first_value(&rows, "bond0", id)), [1, 2, 1]);
        assert_eq!([1, 4, 5].map(|id| first_value(&rows, "bond0/eth0", id)), [1, 1, 2]);
        assert_eq!([1, 4, 5].map(|id| first_value(&rows, "bond0/eth1", id)), [0, 0, 3]);
        assert!(rows.errors().is_empty(), "{:?}", rows.errors());
        machine.write("sys/class/net/bond0/bonding/slaves", "eth1\n");
        machine.write("sys/class/net/eth1/bonding_slave/link_failure_count", "x\n");
        let rows = collect(&mut *set, at(2));
        assert_eq!(names(&rows), ["bond0", "bond0/eth1"]);
        assert!(!value(&rows, "bond0/eth1", 5).status.is_good());
        machine.write("sys/class/net/bonding_masters", "\n");
        assert_eq!(names(&collect(&mut *set, at(3))), [""; 0]);
    }
}
