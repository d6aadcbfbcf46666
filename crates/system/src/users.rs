//! The names of users.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use crate::open_file::OpenFile;
use crate::roots::Roots;
use crate::scan::{lines, parse_number};

/// The names of the users in /etc/passwd. Users of directory services (LDAP) are unknown.
#[derive(Debug)]
pub(crate) struct Users {
    path: PathBuf,
    names: HashMap<u32, Arc<str>>,
    /// The modification time of the file when it was last read.
    modified: Option<SystemTime>,
}

impl Users {
    /// Creates a reader; nothing is read yet.
    pub(crate) fn new(roots: &Roots) -> Self {
        Self { path: roots.root.join("etc/passwd"), names: HashMap::new(), modified: None }
    }

    /// The name of a user.
    pub(crate) fn name(&mut self, id: u32) -> Option<Arc<str>> {
        if !self.names.contains_key(&id) {
            self.read_if_modified();
        }
        self.names.get(&id).cloned()
    }

    fn read_if_modified(&mut self) {
        let modified = std::fs::metadata(&self.path).and_then(|metadata| metadata.modified()).ok();
        if modified.is_none() || modified == self.modified {
            return;
        }
        self.modified = modified;
        let mut file = OpenFile::new(&self.path);
        let Ok(text) = file.read() else { return };
        self.names.clear();
        for line in lines(text) {
            let mut fields = line.split(|&byte| byte == b':');
            let (Some(name), Some(id)) = (fields.next(), fields.nth(1).and_then(parse_number)) else {
                continue;
            };
            if let Ok(id) = u32::try_from(id) {
                // Of several users with the same id, the first one is used.
                self.names.entry(id).or_insert_with(|| String::from_utf8_lossy(name).into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Machine;

    #[test]
    fn the_first_user_with_an_id_counts_and_new_users_are_found() {
        let machine = Machine::new(&[("etc/passwd", "ann:x:5:5\nbob:x:5:5\nx:x:99999999999:1\n::\n")]);
        let mut users = Users::new(&machine.roots);
        assert_eq!(users.name(5).as_deref(), Some("ann"));
        assert_eq!(users.name(6), None);
        machine.write("etc/passwd", "ann:x:5:5\ncarl:x:6:6\n");
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(9);
        let file = std::fs::File::options().write(true).open(machine.path("etc/passwd")).expect("opened");
        file.set_modified(later).expect("set");
        assert_eq!(users.name(6).as_deref(), Some("carl"));
        machine.remove("etc/passwd");
        assert_eq!(users.name(7), None);
        assert_eq!(users.name(5).as_deref(), Some("ann"));
    }
}
