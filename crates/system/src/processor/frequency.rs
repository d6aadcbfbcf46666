//! `/sys/devices/system/cpu/cpu*/cpufreq`: the current, allowed and highest frequency of a processor.

use crate::error_texts::error_text;
use crate::number_file::SmallFile;
use crate::roots::Roots;
use crate::scan::{lines, parse_number, words};

/// The frequencies of a processor that the kernel exports.
#[derive(Debug)]
pub(super) struct Frequency {
    /// The current frequency.
    current: Option<SmallFile>,
    /// The highest frequency that is allowed.
    limit: Option<SmallFile>,
    /// The time spent at each frequency.
    times: Option<SmallFile>,
    /// The highest frequency of the processor, in kHz.
    highest_khz: Option<u64>,
    /// The frequency that counts as 100 % performance, in kHz.
    nominal_khz: Option<u64>,
}

/// The time that a processor has spent at all its frequencies, and the same time weighted by performance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Performance {
    /// The time in kernel ticks, multiplied by the performance in percent.
    pub(super) weighted: u64,
    /// The time in kernel ticks.
    pub(super) time: u64,
}

impl Frequency {
    /// The files of a processor.
    pub(super) fn new(roots: &Roots, processor: u32) -> Self {
        let folder = roots.sys.join(format!("devices/system/cpu/cpu{processor}"));
        let file = |name: &str| SmallFile::new(folder.join(name));
        let read = |name: &str| file(name).read_number().ok().filter(|&khz| khz > 0);
        let probed = |name: &str| folder.join(name).exists().then(|| file(name));
        let highest_khz = read("cpufreq/cpuinfo_max_freq");
        let cppc_khz = || read("acpi_cppc/nominal_freq").map(|mhz| mhz.saturating_mul(1000));
        let nominal_khz = read("cpufreq/base_frequency").or_else(cppc_khz).or(highest_khz);
        Self {
            current: probed("cpufreq/scaling_cur_freq"),
            limit: probed("cpufreq/scaling_max_freq"),
            times: probed("cpufreq/stats/time_in_state"),
            highest_khz,
            nominal_khz,
        }
    }

    /// Closes all files until the next read.
    pub(super) fn close(&mut self) {
        [&mut self.current, &mut self.limit, &mut self.times]
            .into_iter()
            .flatten()
            .for_each(SmallFile::close);
    }

    pub(super) fn has_current(&self) -> bool {
        self.current.is_some()
    }

    pub(super) fn has_highest(&self) -> bool {
        self.has_current() && self.highest_khz.is_some()
    }

    pub(super) fn has_limit(&self) -> bool {
        self.limit.is_some() && self.highest_khz.is_some()
    }

    pub(super) fn has_performance(&self) -> bool {
        self.times.is_some() && self.nominal_khz.is_some()
    }

    /// The current frequency, in kHz.
    pub(super) fn current_khz(&mut self) -> Result<u64, String> {
        self.current.as_mut().ok_or_else(absent_error)?.read_number()
    }

    /// A frequency as a percentage of the highest.
    pub(super) fn percent(&self, khz: u64) -> Result<u64, String> {
        let highest = self.highest_khz.ok_or_else(absent_error)?;
        Ok((u128::from(khz) * 100 / u128::from(highest)).try_into().unwrap_or(u64::MAX))
    }

    /// The highest frequency that is currently allowed, in kHz.
    pub(super) fn limit_khz(&mut self) -> Result<u64, String> {
        self.limit.as_mut().ok_or_else(absent_error)?.read_number()
    }

    /// The performance since the kernel began to count.
    pub(super) fn performance(&mut self) -> Result<Performance, String> {
        let (Some(file), Some(nominal)) = (&mut self.times, self.nominal_khz) else {
            return Err(absent_error());
        };
        // The file has one line of about 20 bytes per frequency, and at most one page.
        let mut buffer = [0; 4096];
        let text = file.read(&mut buffer).map_err(|error| error_text(file.path().display(), &error))?;
        sum(text, nominal).ok_or_else(|| format!("{}: no frequencies with times", file.path().display()))
    }
}

fn sum(text: &[u8], nominal_khz: u64) -> Option<Performance> {
    if text.last() != Some(&b'\n') {
        return None;
    }
    let (mut weighted, mut time) = (0_u128, 0_u64);
    for line in lines(text) {
        let mut numbers = words(line).map(parse_number);
        let (khz, ticks) = (numbers.next()??, numbers.next()??);
        weighted = weighted.saturating_add(u128::from(khz) * u128::from(ticks));
        time = time.saturating_add(ticks);
    }
    let weighted = (weighted.saturating_mul(100) / u128::from(nominal_khz)).try_into().unwrap_or(u64::MAX);
    Some(Performance { weighted, time })
}

fn absent_error() -> String {
    "the kernel does not export the frequency of this processor".into()
}

#[cfg(test)]
mod tests {
    use super::{Performance, sum};

    #[test]
    fn performance_is_weighted_time() {
        // 10 s at half, 20 s at nominal, 30 s at 1.5 times the nominal frequency: 70 s of nominal work in 60 s.
        let text = b"3000000 3000\n2000000 2000\n1000000 1000\n";
        assert_eq!(sum(text, 2_000_000), Some(Performance { weighted: 700_000, time: 6000 }));
        assert_eq!(sum(b"1000000 5\n2000000", 2_000_000), None);
        assert_eq!(sum(b"1000000\n", 2_000_000), None);
        assert_eq!(sum(b"", 2_000_000), None);
        let absurd = b"18446744073709551615 18446744073709551615\n";
        assert_eq!(sum(absurd, 1), Some(Performance { weighted: u64::MAX, time: u64::MAX }));
    }
}
