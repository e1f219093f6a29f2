//! Tools that build totune, and the machine it runs on.

use std::env;
use std::path::Path;
use std::process::Command;

use totune_disk::check_writable;

use crate::Finding;
use crate::memory::{self, size};

/// rustc, just, a C++ compiler and git.
pub(super) fn tools(project: &Path) -> Vec<Finding> {
    vec![rustc(), just(project), compiler(), git()]
}

/// Threads, memory, disk, and whether the project can be written.
pub(super) fn machine(project: &Path) -> Vec<Finding> {
    let memory = memory::finding();
    let disk = disk(free_kilobytes(project));
    vec![threads(), memory, disk, writing(project)]
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
    let name = env::var("CXX").unwrap_or_default();
    compiler_of(if name.trim().is_empty() { "c++" } else { &name })
}

/// The compiler of `CXX`: a program, or one with arguments, such as `ccache g++`.
fn compiler_of(name: &str) -> Finding {
    let with_arguments = || {
        let mut words = name.split_whitespace();
        let program = words.next()?;
        let arguments: Vec<&str> = words.chain(["--version"]).collect();
        first_line(program, &arguments)
    };
    match first_line(name, &["--version"]).or_else(with_arguments) {
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

/// Space for `runs/`, `results/` and `target/`, as df has it.
fn disk(free: Option<u64>) -> Finding {
    const ENOUGH: u64 = 1 << 20; // kilobytes: predictions of a paper's grid and room to merge them
    const LEAST: u64 = 100 << 10; // kilobytes: with less, even small runs may end while they write
    const REMEDY: &str = "make room: 1 GiB for the results of a paper, 6 GiB to build";
    let Some(free) = free else {
        return Finding::well("disk", "this system does not say");
    };
    let found = format!("{} free here", size(free));
    if free < LEAST {
        Finding::broken("disk", found, REMEDY)
    } else if free < ENOUGH {
        Finding::lacking("disk", found, REMEDY)
    } else {
        Finding::well("disk", found)
    }
}

/// Whether runs and what is collected of them can be kept.
fn writing(project: &Path) -> Finding {
    const FOLDERS: [&str; 2] = ["runs", "results"];
    let refused = FOLDERS.map(|folder| check_writable(&project.join(folder)).err());
    let refused: Vec<String> = refused
        .iter()
        .flatten()
        .map(|error| format!("{error:#}"))
        .collect();
    if refused.is_empty() {
        return Finding::well("writing", "runs/ and results/ can be written");
    }
    Finding::broken(
        "writing",
        refused.join("; "),
        "make it writable, or name another folder with --project: `totune init` makes one",
    )
}

fn free_kilobytes(folder: &Path) -> Option<u64> {
    let output = Command::new("df").arg("-Pk").arg(folder).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()
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
    use crate::State;

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
    fn a_disk_that_is_full_is_in_the_way() {
        for (free, state) in [
            (Some(2 << 20), State::Well),
            (Some(200 << 10), State::Lacking),
            (Some(99 << 10), State::Broken),
            (None, State::Well),
        ] {
            assert_eq!(disk(free).state, state, "{free:?}");
        }
    }

    #[test]
    fn a_project_that_cannot_be_written_is_in_the_way() {
        let folder = tempfile::tempdir().expect("a folder");
        let project = folder.path().join("new");
        assert_eq!(writing(&project).state, State::Well);
        assert!(!project.exists());
        std::fs::write(folder.path().join("results"), "").expect("written");
        let refused = writing(folder.path());
        assert_eq!(refused.state, State::Broken);
        assert!(
            refused.found.contains("results: is a file"),
            "{}",
            refused.found
        );
    }

    #[test]
    fn a_compiler_may_have_arguments() {
        let state = |name: &str| compiler_of(name).state;
        assert_eq!(state("env cargo"), State::Well);
        assert_eq!(state("cargo"), State::Well);
        assert_eq!(state("no-such-ccache g++"), State::Lacking);
    }

    #[test]
    fn a_program_that_is_not_there_has_no_first_line() {
        assert_eq!(first_line("no-such-program-here", &[]), None);
    }
}
