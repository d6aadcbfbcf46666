//! The counter list.

use super::Bytes;

/// An entry of the counter list.
#[derive(Clone)]
pub struct Entry {
    /// 0 single, 1 multi, 0x10 block.
    pub flags: u32,
    pub counter_type: u32,
    pub time_base: i64,
    pub scale: i32,
    pub machine: Option<&'static str>,
    pub object: Option<&'static str>,
    pub instance: Option<&'static str>,
    pub parent: Option<&'static str>,
    pub index: u32,
    pub counter: Option<&'static str>,
    /// Bytes before the strings: 0x34 (Windows 8), 0x38 (5.2; here the slack follows the strings), 0x3C (Vista).
    pub head_bytes: usize,
}

impl Entry {
    pub fn single(object: &'static str, instance: Option<&'static str>, counter: &'static str) -> Self {
        Self {
            flags: 0,
            counter_type: 0x1041_0500,
            time_base: 2_725_536,
            scale: 0,
            machine: Some(r"\\MADE"),
            object: Some(object),
            instance,
            parent: None,
            index: 0,
            counter: Some(counter),
            head_bytes: 0x34,
        }
    }

    pub fn multi(object: &'static str, counter: &'static str) -> Self {
        Self { flags: 1, ..Self::single(object, Some("*"), counter) }
    }

    pub fn block(object: &'static str) -> Self {
        Self {
            flags: 0x10,
            counter_type: 0x10,
            time_base: 0,
            head_bytes: 0x3C,
            ..Self::single(object, Some("*"), "*")
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        // Vista leaves four bytes before the strings of entries with an instance.
        let before = if self.head_bytes == 0x3C && self.instance.is_some() { 4 } else { 0 };
        let mut strings = Bytes::default();
        strings.zeros(before);
        let mut place = |text: Option<&str>| match text {
            Some(text) => {
                let at = strings.0.len() as u32;
                strings.text(text);
                at
            }
            None => u32::MAX,
        };
        let (machine, object) = (place(self.machine), place(self.object));
        let (parent, instance) = (place(self.parent), place(self.instance));
        let counter = place(self.counter);
        let size = (self.head_bytes - before + strings.0.len()).next_multiple_of(8);
        let mut out = Bytes::default();
        out.u32(size as u32).u32(self.flags).u32(0xDEAD).u32(self.counter_type);
        out.i64(self.time_base).u32(self.scale as u32);
        out.u32(machine).u32(object).u32(instance).u32(parent).u32(self.index).u32(counter);
        out.bytes(&strings.0);
        out.0.resize(size, 0);
        out.0
    }
}

/// Payload of a counter list.
pub fn list(entries: &[Entry]) -> Vec<u8> {
    let mut out = Bytes::default();
    out.u32(0x6FF).u16(8).u16(2);
    for entry in entries {
        out.bytes(&entry.bytes());
    }
    out.0
}
