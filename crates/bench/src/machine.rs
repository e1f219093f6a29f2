//! The description of the machine on a page of results.

use std::fmt;
use std::fs;

use serde::{Deserialize, Serialize};

/// The processor and its memory, as Linux reports them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Model name, such as `AMD EPYC`.
    pub model: String,
    /// Family and model number, which distinguish processors of the same name.
    #[serde(default)]
    pub family: String,
    /// Cores that may be used.
    pub cores: usize,
    /// Memory in GiB.
    pub gib: u64,
    /// Operating system.
    pub system: String,
    /// Vector instructions of [`FLAGS`] that the processor has.
    #[serde(default)]
    pub flags: Vec<String>,
}

/// The instructions that decide how fast matrices are multiplied.
const FLAGS: [&str; 6] = [
    "avx2",
    "fma",
    "avx512f",
    "avx512_bf16",
    "amx_bf16",
    "amx_tile",
];

impl Machine {
    /// This machine.
    pub fn here() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self::of(&read("/proc/cpuinfo"), &read("/proc/meminfo"), cores)
    }

    fn of(cpu: &str, memory: &str, cores: usize) -> Self {
        let field = |text: &str, key: &str| {
            let mut fields = text.lines().filter_map(|line| line.split_once(':'));
            let found = fields.find(|(name, _)| name.trim() == key)?;
            Some(found.1.trim().to_string())
        };
        let number = |key: &str| field(cpu, key).unwrap_or_else(|| "unknown".to_string());
        let kib = field(memory, "MemTotal")
            .and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
        let has = field(cpu, "flags").unwrap_or_default();
        let has: Vec<&str> = has.split_whitespace().collect();
        Self {
            model: field(cpu, "model name").unwrap_or_else(|| "unknown CPU".to_string()),
            family: format!("family {}, model {}", number("cpu family"), number("model")),
            cores,
            gib: (kib.unwrap_or(0.0) / f64::from(1 << 20)).round() as u64,
            system: std::env::consts::OS.to_string(),
            flags: FLAGS
                .into_iter()
                .filter(|flag| has.contains(flag))
                .map(str::to_string)
                .collect(),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.model)?;
        if !self.family.is_empty() {
            write!(f, " ({})", self.family)?;
        }
        write!(
            f,
            ", {} cores, {} GiB, {}",
            self.cores, self.gib, self.system
        )?;
        if !self.flags.is_empty() {
            write!(f, "; {}", self.flags.join(" "))?;
        }
        Ok(())
    }
}

/// Processes that ran or waited for a core in the last minute, on average, where the system says so.
pub fn load() -> Option<f64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_named_by_model_family_and_instructions() {
        let cpu = "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n\
                   flags\t\t: fpu avx2 fma avx512_bf16\n\nprocessor\t: 1\nmodel name\t: other\n";
        let machine = Machine::of(cpu, "MemTotal:       25165824 kB\n", 2);
        let system = std::env::consts::OS;
        assert_eq!(
            machine.to_string(),
            format!(
                "AMD EPYC (family 25, model 17), 2 cores, 24 GiB, {system}; avx2 fma avx512_bf16"
            )
        );
        assert_eq!(Machine::of("", "", 1).model, "unknown CPU");
    }
}
