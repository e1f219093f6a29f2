//! Provenance of a run: code version, memory use, and load of the machine.

use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// File of a bundle's project with the commit of the program.
const BUNDLE: &str = "commit";

/// The commit of the checkout and whether it had changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Code {
    pub commit: String,
    pub dirty: bool,
}

impl Code {
    /// Reads the commit from git, or in the project of a bundle from its file; empty where there is no git or `root` is
    /// neither. The commits of a user's own project are not those of the code.
    ///
    /// Output of runs (`results/`, `reports/`, `runs/`) does not make a checkout dirty, and neither do added cards and
    /// experiments.
    pub fn of(root: &Path) -> Self {
        if !root.join("crates").is_dir() {
            return Self::of_bundle(root).unwrap_or_default();
        }
        let Some(commit) = git(root, &["rev-parse", "HEAD"]) else {
            return Self::default();
        };
        let changes = git(
            root,
            &[
                "status",
                "--porcelain",
                "--untracked-files=all",
                "--",
                ".",
                ":!results",
                ":!reports",
                ":!runs",
            ],
        );
        Self {
            commit: commit.trim().to_string(),
            dirty: changes.is_some_and(|changes| changes.lines().any(|line| !is_added(line))),
        }
    }

    /// Reads the commit that `setup/bundle` built the program of this project from, in the form of [`code`].
    fn of_bundle(root: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(root.join(BUNDLE)).ok()?;
        let (commit, dirty) = match text.trim().strip_suffix('+') {
            Some(commit) => (commit, true),
            None => (text.trim(), false),
        };
        let is_hash = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash.then(|| Self {
            commit: commit.to_string(),
            dirty,
        })
    }
}

/// True if a line of `git status --porcelain` is about an untracked card or experiment, whose content is part of the
/// runs themselves.
fn is_added(line: &str) -> bool {
    let path = line.strip_prefix("?? ").unwrap_or_default();
    ["datasets/", "encoders/", "experiments/"]
        .iter()
        .any(|folder| path.trim_start_matches('"').starts_with(folder))
}

/// The commit of the checkout at `root`, with `+` appended where it has changes; empty outside a checkout.
pub fn code(root: &Path) -> String {
    let code = Code::of(root);
    if code.dirty {
        format!("{}+", code.commit)
    } else {
        code.commit
    }
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(arguments)
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Peak resident memory of this process in bytes, reset for each run of a sweep that has the machine to itself; 0 where
/// /proc does not say.
pub fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = kilobytes.and_then(|rest| {
        rest.trim()
            .trim_end_matches("kB")
            .trim()
            .parse::<u64>()
            .ok()
    });
    kilobytes.unwrap_or(0) * 1024
}

/// Load average of the machine over the last minute: processes that ran or waited to run. `None` where /proc does not
/// say.
pub fn load_average() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Resets the peak memory, so that a run does not inherit that of the run before it: glibc keeps what that run freed, and
/// gives it back to the system here. Linux only; else nothing.
pub(crate) fn reset_peak_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it takes no pointer, and glibc locks what it trims.
    unsafe {
        libc::malloc_trim(0);
    }
    // "5" resets the peak resident set size (proc(5), clear_refs).
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Seconds since 1970, for the record only; durations never come from this clock.
pub(crate) fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map(|since| since.as_secs())
        .unwrap_or(0)
}

/// The time in RFC 3339 format, in UTC: `2026-01-31T12:00:00Z`.
pub fn timestamp() -> String {
    let seconds = i64::try_from(now()).unwrap_or_default();
    let time = chrono::DateTime::from_timestamp(seconds, 0).unwrap_or_default();
    time.to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_a_checkout_the_commit_is_empty() {
        let folder = tempfile::tempdir().expect("temporary folder");
        assert_eq!(Code::of(folder.path()), Code::default());
    }

    #[test]
    fn the_project_of_a_bundle_names_the_commit_of_its_program() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let hash = "0123456789abcdef0123456789abcdef01234567";
        let changed = format!("{hash}+");
        for (text, expected) in [(hash, hash), (&changed, &changed), ("main", ""), ("", "")] {
            std::fs::write(folder.path().join(BUNDLE), format!("{text}\n")).expect("write");
            assert_eq!(code(folder.path()), expected);
        }
    }

    #[test]
    fn results_and_own_cards_do_not_make_a_checkout_dirty_but_code_does() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let root = folder.path();
        if git(root, &["init", "--quiet"]).is_none() {
            return; // no git on this machine: then no commit is recorded either
        }
        std::fs::create_dir(root.join("crates")).expect("folder");
        std::fs::write(root.join("crates/code.rs"), "fn main() {}").expect("write");
        std::fs::create_dir(root.join("datasets")).expect("folder");
        std::fs::write(root.join("datasets/ours.toml"), "").expect("write");
        git(root, &["add", "."]).expect("add");
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
        git(
            root,
            &[&identity[..], &["commit", "--quiet", "-m", "begin"]].concat(),
        )
        .expect("commit");
        std::fs::create_dir(root.join("results")).expect("folder");
        std::fs::write(root.join("results/runs.parquet"), "x").expect("write");
        std::fs::write(root.join("datasets/my own.toml"), "name = 'my own'").expect("write");
        let clean = Code::of(root);
        assert_eq!((clean.commit.len(), clean.dirty), (40, false));
        for changed in ["datasets/ours.toml", "crates/code.rs"] {
            let before = std::fs::read(root.join(changed)).expect("read");
            std::fs::write(root.join(changed), "fn main() { }").expect("write");
            assert!(Code::of(root).dirty, "{changed}");
            std::fs::write(root.join(changed), before).expect("write");
        }
        std::fs::remove_dir_all(root.join("crates")).expect("removed");
        assert_eq!(Code::of(root), Code::default());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_load_average_is_known_on_linux() {
        assert!(load_average().is_some_and(|load| load >= 0.0));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn peak_memory_is_known_on_linux() {
        assert!(peak_memory() > 1 << 20);
    }
}
