//! Memory: that of the machine, or less where a control group is the limit, as in containers and jobs of a cluster.

use std::fs;
use std::path::Path;

use crate::Finding;

/// Memory in kilobytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Memory {
    free: u64,
    total: u64,
}

/// Free memory and all of it.
pub(super) fn finding() -> Finding {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let machine = of_machine(&read("/proc/meminfo"));
    let group = of_groups(Path::new("/sys/fs/cgroup"), &read("/proc/self/cgroup"));
    let Some(machine) = machine else {
        return Finding::well("memory", "this system does not say");
    };
    let found = |memory: Memory| format!("{} free of {}", size(memory.free), size(memory.total));
    Finding::well(
        "memory",
        match group.filter(|group| group.total < machine.total) {
            None => found(machine),
            Some(group) => {
                let free = group.free.min(machine.free);
                let limit = found(Memory { free, ..group });
                format!("{limit}, the limit of this control group")
            }
        },
    )
}

fn of_machine(meminfo: &str) -> Option<Memory> {
    Some(Memory {
        free: value(meminfo, "MemAvailable:")?,
        total: value(meminfo, "MemTotal:")?,
    })
}

/// The narrowest of the groups, of version 2, that this process is in; `own` is its `/proc/self/cgroup`.
fn of_groups(root: &Path, own: &str) -> Option<Memory> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"));
    let group = root.join(path.unwrap_or_default());
    let groups = group
        .ancestors()
        .take_while(|group| group.starts_with(root));
    let limits: Vec<Memory> = groups.filter_map(of_group).collect();
    Some(Memory {
        free: limits.iter().map(|limit| limit.free).min()?,
        total: limits.iter().map(|limit| limit.total).min()?,
    })
}

/// The limit of one group; its files are in bytes. None where it is `max`.
fn of_group(group: &Path) -> Option<Memory> {
    let read = |file: &str| fs::read_to_string(group.join(file)).ok();
    let bytes = |file: &str| -> Option<u64> { read(file)?.trim().parse().ok() };
    let total = bytes("memory.max")?;
    // What files fill is given back as soon as someone needs it.
    let files = read("memory.stat").and_then(|stat| value(&stat, "inactive_file "));
    let used = bytes("memory.current").unwrap_or(0);
    let used = used.saturating_sub(files.unwrap_or(0));
    Some(Memory {
        free: total.saturating_sub(used) >> 10,
        total: total >> 10,
    })
}

/// The number after `key`, at the start of a line.
fn value(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// A number of kilobytes for people.
pub(super) fn size(kilobytes: u64) -> String {
    if kilobytes < 1 << 20 {
        return format!("{} MiB", kilobytes >> 10);
    }
    format!("{:.1} GiB", kilobytes as f64 / (1 << 20) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_kilobytes() {
        let text = "MemTotal:       24000000 kB\nMemAvailable:   12000000 kB\n";
        let expected = Memory {
            free: 12_000_000,
            total: 24_000_000,
        };
        assert_eq!(of_machine(text), Some(expected));
        assert_eq!(of_machine("MemTotal: 1 kB\n"), None);
        assert_eq!(size(1 << 21), "2.0 GiB");
        assert_eq!(size(99 << 10), "99 MiB");
    }

    #[test]
    fn the_narrowest_group_is_the_limit() {
        let root = tempfile::tempdir().expect("a folder");
        let group = root.path().join("job/step");
        fs::create_dir_all(&group).expect("a folder");
        let write = |file: &str, text: &str| fs::write(root.path().join(file), text);
        let own = "4:devices:/other\n0::/job/step\n";
        assert_eq!(of_groups(root.path(), own), None);
        for (file, text) in [
            ("job/step/memory.max", "max\n"),
            ("job/memory.max", "2147483648\n"),
            ("job/memory.current", "1073741824\n"),
            ("job/memory.stat", "anon 5\ninactive_file 536870912\n"),
            ("memory.max", "4294967296\n"),
        ] {
            write(file, text).expect("written");
        }
        let mib = |n: u64| n << 10;
        let (free, total) = (mib(1536), mib(2048));
        assert_eq!(of_groups(root.path(), own), Some(Memory { free, total }));
        // In a container the root is its own group.
        let (free, total) = (mib(4096), mib(4096));
        assert_eq!(
            of_groups(root.path(), "0::/\n"),
            Some(Memory { free, total })
        );
    }
}
