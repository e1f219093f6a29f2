//! The runs that a profile asks for and that its tables do not have yet: `missing.jsonl`, a spec a line.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use totune_disk::write_atomically;

/// Writes the specs, each as JSON on one line, next to the tables of a folder; removes the file where there are none.
///
/// # Errors
/// When the file cannot be written or removed.
pub fn write_missing(dir: &Path, specs: &[String]) -> Result<()> {
    let path = file(dir);
    if specs.is_empty() {
        return match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| format!("{}: cannot be removed", path.display()))
            }
            _ => Ok(()),
        };
    }
    let lines = specs.iter().map(|spec| format!("{spec}\n"));
    write_atomically(&path, lines.collect::<String>().as_bytes())
}

/// Reads the specs, each as JSON; none where the tables are complete.
///
/// # Errors
/// When the file cannot be read.
pub fn read_missing(dir: &Path) -> Result<Vec<String>> {
    let path = file(dir);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).with_context(|| format!("{}: could not be read", path.display())),
    }
}

fn file(dir: &Path) -> PathBuf {
    dir.join("missing.jsonl")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_come_back_and_a_complete_collection_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        assert!(read_missing(dir).unwrap().is_empty());
        let specs = [r#"{"arm":"a"}"#, r#"{"arm":"b"}"#].map(str::to_owned);
        write_missing(dir, &specs).unwrap();
        assert_eq!(read_missing(dir).unwrap(), specs);
        for _ in 0..2 {
            write_missing(dir, &[]).unwrap();
            assert_eq!(fs::read_dir(dir).unwrap().count(), 0);
        }
    }
}
