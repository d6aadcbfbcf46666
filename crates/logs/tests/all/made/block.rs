//! Block records.

use super::{Bytes, local, record};

/// A PERF_DATA_BLOCK.
#[derive(Clone)]
pub struct Block {
    pub second: i64,
    pub machine: &'static str,
    pub ticks: i64,
    pub frequency: i64,
    pub default_object: u32,
    pub objects: Vec<Object>,
}

/// A PERF_OBJECT_TYPE with what follows it.
#[derive(Clone)]
pub struct Object {
    pub name_index: u32,
    /// `None`: 0 instances are counted as -1, and the one row has no name.
    pub instances: Option<Vec<Instance>>,
    pub counters: Vec<Counter>,
    /// Values of the row of an object without instances.
    pub values: Vec<i64>,
    pub code_page: u32,
    pub time: i64,
    pub frequency: i64,
}

/// A PERF_COUNTER_DEFINITION.
#[derive(Clone, Copy)]
pub struct Counter {
    pub name_index: u32,
    pub counter_type: u32,
    /// 4 or 8 for a number; any up to 8 can be made.
    pub bytes: u32,
}

/// A PERF_INSTANCE_DEFINITION and its values.
#[derive(Clone)]
pub struct Instance {
    pub name: Vec<u8>,
    pub unique_id: i32,
    /// Title index of the parent's object, number of the parent in it.
    pub parent: (u32, u32),
    pub values: Vec<i64>,
}

impl Instance {
    pub fn new(name: &str, values: &[i64]) -> Self {
        let mut bytes = Bytes::default();
        bytes.text(name);
        Self { name: bytes.0, unique_id: -1, parent: (0, 0), values: values.to_vec() }
    }

    /// Named by its number alone.
    pub fn numbered(unique_id: i32, values: &[i64]) -> Self {
        Self { name: Vec::new(), unique_id, parent: (0, 0), values: values.to_vec() }
    }

    pub fn of(mut self, object: u32, number: u32) -> Self {
        self.parent = (object, number);
        self
    }
}

impl Object {
    pub fn new(name_index: u32, counters: &[Counter], instances: &[Instance]) -> Self {
        Self {
            name_index,
            instances: Some(instances.to_vec()),
            counters: counters.to_vec(),
            values: Vec::new(),
            code_page: 0,
            time: 0,
            frequency: 0,
        }
    }

    /// An object without instances.
    pub fn alone(name_index: u32, counters: &[Counter], values: &[i64]) -> Self {
        Self { instances: None, values: values.to_vec(), ..Self::new(name_index, counters, &[]) }
    }

    fn row(&self, out: &mut Bytes, values: &[i64]) {
        let mut row = Bytes::default();
        for (counter, value) in self.counters.iter().zip(values) {
            row.bytes(&value.to_le_bytes()[..counter.bytes as usize]);
        }
        let length = (4 + row.0.len()).next_multiple_of(8);
        out.u32(length as u32).bytes(&row.0);
        out.zeros(length - 4 - row.0.len());
    }

    fn bytes(&self) -> Vec<u8> {
        let mut definitions = Bytes::default();
        let mut at = 4;
        for counter in &self.counters {
            definitions.u32(0x28).u32(counter.name_index).u32(0).u32(counter.name_index + 1).u32(0);
            definitions.u32(0).u32(100).u32(counter.counter_type).u32(counter.bytes).u32(at);
            at += counter.bytes;
        }
        let mut rows = Bytes::default();
        match &self.instances {
            None => self.row(&mut rows, &self.values),
            Some(instances) => {
                for instance in instances {
                    let length = (24 + instance.name.len()).next_multiple_of(8);
                    rows.u32(length as u32).u32(instance.parent.0).u32(instance.parent.1);
                    rows.u32(instance.unique_id as u32).u32(24).u32(instance.name.len() as u32);
                    rows.bytes(&instance.name).zeros(length - 24 - instance.name.len());
                    self.row(&mut rows, &instance.values);
                }
            }
        }
        let count = self.instances.as_ref().map_or(-1, |instances| instances.len() as i32);
        let mut out = Bytes::default();
        let definition_bytes = 0x40 + definitions.0.len();
        out.u32((definition_bytes + rows.0.len()) as u32).u32(definition_bytes as u32).u32(0x40);
        out.u32(self.name_index).u32(0).u32(self.name_index + 1).u32(0).u32(100);
        out.u32(self.counters.len() as u32).u32(0).u32(count as u32).u32(self.code_page);
        out.i64(self.time).i64(self.frequency);
        out.bytes(&definitions.0).bytes(&rows.0);
        out.0
    }
}

impl Block {
    pub fn new(second: i64, objects: &[Object]) -> Self {
        Self {
            second,
            machine: "MADE",
            ticks: 1000 * second,
            frequency: 1000,
            default_object: objects.last().map_or(0, |object| object.name_index),
            objects: objects.to_vec(),
        }
    }

    /// The block record.
    pub fn record(&self) -> Vec<u8> {
        let objects: Vec<u8> = self.objects.iter().flat_map(Object::bytes).collect();
        let mut name = Bytes::default();
        name.text(self.machine);
        let header_bytes = (0x58 + name.0.len()).next_multiple_of(8);
        let mut out = Bytes::default();
        out.bytes(b"P\0E\0R\0F\0").u32(1).u32(1).u32(1);
        out.u32((header_bytes + objects.len()) as u32).u32(header_bytes as u32);
        out.u32(self.objects.len() as u32).u32(self.default_object);
        out.zeros(16).u32(0);
        // The system time is UTC: local + 480 minutes.
        out.i64(self.ticks).i64(self.frequency).i64(local(self.second + 480 * 60));
        out.u32(name.0.len() as u32).u32(0x58).bytes(&name.0);
        out.zeros(header_bytes - out.0.len());
        out.bytes(&objects);
        record(5, &out.0)
    }
}
