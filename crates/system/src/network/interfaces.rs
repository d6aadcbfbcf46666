//! `Network Interface`.

use std::path::PathBuf;
use std::sync::Arc;

use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{ErrorCode, Failure, Provider, Rows};

use super::interface::{Header, Interface};
use super::interface_table::{BANDWIDTH, TABLE};
use super::nodes::Inodes;
use crate::open_file::OpenFile;
use crate::ordered::{move_if_present, split_complete_lines};
use crate::roots::Roots;
use crate::scan::lines;

pub(super) struct NetworkInterface {
    info: Arc<CounterSetInfo>,
    path: PathBuf,
    file: OpenFile,
    /// `/sys/class/net`.
    class: PathBuf,
    header: Header,
    interfaces: Vec<Interface>,
    inodes: Inodes,
    /// Distinguishes interfaces that had the same name one after another.
    generation: u64,
    was_read: bool,
    /// The reason for missing values if the line of an interface is malformed.
    malformed: Arc<str>,
}

impl NetworkInterface {
    pub(super) fn new(roots: &Roots) -> Option<Self> {
        let path = roots.proc.join("net/dev");
        let class = roots.sys.join("class/net");
        let mut file = OpenFile::new(&path);
        let mut header = Header::default();
        header.update(lines(file.read().ok()?).nth(1)?);
        let has_class = class.is_dir();
        Some(Self {
            info: TABLE.info_of(|id| if id == BANDWIDTH { has_class } else { header.has_counter(id) }),
            path,
            file,
            inodes: Inodes::new(class.clone()),
            class,
            header,
            interfaces: Vec::new(),
            generation: 0,
            was_read: false,
            malformed: "/proc/net/dev: malformed line for this interface".into(),
        })
    }

    fn read(&mut self) -> Result<(), Failure> {
        let text = self.file.read_or_fail()?;
        let (whole, cut) = split_complete_lines(text);
        let mut whole = lines(whole);
        let second = (whole.next(), whole.next()).1;
        let header = second.ok_or_else(|| {
            Failure::new(ErrorCode::NO_DATA, format!("{}: no column names", self.path.display()))
        })?;
        self.header.update(header);
        let mut next = 0;
        let all = whole.map(|line| (line, true)).chain((!cut.is_empty()).then_some((cut, false)));
        for (line, is_whole) in all {
            // The last colon ends the name; a number can follow it without a blank.
            let Some(colon) = line.iter().rposition(|&byte| byte == b':') else { continue };
            let name = line[..colon].trim_ascii();
            let numbers = if is_whole { self.header.numbers(&line[colon + 1..]) } else { None };
            let is_known = move_if_present(&mut self.interfaces, next, |known| *known.name == *name);
            if !is_known {
                self.generation += u64::from(self.was_read);
                self.interfaces.insert(next, Interface::new(&self.class, name, self.generation));
            }
            let interface = &mut self.interfaces[next];
            next += 1;
            interface.is_valid = numbers.is_some();
            let Some(numbers) = numbers else { continue };
            if !interface.is_continued_by(&numbers) {
                self.generation += 1;
                interface.restart(self.generation);
            }
            interface.push(&numbers);
        }
        self.interfaces.truncate(next);
        self.was_read = true;
        // Without sysfs, interfaces that were recreated are not recognised.
        let _ = self.inodes.check(&mut self.interfaces);
        Ok(())
    }
}

impl Provider for NetworkInterface {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        self.read()?;
        let ticks = rows.timestamps().ticks;
        for interface in &mut self.interfaces {
            if rows.wants_instance(interface.key.name(), interface.key.id()) {
                let key = Arc::clone(&interface.key);
                interface.fill(&mut rows.push(&key), ticks, &self.malformed);
            }
        }
        Ok(())
    }
}
