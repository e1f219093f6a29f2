//! Names that nothing else has.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};

/// A name of letters, digits and dashes that no other call returns, in this process or in another one that shares the
/// file system: pids recur, on other machines and in every container.
pub fn unique_name() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    static PROCESS: LazyLock<u64> = LazyLock::new(|| {
        let mut hasher = RandomState::new().build_hasher();
        // The keys of RandomState come from the system's randomness; the rest is for systems that have none.
        hasher.write_u32(process::id());
        hasher.finish()
    });
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    format!("{:016x}-{number}", *PROCESS)
}

/// A hidden path in the folder of `path` for what will become `path`.
pub(crate) fn temporary(path: &Path) -> Result<PathBuf> {
    let name = path
        .file_name()
        .with_context(|| format!("{}: expected a path that ends in a name", path.display()))?
        .to_string_lossy();
    Ok(path.with_file_name(format!(".{name}.{}.tmp", unique_name())))
}

/// A name or a path as one word of a shell's command line.
pub fn quoted_for_shell(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_=./:,%+@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
