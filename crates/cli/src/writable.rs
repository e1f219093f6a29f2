//! A look at a place for results before the work whose results they are.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use totune_record::unique_name;

/// Checks that files can be made in the folder `path`, which may not exist yet.
///
/// # Errors
/// When it cannot be made or written.
pub fn check_writable(path: &Path) -> Result<()> {
    let nearest = path.ancestors().find(|folder| folder.exists());
    let nearest = nearest.unwrap_or(Path::new("."));
    ensure!(
        nearest.is_dir(),
        "{}: is a file, expected a folder",
        nearest.display()
    );
    let probe = nearest.join(format!(".{}.tmp", unique_name()));
    let tried = fs::create_dir(&probe).and_then(|()| fs::remove_dir(&probe));
    tried.with_context(|| format!("{}: cannot be written", path.display()))
}

/// Checks that `path` can become the folder of a saved model: new or empty, in a place that takes files.
///
/// # Errors
/// When something is there, or the folder cannot be made.
pub fn check_save(path: &Path) -> Result<()> {
    totune_keep::check_free(path)?;
    check_writable(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_below_a_file_is_refused_and_a_new_one_leaves_no_trace() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("data.csv");
        fs::write(&file, "text,label\n").expect("written");
        let refused = check_writable(&file.join("model")).expect_err("below a file");
        assert!(
            refused
                .to_string()
                .ends_with("data.csv: is a file, expected a folder"),
            "{refused}"
        );
        check_writable(&folder.path().join("new/model")).expect("a place");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_folder_that_takes_no_files_is_refused() {
        let refused = check_writable(Path::new("/proc/model")).expect_err("no files in /proc");
        assert_eq!(refused.to_string(), "/proc/model: cannot be written");
    }
}
