//! The description of the machine on a page of results.

use std::fmt;
use std::fs;
use std::path::Path;

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
    /// Sizes of the caches that a core has or shares, such as `L2 512 KiB`, where Linux reports them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<String>,
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
        Self {
            caches: caches(Path::new("/sys/devices/system/cpu/cpu0/cache")),
            ..Self::of(&read("/proc/cpuinfo"), &read("/proc/meminfo"), cores)
        }
    }

    /// Returns true if both may be the same machine: a description from before caches were recorded has none.
    pub fn is_same(&self, other: &Self) -> bool {
        let without = |machine: &Self| Self {
            caches: Vec::new(),
            ..machine.clone()
        };
        let known = !self.caches.is_empty() && !other.caches.is_empty();
        without(self) == without(other) && (!known || self.caches == other.caches)
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
            caches: Vec::new(),
        }
    }
}

/// The caches for data in the folder of a core in sysfs, from the smallest.
fn caches(folder: &Path) -> Vec<String> {
    let cache = |index: usize| {
        let folder = folder.join(format!("index{index}"));
        let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
        let (level, kind, size) = (read("level")?, read("type")?, read("size")?);
        let kind = match kind.trim() {
            "Data" => "d",
            "Unified" => "",
            _ => return None,
        };
        let kib: u64 = size.trim().strip_suffix('K')?.parse().ok()?;
        let size = if kib.is_multiple_of(1024) {
            format!("{} MiB", kib / 1024)
        } else {
            format!("{kib} KiB")
        };
        Some(format!("L{}{kind} {size}", level.trim()))
    };
    (0..8).filter_map(cache).collect() // Linux counts them from 0, three or four
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
        if !self.caches.is_empty() {
            write!(f, "; {}", self.caches.join(", "))?;
        }
        Ok(())
    }
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

    #[test]
    fn caches_for_data_are_named_with_their_sizes() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(caches(folder.path()), [""; 0]);
        for (index, [level, kind, size]) in [
            ["1", "Data", "48K"],
            ["1", "Instruction", "32K"],
            ["2", "Unified", "2048K"],
        ]
        .into_iter()
        .enumerate()
        {
            let cache = folder.path().join(format!("index{index}"));
            fs::create_dir(&cache).expect("made");
            for (name, text) in [("level", level), ("type", kind), ("size", size)] {
                fs::write(cache.join(name), format!("{text}\n")).expect("written");
            }
        }
        let machine = Machine {
            model: "AMD EPYC".to_string(),
            caches: caches(folder.path()),
            ..Machine::default()
        };
        assert_eq!(
            machine.to_string(),
            "AMD EPYC, 0 cores, 0 GiB, ; L1d 48 KiB, L2 2 MiB"
        );
    }

    #[test]
    fn a_description_without_caches_may_be_of_the_same_machine() {
        let with = |caches: &[&str]| Machine {
            caches: caches.iter().map(ToString::to_string).collect(),
            ..Machine::default()
        };
        let before = serde_json::to_string(&with(&[])).expect("plain data");
        assert!(!before.contains("caches"), "{before}");
        let before: Machine = serde_json::from_str(&before).expect("reads");
        assert!(before.is_same(&with(&["L2 2 MiB"])));
        assert!(!with(&["L2 1 MiB"]).is_same(&with(&["L2 2 MiB"])));
        let other = Machine {
            cores: 2,
            ..Machine::default()
        };
        assert!(!before.is_same(&other));
    }
}
