//! A writer of MMV files for tests, written from mmv(5) alone.

pub(crate) const I32: i32 = 0;
pub(crate) const U32: i32 = 1;
pub(crate) const I64: i32 = 2;
pub(crate) const U64: i32 = 3;
pub(crate) const FLOAT: i32 = 4;
pub(crate) const DOUBLE: i32 = 5;
pub(crate) const STRING: i32 = 6;
pub(crate) const ELAPSED: i32 = 9;

pub(crate) const COUNTER: i32 = 1;
pub(crate) const INSTANT: i32 = 3;
pub(crate) const DISCRETE: i32 = 4;

pub(crate) const FLAG_PROCESS: u32 = 2;
pub(crate) const FLAG_SENTINEL: u32 = 4;

/// The content of a file.
#[derive(Clone)]
pub(crate) struct File {
    pub(crate) version: i32,
    pub(crate) generations: [u64; 2],
    pub(crate) flags: u32,
    pub(crate) process: i32,
    pub(crate) indoms: Vec<Indom>,
    pub(crate) metrics: Vec<Metric>,
    pub(crate) labels: Vec<&'static str>,
}

#[derive(Clone)]
pub(crate) struct Indom {
    pub(crate) serial: u32,
    pub(crate) short: &'static str,
    pub(crate) long: &'static str,
    pub(crate) instances: Vec<(i32, String)>,
}

#[derive(Clone)]
pub(crate) struct Metric {
    pub(crate) name: String,
    pub(crate) item: u32,
    pub(crate) kind: i32,
    pub(crate) semantics: i32,
    pub(crate) units: u32,
    pub(crate) indom: u32,
    pub(crate) short: &'static str,
    pub(crate) long: &'static str,
    /// A value for each instance, and the second number of its record.
    pub(crate) values: Vec<(u64, i64)>,
}

/// The bytes of a file, with the offsets of its sections.
pub(crate) struct Image {
    pub(crate) bytes: Vec<u8>,
    pub(crate) indoms: usize,
    pub(crate) instances: usize,
    pub(crate) metrics: usize,
    pub(crate) values: usize,
    pub(crate) labels: usize,
}

/// A word of units: the powers of space, time and count, and their scales.
pub(crate) fn units(powers: [i32; 3], scales: [i32; 3]) -> u32 {
    let nibbles = powers.iter().chain(&scales);
    nibbles.fold(0, |word, nibble| word << 4 | (nibble & 0xF) as u32) << 8
}

pub(crate) const COUNT: u32 = 0x0010_0000;
pub(crate) const BYTES: u32 = 0x1000_0000;
pub(crate) const NANOSECONDS: u32 = 0x0100_0000;
pub(crate) const MICROSECONDS: u32 = 0x0100_1000;
pub(crate) const MILLISECONDS: u32 = 0x0100_2000;
pub(crate) const SECONDS: u32 = 0x0100_3000;

impl Metric {
    pub(crate) fn new(name: &str, item: u32, kind: i32, semantics: i32, units: u32) -> Self {
        let (short, long) = ("", "");
        let values = vec![(0, 0)];
        Self { name: name.to_owned(), item, kind, semantics, units, indom: 0, short, long, values }
    }

    pub(crate) fn value(mut self, bits: u64) -> Self {
        self.values = vec![(bits, 0)];
        self
    }

    pub(crate) fn in_domain(mut self, indom: u32, values: &[u64]) -> Self {
        self.indom = indom;
        self.values = values.iter().map(|&bits| (bits, 0)).collect();
        self
    }

    pub(crate) fn help(mut self, short: &'static str, long: &'static str) -> Self {
        (self.short, self.long) = (short, long);
        self
    }
}

impl File {
    pub(crate) fn new(version: i32) -> Self {
        Self {
            version,
            generations: [7, 7],
            flags: 0,
            process: 1,
            indoms: Vec::new(),
            metrics: Vec::new(),
            labels: Vec::new(),
        }
    }

