//! The LibTorch this program runs on: its release and its folder.

use std::path::{Path, PathBuf};

use crate::Finding;

/// The LibTorch that is linked.
#[cfg(feature = "tch")]
pub(super) fn findings(project: &Path) -> Vec<Finding> {
    let Some(folder) = loaded() else {
        return vec![Finding::well(
            "LibTorch",
            "linked; this system does not say from where",
        )];
    };
    let version = version(&folder).unwrap_or_else(|| "of an unknown version".to_string());
    let place = folder
        .strip_prefix(project.canonicalize().unwrap_or_default())
        .unwrap_or(&folder)
        .display();
    let threads = tch::get_num_threads();
    let found = format!("{version}, from {place}, {threads} threads by default");
    let products = Finding::well("products", totune_model::fused::products().to_string());
    let library = if version.starts_with(WANTED) {
        Finding::well("LibTorch", found)
    } else {
        let remedy = format!(
            "totune is tested with {WANTED}; unset LIBTORCH, remove .tools/libtorch and run ./justw setup"
        );
        Finding::lacking("LibTorch", found, remedy)
    };
    vec![library, products]
}

/// The finding that no LibTorch is linked.
#[cfg(not(feature = "tch"))]
pub(super) fn findings(_project: &Path) -> Vec<Finding> {
    vec![Finding::lacking(
        "LibTorch",
        "not built in; the flex device runs everything, more slowly",
        "build with `./justw setup` on Linux on x86-64, or see docs/setup.md",
    )]
}

/// The release that the set-up installs.
#[cfg(feature = "tch")]
const WANTED: &str = "2.11.0";

/// The folder of the LibTorch in this process, the one with `lib/` in it.
#[cfg(feature = "tch")]
fn loaded() -> Option<PathBuf> {
    Some(libraries()?.parent()?.to_path_buf())
}

/// The release of the LibTorch in this process, such as `2.11.0`; the one that the set-up installs where it is not known.
#[cfg(feature = "tch")]
pub fn release() -> String {
    let found = loaded().and_then(|folder| version(&folder));
    let found = found.unwrap_or_else(|| WANTED.to_owned());
    // Without the device that it is built for: `2.11.0+cu130`.
    found.split('+').next().unwrap_or(WANTED).to_owned()
}

/// The folder with the libraries of the LibTorch in this process. `None` without LibTorch, and where the system does not say
/// what a process has loaded.
pub fn libraries() -> Option<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let library = maps.lines().find_map(|line| {
        line.find('/')
            .map(|at| &line[at..])
            .filter(|path| path.ends_with("/libtorch_cpu.so"))
    })?;
    Some(Path::new(library).parent()?.to_path_buf())
}

/// The release, from the file a wheel has (`version.py`) or the one an archive has (`build-version`).
#[cfg(any(feature = "tch", test))]
fn version(folder: &Path) -> Option<String> {
    if let Ok(text) = std::fs::read_to_string(folder.join("version.py")) {
        let value = text
            .lines()
            .find_map(|line| line.strip_prefix("__version__ = "))?;
        return Some(value.trim_matches(['\'', '"']).to_string());
    }
    let text = std::fs::read_to_string(folder.join("build-version")).ok()?;
    Some(text.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_a_wheel_or_an_archive() {
        let folder = tempfile::tempdir().expect("temporary folder");
        assert_eq!(version(folder.path()), None);
        std::fs::write(folder.path().join("build-version"), "2.11.0+cpu\n").expect("write");
        assert_eq!(version(folder.path()).as_deref(), Some("2.11.0+cpu"));
        std::fs::write(
            folder.path().join("version.py"),
            "from x import y\n__version__ = '2.11.0+cu130'\n",
        )
        .expect("write");
        assert_eq!(version(folder.path()).as_deref(), Some("2.11.0+cu130"));
    }

    #[cfg(all(feature = "tch", target_os = "linux"))]
    #[test]
    fn the_loaded_library_is_found() {
        tch::get_num_threads(); // so that it is loaded
        assert!(
            loaded()
                .expect("a folder")
                .join("lib/libtorch_cpu.so")
                .is_file()
        );
    }
}
