//! Tools that build totune, and the machine it runs on.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Finding;

/// rustc, just, a C++ compiler and git.
pub(super) fn tools(project: &Path) -> Vec<Finding> {
    vec![rustc(), just(project), compiler(), git()]
}

/// Threads, memory, disk.
pub(super) fn machine(project: &Path) -> Vec<Finding> {
    vec![threads(), memory(), disk(project)]
}

fn rustc() -> Finding {
    const NEEDED: &str = env!("CARGO_PKG_RUST_VERSION");
    let remedy = format!("install Rust {NEEDED} or newer, such as with `rustup update`");
    match first_line("rustc", &["--version"]) {
        None => Finding::lacking("rustc", "not found, so nothing can be built here", remedy),
        Some(line) => {
            let version = line.split(' ').nth(1).unwrap_or_default();
            if at_least(version, NEEDED) {
                Finding::well("rustc", format!("{version}; {NEEDED} or newer is needed"))
            } else {
                Finding::lacking(
                    "rustc",
                    format!("{version}; {NEEDED} or newer is needed"),
                    remedy,
                )
            }
        }
    }
}

fn just(project: &Path) -> Finding {
    let own = project.join(".tools/just");
    match first_line(&own.to_string_lossy(), &["--version"]) {
        Some(version) => Finding::well("just", format!("{version}, in .tools/")),
        None => match first_line("just", &["--version"]) {
            Some(version) => Finding::well("just", version),
            None => Finding::lacking("just", "not found", "./justw installs it into .tools/"),
        },
    }
}

fn compiler() -> Finding {
    let name = env::var("CXX").unwrap_or_else(|_| "c++".to_string());
    match first_line(&name, &["--version"]) {
        Some(version) => Finding::well("C++ compiler", version),
        None => Finding::lacking(
            "C++ compiler",
            format!("`{name}` not found, so LibTorch cannot be built in"),
            "install g++ or clang (Debian, Ubuntu: apt-get install g++)",
        ),
    }
}

fn git() -> Finding {
    match first_line("git", &["--version"]) {
        Some(version) => Finding::well("git", version),
        None => Finding::lacking(
            "git",
            "not found, so rows do not say which commit made them",
            "install git",
        ),
    }
}

fn threads() -> Finding {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let limit = |name: &str| {
        env::var(name)
            .ok()
            .map(|value| format!(", {name}={value}"))
            .unwrap_or_default()
    };
    Finding::well(
        "threads",
        format!(
            "{cores} available{}{}",
            limit("OMP_NUM_THREADS"),
            limit("RAYON_NUM_THREADS")
        ),
    )
}

fn memory() -> Finding {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    match (
        kilobytes(&text, "MemAvailable:"),
        kilobytes(&text, "MemTotal:"),
    ) {
        (Some(free), Some(total)) => Finding::well(
            "memory",
            format!("{} free of {}", gibibytes(free), gibibytes(total)),
        ),
        _ => Finding::well("memory", "this system does not say"),
    }
}

fn kilobytes(meminfo: &str, key: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// Space for `runs/`, `results/` and `target/`, as df has it.
fn disk(project: &Path) -> Finding {
    const ENOUGH: u64 = 1 << 20; // kilobytes: predictions of a paper's grid and room to merge them
    match free_kilobytes(project) {
        Some(free) if free >= ENOUGH => {
            Finding::well("disk", format!("{} free here", gibibytes(free)))
        }
        Some(free) => Finding::lacking(
            "disk",
            format!("{} free here", gibibytes(free)),
            "make room: 1 GiB for the results of a paper, 6 GiB to build",
        ),
        None => Finding::well("disk", "this system does not say"),
    }
}

fn free_kilobytes(folder: &Path) -> Option<u64> {
    let output = Command::new("df").arg("-Pk").arg(folder).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()
}

fn gibibytes(kilobytes: u64) -> String {
    format!("{:.1} GiB", kilobytes as f64 / (1 << 20) as f64)
}

/// The first line a program prints; none if it cannot be run or fails.
pub(super) fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines()
        .next()
        .filter(|_| output.status.success())
        .map(|line| line.trim().to_string())
}

/// Returns whether a dotted version is the needed one or newer; a suffix after the numbers is ignored.
fn at_least(version: &str, needed: &str) -> bool {
    let numbers = |text: &str| -> Vec<u64> {
        let plain = text.split(['-', '+']).next().unwrap_or_default();
        plain
            .split('.')
            .map_while(|part| part.parse().ok())
            .collect()
    };
    numbers(version) >= numbers(needed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        for (version, needed, expected) in [
            ("1.95.0", "1.95", true),
            ("1.100.0", "1.95", true),
            ("1.94.1", "1.95", false),
            ("2.0.0-nightly", "1.95", true),
            ("", "1.95", false),
        ] {
            assert_eq!(at_least(version, needed), expected, "{version}");
        }
    }

    #[test]
    fn memory_is_read_in_kilobytes() {
        let text = "MemTotal:       24000000 kB\nMemAvailable:   12000000 kB\n";
        assert_eq!(kilobytes(text, "MemAvailable:"), Some(12_000_000));
        assert_eq!(kilobytes(text, "SwapTotal:"), None);
        assert_eq!(gibibytes(1 << 21), "2.0 GiB");
    }

    #[test]
    fn a_program_that_is_not_there_has_no_first_line() {
        assert_eq!(first_line("no-such-program-here", &[]), None);
    }
}