    /// A shop: an instance domain with two instances, and values of several types.
    pub(crate) fn shop(version: i32) -> Self {
        let mut file = Self::new(version);
        let instances = vec![(0, "Anvils".to_owned()), (5, "Rockets".to_owned())];
        file.indoms.push(Indom { serial: 61, short: "Products", long: "What the shop\nsells", instances });
        file.metrics = vec![
            Metric::new("products.count", 7, U64, COUNTER, COUNT)
                .in_domain(61, &[10, 20])
                .help("Sold", "Since\nthe start."),
            Metric::new("products.time", 8, U64, COUNTER, MICROSECONDS)
                .in_domain(61, &[1_000, 2_000])
                .help("Time.", ""),
            Metric::new("open", 1, I32, DISCRETE, 0).value(1),
            Metric::new("stock", 2, U64, INSTANT, BYTES).value(4_096).help("", "Bytes in store"),
            Metric::new("load", 3, DOUBLE, INSTANT, 0).value(1.5_f64.to_bits()),
            Metric::new("motto", 4, STRING, DISCRETE, 0),
        ];
        if version == 3 {
            file.labels = vec![r#""branch":"north""#];
        }
        file
    }

    pub(crate) fn image(&self) -> Image {
        let is_version_1 = self.version == 1;
        let (instance_bytes, metric_bytes) = if is_version_1 { (80, 104) } else { (24, 48) };
        let count = |f: &dyn Fn(&Metric) -> usize| self.metrics.iter().map(f).sum::<usize>();
        let instance_count: usize = self.indoms.iter().map(|indom| indom.instances.len()).sum();
        let value_count = count(&|metric| metric.values.len());
        let counts = [self.indoms.len(), instance_count, self.metrics.len(), value_count];
        let sizes = [32, instance_bytes, metric_bytes, 32];
        let section_count = 5 + usize::from(!self.labels.is_empty());
        let mut offsets = [0; 5];
        offsets[0] = 40 + 16 * section_count;
        for kind in 0..4 {
            offsets[kind + 1] = offsets[kind] + counts[kind] * sizes[kind];
        }
        let [indoms, instances, metrics, values, strings] = offsets;
        let mut texts = Strings { start: strings, bytes: Vec::new() };
        texts.add("");

        let mut body = Vec::new();
        let mut first = instances;
        for indom in &self.indoms {
            put(&mut body, indom.serial.to_ne_bytes());
            put(&mut body, (indom.instances.len() as u32).to_ne_bytes());
            put(&mut body, (first as u64).to_ne_bytes());
            put(&mut body, texts.add(indom.short));
            put(&mut body, texts.add(indom.long));
            first += indom.instances.len() * instance_bytes;
        }
        for (index, indom) in self.indoms.iter().enumerate() {
            for (internal, name) in &indom.instances {
                put(&mut body, ((indoms + 32 * index) as u64).to_ne_bytes());
                put(&mut body, 0_u32.to_ne_bytes());
                put(&mut body, internal.to_ne_bytes());
                if is_version_1 {
                    put(&mut body, padded::<64>(name))
                } else {
                    put(&mut body, texts.add(name))
                }
            }
        }
        for metric in &self.metrics {
            if is_version_1 {
                put(&mut body, padded::<64>(&metric.name))
            } else {
                put(&mut body, texts.add(&metric.name))
            }
            for word in
                [metric.item, metric.kind as u32, metric.semantics as u32, metric.units, metric.indom, 0]
            {
                put(&mut body, word.to_ne_bytes());
            }
            put(&mut body, texts.add(metric.short));
            put(&mut body, texts.add(metric.long));
        }
        for (index, metric) in self.metrics.iter().enumerate() {
            for (row, (bits, extra)) in metric.values.iter().enumerate() {
                put(&mut body, bits.to_ne_bytes());
                put(
                    &mut body,
                    if metric.kind == STRING { (strings as i64).to_ne_bytes() } else { extra.to_ne_bytes() },
                );
                put(&mut body, ((metrics + metric_bytes * index) as u64).to_ne_bytes());
                let before = self.indoms.iter().take_while(|indom| indom.serial != metric.indom);
                let before: usize = before.map(|indom| indom.instances.len()).sum();
                let instance =
                    if metric.indom == 0 { 0 } else { instances + instance_bytes * (before + row) };
                put(&mut body, (instance as u64).to_ne_bytes());
            }
        }
        let labels = strings + texts.bytes.len();
        body.extend_from_slice(&texts.bytes);
        for label in &self.labels {
            put(&mut body, 4_u32.to_ne_bytes());
            put(&mut body, 2_u32.to_ne_bytes());
            put(&mut body, (-1_i32).to_ne_bytes());
            put(&mut body, padded::<244>(label));
        }

        let mut bytes = b"MMV\0".to_vec();
        put(&mut bytes, self.version.to_ne_bytes());
        put(&mut bytes, self.generations[0].to_ne_bytes());
        put(&mut bytes, self.generations[1].to_ne_bytes());
        put(&mut bytes, (section_count as i32).to_ne_bytes());
        put(&mut bytes, self.flags.to_ne_bytes());
        put(&mut bytes, self.process.to_ne_bytes());
        put(&mut bytes, 321_i32.to_ne_bytes());
        let string_count = texts.bytes.len() / 256;
        let counts = counts.into_iter().chain([string_count, self.labels.len()]);
        for (kind, (count, offset)) in
            counts.zip(offsets.into_iter().chain([labels])).enumerate().take(section_count)
        {
            put(&mut bytes, (kind as u32 + 1).to_ne_bytes());
            put(&mut bytes, (count as i32).to_ne_bytes());
            put(&mut bytes, (offset as u64).to_ne_bytes());
        }
        assert_eq!(bytes.len(), indoms);
        bytes.append(&mut body);
        Image { bytes, indoms, instances, metrics, values, labels }
    }
}

struct Strings {
    start: usize,
    bytes: Vec<u8>,
}

impl Strings {
    /// Adds a string, and returns its offset. The first string must be empty; for further empty strings, the offset is 0.
    fn add(&mut self, text: &str) -> [u8; 8] {
        if text.is_empty() && !self.bytes.is_empty() {
            return [0; 8];
        }
        let offset = self.start + self.bytes.len();
        self.bytes.extend_from_slice(&padded::<256>(text));
        (offset as u64).to_ne_bytes()
    }
}

fn padded<const N: usize>(text: &str) -> [u8; N] {
    assert!(text.len() < N, "{text}");
    let mut field = [0; N];
    field[..text.len()].copy_from_slice(text.as_bytes());
    field
}

fn put<const N: usize>(bytes: &mut Vec<u8>, part: [u8; N]) {
    bytes.extend_from_slice(&part);
}
