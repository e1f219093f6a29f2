//! Puts cards, presets, fixtures and the small encoder of the repository into the binary, so that it works in any folder.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

/// Embedded files, and folders with everything below them.
const PARTS: [&str; 6] = [
    "datasets",
    "encoders/totune-bert-mini",
    "fixtures/data",
    "fixtures/encoders",
    "experiments/presets.toml",
    "encoders",
];

fn main() -> Result<(), Box<dyn Error>> {
    let repository = Path::new(&env::var("CARGO_MANIFEST_DIR")?)
        .join("../..")
        .canonicalize()?;
    let mut files = BTreeMap::new();
    for part in PARTS {
        println!("cargo:rerun-if-changed=../../{part}");
        // Checkpoints that somebody put among the cards stay out of the binary.
        let into_folders = part != "encoders";
        collect(
            &repository.join(part),
            Path::new(part),
            into_folders,
            &mut files,
        )?;
    }
    let mut hasher = DefaultHasher::new();
    let mut list = String::new();
    for (name, path) in &files {
        (name, fs::read(path)?).hash(&mut hasher);
        // Of the checkout that is compiled: with one CARGO_TARGET_DIR, another one may have run this program.
        let file = format!("concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/../../\", {name:?})");
        writeln!(list, "    ({name:?}, include_bytes!({file})),")?;
    }
    let key = format!("{:016x}", hasher.finish());
    let code = format!(
        "/// What identifies all of these files.\nconst KEY: &str = {key:?};\n\n\
         /// Their paths, and what is in them.\nconst FILES: &[(&str, &[u8])] = &[\n{list}];\n"
    );
    fs::write(Path::new(&env::var("OUT_DIR")?).join("shipped.rs"), code)?;
    link_libtorch(&repository);
    // Measurements record it.
    let level = env::var("OPT_LEVEL")?;
    println!("cargo:rustc-env=TOTUNE_OPT_LEVEL={level}");
    Ok(())
}

/// Adds the file at `path`, or all files below it, under their names in the repository.
fn collect(
    path: &Path,
    name: &Path,
    into_folders: bool,
    files: &mut BTreeMap<String, PathBuf>,
) -> Result<(), Box<dyn Error>> {
    if path.is_file() {
        let name = name.to_str().ok_or("found a path that is not UTF-8")?;
        files.insert(name.replace('\\', "/"), path.to_path_buf());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let (path, name) = (entry.path(), name.join(entry.file_name()));
        if path.is_file() && !is_elsewhere(&path)? || path.is_dir() && into_folders {
            collect(&path, &name, into_folders, files)?;
        }
    }
    Ok(())
}

/// True if a card refers to a file in another folder, which makes it useless on another machine.
fn is_elsewhere(path: &Path) -> Result<bool, Box<dyn Error>> {
    if path.extension().is_none_or(|ending| ending != "toml") {
        return Ok(false);
    }
    let text = fs::read_to_string(path)?;
    let mut lines = text.lines().map(str::trim_start);
    Ok(lines.any(|line| line.starts_with("extends") && line.contains('/')))
}

/// Links an installed binary to the LibTorch of the checkout that it was built in; those in `target/` have a relative
/// path, which takes precedence (.cargo/config.toml).
fn link_libtorch(repository: &Path) {
    let libraries = repository.join(".tools/libtorch/torch/lib");
    println!("cargo:rerun-if-changed=../../.tools/libtorch");
    if env::var_os("CARGO_FEATURE_TCH").is_some() && libraries.is_dir() {
        let libraries = libraries.display();
        println!("cargo:rustc-link-arg-bins=-Wl,-rpath,{libraries}");
    }
}
