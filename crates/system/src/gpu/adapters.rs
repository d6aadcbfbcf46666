//! The graphics cards of `/sys/class/drm`.

use std::path::PathBuf;

use crate::open_file::OpenFile;
use crate::roots::Roots;
use crate::scan::{lines, parse_hexadecimal, parse_number};

/// The maximum number of adapters.
pub(super) const MAX_ADAPTERS: usize = 64;

/// The drivers that write the engine times and memory of a client to its fdinfo file.
const DRIVERS_WITH_CLIENTS: [&str; 3] = ["amdgpu", "i915", "xe"];

/// A graphics card.
#[derive(Clone, Debug)]
pub(super) struct Adapter {
    /// The displayed name: `card0 amdgpu 0000:03:00.0`.
    pub(super) label: String,
    driver: String,
    /// The PCI address, as in fdinfo files; empty if the card is not on a PCI bus.
    pub(super) pci: String,
    /// The name in the form that Windows uses, which contains a locally unique identifier (LUID).
    pub(super) luid: String,
    /// The folder of the device in sysfs.
    pub(super) device: PathBuf,
    /// Whether the library of NVIDIA's driver reports about the card.
    pub(super) is_in_nvml: bool,
}

impl Adapter {
    /// Whether the driver reports how much each process uses the card.
    pub(super) fn has_clients(&self) -> bool {
        self.is_in_nvml || DRIVERS_WITH_CLIENTS.contains(&self.driver.as_str())
    }
}

/// Marks NVIDIA's cards, which have these addresses, and adds those that are not in `/sys/class/drm` because the module
/// nvidia-drm is not loaded.
pub(super) fn add_nvidia(adapters: &mut Vec<Adapter>, addresses: Vec<String>) {
    for pci in addresses {
        // An address that is empty or not on a PCI bus identifies no card.
        let Some(luid) = luid(&pci) else { continue };
        if let Some(known) = adapters.iter_mut().find(|adapter| adapter.pci == pci) {
            known.is_in_nvml = true;
        } else if adapters.len() < MAX_ADAPTERS {
            adapters.push(Adapter {
                label: format!("nvidia {pci}"),
                luid: luid_name(luid),
                driver: "nvidia".to_owned(),
                pci,
                device: PathBuf::new(),
                is_in_nvml: true,
            });
        }
    }
}

fn luid_name((high, low): (u32, u32)) -> String {
    format!("luid_0x{high:08X}_0x{low:08X}_phys_0")
}

/// The adapters, sorted by the number of the card.
pub(super) fn list(roots: &Roots) -> Vec<Adapter> {
    let folder = roots.sys.join("class/drm");
    let Ok(entries) = std::fs::read_dir(&folder) else { return Vec::new() };
    let mut cards: Vec<u64> = entries
        .take(4096)
        .filter_map(|entry| {
            let name = entry.ok()?.file_name();
            // `card0-HDMI-A-1` is a connector.
            parse_number(name.to_str()?.strip_prefix("card")?.as_bytes())
        })
        .collect();
    cards.sort_unstable();
    cards.truncate(MAX_ADAPTERS);
    let adapter = |card: u64| {
        let device = folder.join(format!("card{card}/device"));
        let mut uevent = OpenFile::new(device.join("uevent"));
        let text = uevent.read().ok()?;
        let field = |label: &[u8]| {
            let value = lines(text).find_map(|line| line.strip_prefix(label))?;
            Some(String::from_utf8_lossy(value).trim().to_owned())
        };
        let driver = field(b"DRIVER=")?;
        // A device that is not on a PCI bus has no address; its LUID contains the number of the card instead.
        let pci = field(b"PCI_SLOT_NAME=").unwrap_or_default();
        let luid = luid(&pci).unwrap_or((u32::MAX, card as u32));
        Some(Adapter {
            label: format!("card{card} {driver} {pci}").trim_end().to_owned(),
            luid: luid_name(luid),
            driver,
            pci,
            device,
            is_in_nvml: false,
        })
    };
    cards.into_iter().filter_map(adapter).collect()
}

/// The two halves of the LUID that represents a PCI address such as `0000:03:00.0`. The high half is the domain; the low
/// half is bus, device and function.
fn luid(pci: &str) -> Option<(u32, u32)> {
    let mut parts = pci.split([':', '.']).map(|part| parse_hexadecimal(part.as_bytes()));
    let [domain, bus, device, function] = std::array::from_fn(|_| parts.next().flatten());
    let low = bus? << 8 | device? << 3 | function?;
    Some((domain?.try_into().ok()?, low.try_into().ok()?))
}
