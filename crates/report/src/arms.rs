//! The arms of a paper's experiments, as the files name them.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The part of an experiment's file that names its arms.
#[derive(Deserialize)]
struct File {
    experiment: String,
    #[serde(default)]
    arm: Vec<Arm>,
}

#[derive(Deserialize)]
struct Arm {
    name: String,
    title: Option<String>,
}

/// Experiment, name and title of each arm in a folder, in the order of the files. The title of an arm without one is
/// its name; arms of a pattern, such as `{states}`, are left out.
pub(crate) fn titles(experiments: &Path) -> Vec<[String; 3]> {
    let files = fs::read_dir(experiments).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = files.map(|entry| entry.path()).collect();
    files.sort();
    let texts = files
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok());
    let files = texts.filter_map(|text| toml::from_str::<File>(&text).ok());
    let of_file = |file: File| {
        let named = file.arm.into_iter().filter(|arm| !arm.name.contains('{'));
        named.map(move |Arm { name, title }| {
            let title = title.unwrap_or_else(|| name.clone());
            [file.experiment.clone(), name, title]
        })
    };
    files.flat_map(of_file).collect()
}
