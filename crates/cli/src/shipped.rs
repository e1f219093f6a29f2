//! Files that come with the program: cards of datasets and encoders, presets, fixtures, and the encoder
//! `totune-bert-mini`.
//!
//! All of them are in the binary. Where a project lacks them, which is everywhere but in a checkout, they are written
//! to the user's cache folder once, and read there like the files of a project.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use totune_disk::{create_folder, write_atomically};

include!(concat!(env!("OUT_DIR"), "/shipped.rs"));

/// The folder with these files; `None` where all of them are below `root` already.
///
/// # Errors
/// When the folder cannot be written.
pub fn folder(root: &Path) -> Result<Option<PathBuf>> {
    if FILES.iter().all(|(name, _)| root.join(name).is_file()) {
        return Ok(None);
    }
    let folder = user_cache().join("totune").join(KEY);
    unpack(&folder).with_context(|| {
        format!(
            "{}: cannot be written; XDG_CACHE_HOME names another place for caches",
            folder.display()
        )
    })?;
    Ok(Some(folder))
}

/// The user's folder for caches.
fn user_cache() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let at_home = || Some(PathBuf::from(set("HOME")?).join(".cache"));
    set("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(at_home)
        .unwrap_or_else(std::env::temp_dir)
}

/// Writes the files that do not exist yet. Several processes may do so at once: a file appears whole or not at all.
fn unpack(folder: &Path) -> Result<()> {
    for (name, content) in FILES {
        let path = folder.join(name);
        if fs::metadata(&path).is_ok_and(|found| found.len() == content.len() as u64) {
            continue;
        }
        let parent = path.parent().context("a file lies in a folder")?;
        create_folder(parent)?;
        write_atomically(&path, content)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_written_once_and_mended_and_not_needed_beside_itself() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        unpack(folder.path()).expect("written");
        let card = path("datasets/sst-2.toml");
        let written = |path: &Path| {
            fs::metadata(path)
                .and_then(|data| data.modified())
                .expect("a time")
        };
        let (before, encoder) = (
            written(&card),
            path("encoders/totune-bert-mini/model.safetensors"),
        );
        fs::write(&encoder, "half").expect("written");
        unpack(folder.path()).expect("written");
        assert_eq!(written(&card), before);
        assert!(fs::metadata(&encoder).expect("a file").len() > 1 << 20);
        assert!(path("experiments/presets.toml").is_file());
        assert_eq!(super::folder(folder.path()).expect("looked"), None);
    }

    #[test]
    fn the_repository_has_all_of_it() {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        assert_eq!(folder(&repository).expect("looked"), None);
    }
}
