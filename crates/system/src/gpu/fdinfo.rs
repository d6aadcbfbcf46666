//! Parses the fdinfo file of a graphics client.

use crate::scan::{lines, parse_number, words};

/// The maximum number of engines, and of memory regions, of a client.
const MAX_PARTS: usize = 32;

/// A client: an open file of a graphics driver. Several processes can have descriptors of it.
#[derive(Clone, Debug)]
pub(super) struct Client<'a> {
    /// The PCI address of the card.
    pub(super) pci: &'a [u8],
    /// The driver's id of the client.
    pub(super) id: u64,
    engines: [Engine<'a>; MAX_PARTS],
    engine_count: usize,
    regions: [Region<'a>; MAX_PARTS],
    region_count: usize,
}

/// An engine that works for a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Engine<'a> {
    pub(super) name: &'a [u8],
    pub(super) busy: Busy,
}

/// The work of an engine for a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Busy {
    /// A running total in nanoseconds.
    Time(u64),
    /// Running totals in cycles: those in which the engine worked for the client, and all cycles.
    Cycles { used: u64, total: u64 },
}

/// The memory of a client in a region, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Region<'a> {
    pub(super) name: &'a [u8],
    pub(super) total: Option<u64>,
    pub(super) resident: Option<u64>,
}

impl Region<'_> {
    /// Whether the region is memory of the card itself.
    pub(super) fn is_dedicated(&self) -> bool {
        self.name.starts_with(b"vram") || self.name.starts_with(b"local")
    }
}

impl<'a> Client<'a> {
    /// Parses a file; `None` if it is not that of a client.
    pub(super) fn parse(text: &'a [u8]) -> Option<Self> {
        let mut client = Self {
            pci: b"",
            id: 0,
            engines: [Engine { name: b"", busy: Busy::Cycles { used: 0, total: 0 } }; MAX_PARTS],
            engine_count: 0,
            regions: [Region::default(); MAX_PARTS],
            region_count: 0,
        };
        let mut id = None;
        for line in lines(text) {
            let Some(line) = line.strip_prefix(b"drm-") else { continue };
            let Some(colon) = line.iter().position(|&byte| byte == b':') else { continue };
            let (key, value) = (&line[..colon], line[colon + 1..].trim_ascii());
            match key {
                b"pdev" => client.pci = value,
                b"client-id" => id = parse_number(value),
                _ => client.add_field(key, value),
            }
        }
        client.id = id?;
        Some(client)
    }

    /// The engines, except those whose total cycles are unknown.
    pub(super) fn engines(&self) -> impl Iterator<Item = &Engine<'a>> {
        let engines = self.engines.iter().take(self.engine_count);
        engines.filter(|engine| !matches!(engine.busy, Busy::Cycles { total: 0, .. }))
    }

    pub(super) fn regions(&self) -> &[Region<'a>] {
        &self.regions[..self.region_count]
    }

    fn add_field(&mut self, key: &'a [u8], value: &[u8]) {
        let mut value = words(value);
        let Some(amount) = value.next().and_then(parse_number) else { return };
        let unit = value.next().unwrap_or_default();
        if let Some(name) = key.strip_prefix(b"engine-") {
            if !name.starts_with(b"capacity-") && unit == b"ns" {
                self.set_engine(name, |busy| *busy = Busy::Time(amount));
            }
        } else if let Some(name) = key.strip_prefix(b"total-cycles-") {
            self.set_engine(name, |busy| {
                if let Busy::Cycles { total, .. } = busy {
                    *total = amount;
                }
            });
        } else if let Some(name) = key.strip_prefix(b"cycles-") {
            self.set_engine(name, |busy| {
                if let Busy::Cycles { used, .. } = busy {
                    *used = amount;
                }
            });
        } else {
            let factor = match unit {
                b"" => 1,
                b"KiB" => 1 << 10,
                b"MiB" => 1 << 20,
                _ => return,
            };
            let Some(bytes) = amount.checked_mul(factor) else { return };
            if let Some(name) = key.strip_prefix(b"resident-") {
                self.set_region(name, |region| region.resident = Some(bytes));
            } else if let Some(name) = key.strip_prefix(b"total-") {
                self.set_region(name, |region| region.total = Some(bytes));
            } else if let Some(name) = key.strip_prefix(b"memory-") {
                // Written by older kernels, and by amdgpu, which also writes the newer lines.
                self.set_region(name, |region| region.resident = region.resident.or(Some(bytes)));
            }
        }
    }

    fn set_engine(&mut self, name: &'a [u8], set: impl FnOnce(&mut Busy)) {
        let known = self.engines[..self.engine_count].iter().position(|engine| engine.name == name);
        let index = known.unwrap_or(self.engine_count);
        let Some(engine) = self.engines.get_mut(index) else { return };
        engine.name = name;
        set(&mut engine.busy);
        self.engine_count = self.engine_count.max(index + 1);
    }

    fn set_region(&mut self, name: &'a [u8], set: impl FnOnce(&mut Region<'a>)) {
        let known = self.regions[..self.region_count].iter().position(|region| region.name == name);
        let index = known.unwrap_or(self.region_count);
        let Some(region) = self.regions.get_mut(index) else { return };
        region.name = name;
        set(region);
        self.region_count = self.region_count.max(index + 1);
    }
}

/// Windows' name for the type of an engine.
pub(super) fn windows_type(engine: &[u8]) -> &'static str {
    match engine {
        b"render" | b"rcs" | b"gfx" => "3D",
        b"copy" | b"bcs" | b"dma" => "Copy",
        b"compute" | b"ccs" => "Compute_0",
        b"video" | b"vcs" | b"dec" | b"vcn" | b"uvd" => "VideoDecode",
        b"enc" | b"enc_1" | b"vce" | b"uvd_enc" => "VideoEncode",
        b"video-enhance" | b"vecs" | b"vpe" => "VideoProcessing",
        b"jpeg" => "VideoCodec",
        _ => "Other",
    }
}
