//! `extends = "<name>"`: TOML files that hold only their differences from another one.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use crate::file::{explain, read_toml};

/// The key that names the other file: its path from this one's folder, without `.toml`.
const KEY: &str = "extends";
/// Files that extend files go no deeper than this.
const DEPTH: usize = 4;

/// Reads the TOML file at `path` as a `T`, laid over the file that its key `extends` names, if it has one.
///
/// Tables are merged key by key, but a table with a `kind` is a whole value; it replaces what was there, and so does
/// everything that is not a table.
///
/// # Errors
/// As [`read_toml`], and when the other file is missing or extends this one.
pub fn read_extended<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let table: Table = read_toml(path)?;
    if !table.contains_key(KEY) {
        // From the text, so that an error has its line.
        return read_toml(path);
    }
    let table = merged(path, table, &mut vec![path.to_path_buf()])?;
    let read = table.try_into::<T>();
    read.map_err(|error| anyhow!("{}: {}", path.display(), explain(error.message())))
}

/// The keys of the TOML file at `path` over those of the file that it extends.
///
/// # Errors
/// As [`read_extended`].
pub fn read_extended_table(path: &Path) -> Result<Table> {
    merged(path, read_toml(path)?, &mut vec![path.to_path_buf()])
}

/// The file that sets this top-level key: the one at `path`, or one that it extends.
///
/// # Errors
/// As [`read_extended`].
pub fn set_in(path: &Path, key: &str) -> Result<Option<PathBuf>> {
    let mut at = path.to_path_buf();
    for _ in 0..=DEPTH {
        let table: Table = read_toml(&at)?;
        if table.contains_key(key) {
            return Ok(Some(at));
        }
        let Some(name) = table.get(KEY).and_then(Value::as_str) else {
            break;
        };
        at = other(&at, name);
    }
    Ok(None)
}

/// The file that `path` means by `name`.
fn other(path: &Path, name: &str) -> PathBuf {
    let folder = path.parent().unwrap_or(Path::new(""));
    folder.join(format!("{name}.toml"))
}

fn merged(path: &Path, mut table: Table, seen: &mut Vec<PathBuf>) -> Result<Table> {
    let Some(name) = table.remove(KEY) else {
        return Ok(table);
    };
    let at = || format!("{}: {KEY}", path.display());
    let Value::String(name) = name else {
        bail!(
            "{}: found {name}, expected the name of a file without `.toml`",
            at()
        );
    };
    let other = other(path, &name);
    if !other.is_file() {
        bail!(
            "{}: found `{name}`, but there is no {}",
            at(),
            other.display()
        );
    }
    if seen.len() >= DEPTH || seen.contains(&other) {
        bail!(
            "{}: found `{name}`, expected a file that leads to no further files or circles",
            at()
        );
    }
    seen.push(other.clone());
    let mut under = merged(&other, read_toml(&other)?, seen)?;
    lay(&mut under, table);
    Ok(under)
}

fn lay(under: &mut Table, over: Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Value::Table(under)), Value::Table(over)) if !over.contains_key("kind") => {
                lay(under, over);
            }
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in files {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        dir
    }

    #[test]
    fn a_file_says_only_what_differs() {
        let dir = folder(&[
            (
                "base.toml",
                "a = 1\nlist = [1, 2]\n[t]\nx = 1\ny = 2\n[k]\nkind = 'one'\nz = 3\n",
            ),
            ("middle.toml", "extends = 'base'\na = 2\n"),
            (
                "deep/leaf.toml",
                "extends = '../middle'\nlist = [3]\nt.y = 5\n[k]\nkind = 'two'\n",
            ),
        ]);
        let table = read_extended_table(&dir.path().join("deep/leaf.toml")).expect("a table");
        let expected: Table =
            toml::from_str("a = 2\nlist = [3]\nt = { x = 1, y = 5 }\nk = { kind = 'two' }\n")
                .expect("TOML");
        assert_eq!(table, expected);
    }

    #[test]
    fn what_cannot_be_extended_is_named() {
        let dir = folder(&[
            ("a.toml", "extends = 'b'\n"),
            ("b.toml", "extends = 'a'\n"),
            ("c.toml", "extends = 'd'\n"),
            ("e.toml", "extends = 3\n"),
        ]);
        for (name, expected) in [
            (
                "a",
                "b.toml: extends: found `a`, expected a file that leads to no further files or circles",
            ),
            ("c", "c.toml: extends: found `d`, but there is no "),
            (
                "e",
                "e.toml: extends: found 3, expected the name of a file without `.toml`",
            ),
        ] {
            let path = dir.path().join(format!("{name}.toml"));
            let error = read_extended_table(&path).expect_err(name).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
