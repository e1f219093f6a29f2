//! The arms of a paper's experiments, as the files name them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Value;

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
    /// Values of settings by their paths, one arm for each combination; only names of settings are read here.
    #[serde(default)]
    each: BTreeMap<String, Vec<Value>>,
}

impl Arm {
    /// Name and title of each arm that this is a pattern of, or its own.
    fn named(self) -> Vec<[String; 2]> {
        let title = self.title.unwrap_or_else(|| self.name.clone());
        let mut named = vec![[self.name, title]];
        for (path, values) in self.each {
            let place = format!("{{{path}}}");
            let with = |texts: &[String; 2]| {
                let values = values.iter().filter_map(Value::as_str);
                let with = values.map(|value| texts.each_ref().map(|t| t.replace(&place, value)));
                with.collect::<Vec<_>>()
            };
            named = named.iter().flat_map(with).collect();
        }
        named
    }
}

/// Experiment, name and title of each arm in a folder, in the order of the files. The title of an arm without one is
/// its name; arms of a pattern with values other than names are left out.
pub(crate) fn titles(experiments: &Path) -> Vec<[String; 3]> {
    let files = fs::read_dir(experiments).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = files.map(|entry| entry.path()).collect();
    files.sort();
    let texts = files
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok());
    let files = texts.filter_map(|text| toml::from_str::<File>(&text).ok());
    let of_file = |file: File| {
        let named = file.arm.into_iter().flat_map(Arm::named);
        named.map(move |[name, title]| [file.experiment.clone(), name, title])
    };
    files.flat_map(of_file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_an_arm_for_each_name_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let text = "experiment = 'e'\n\
            [[arm]]\nname = 'lora-{use}'\ntitle = 'LoRA, {use}'\neach = { use = ['n-1', 'n-2'] }\n\
            [[arm]]\nname = 'plain'\n\
            [[arm]]\nname = 'rate-{lr}'\neach = { lr = [0.1] }\n";
        fs::write(folder.path().join("e.toml"), text).unwrap();
        let found = titles(folder.path());
        let found: Vec<[&str; 2]> = found.iter().map(|[_, a, t]| [&**a, &**t]).collect();
        assert_eq!(
            found,
            [
                ["lora-n-1", "LoRA, n-1"],
                ["lora-n-2", "LoRA, n-2"],
                ["plain", "plain"]
            ]
        );
    }
}
