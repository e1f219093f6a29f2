//! Files of other splits next to a file.

use std::path::{Path, PathBuf};

/// The names that splits have in names of files, and the split each is; longer names first.
const NAMES: [(&str, &str); 6] = [
    ("validation", "dev"),
    ("train", "train"),
    ("valid", "dev"),
    ("test", "test"),
    ("dev", "dev"),
    ("val", "dev"),
];

/// `file` and the files next to it whose names differ only in the name of the split, `train` first; a file without
/// such a name, or without such files next to it, is `train`.
pub fn files_of_splits(file: &Path) -> Vec<(String, PathBuf)> {
    let name = file_name(file);
    let Some((at, own, split)) = part(&name) else {
        return vec![("train".into(), file.to_path_buf())];
    };
    let mut splits = vec![(split.to_string(), file.to_path_buf())];
    for (other, split) in NAMES {
        let paths = [
            in_case_of(&name[at..at + own.len()], other),
            other.to_string(),
        ]
        .map(|other| file.with_file_name([&name[..at], &other, &name[at + own.len()..]].concat()));
        let known = splits.iter().any(|(known, _)| known == split);
        let path = paths.into_iter().find(|path| path.is_file());
        if let Some(path) = path.filter(|_| !known) {
            splits.push((split.to_string(), path));
        }
    }
    if splits.iter().all(|(split, _)| split != "train") {
        splits[0].0 = "train".into(); // nothing else could be trained on
    }
    splits.sort_by_key(|(split, _)| crate::survey::split_order(split));
    splits
}

/// A name in the case of another: `Test` next to `Train`, `TEST` next to `TRAIN`.
fn in_case_of(own: &str, other: &str) -> String {
    let mut letters = own.chars().map(char::is_uppercase);
    match (letters.next(), letters.next()) {
        (Some(true), Some(true)) => other.to_uppercase(),
        (Some(true), _) => other[..1].to_uppercase() + &other[1..],
        _ => other.to_string(),
    }
}

/// The path of `file` below `folder`: its own, or that of a link in the folder that leads to it.
pub(super) fn in_folder(file: &Path, folder: &Path) -> Option<PathBuf> {
    if file.starts_with(folder) {
        return Some(file.to_path_buf());
    }
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_symlink())
        .collect();
    paths.sort();
    let leads_there = |path: &PathBuf| std::fs::canonicalize(path).is_ok_and(|path| path == file);
    paths.into_iter().find(leads_there)
}

/// A name for the dataset: the file's without the split, or the folder's.
pub(super) fn dataset_name(file: &Path) -> String {
    let name = file_name(file);
    let stem = name.split('.').next().unwrap_or_default();
    let stem = match part(stem) {
        Some((at, own, _)) => [&stem[..at], &stem[at + own.len()..]].concat(),
        None => stem.to_string(),
    };
    let tidy = |text: &str| {
        let letters = text.chars().map(|letter| {
            if letter.is_ascii_alphanumeric() {
                letter.to_ascii_lowercase()
            } else {
                '-'
            }
        });
        let text: String = letters.collect();
        let parts: Vec<&str> = text.split('-').filter(|part| !part.is_empty()).collect();
        parts.join("-")
    };
    let folder = || file.parent().map(file_name).unwrap_or_default();
    match tidy(&stem) {
        stem if stem.is_empty() => tidy(&folder()),
        stem => stem,
    }
}

/// Finds the name of a split in `name` that has no letters next to it: its position, itself, and the split it names.
fn part(name: &str) -> Option<(usize, &'static str, &'static str)> {
    let lower = name.to_ascii_lowercase();
    let alone = |at: usize, end: usize| {
        let letter = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphabetic);
        let before = at
            .checked_sub(1)
            .and_then(|before| lower.as_bytes().get(before));
        !letter(before) && !letter(lower.as_bytes().get(end))
    };
    NAMES.into_iter().find_map(|(own, split)| {
        let at = lower.match_indices(own).map(|(at, _)| at);
        let found = at.into_iter().find(|&at| alone(at, at + own.len()))?;
        Some((found, own, split))
    })
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_dataset_is_the_file_without_its_split() {
        for (file, expected) in [
            ("reviews.csv", "reviews"),
            ("My Reviews_train.csv", "my-reviews"),
            ("a/MNLI/train.tsv", "mnli"),
            ("x/validation.v2.jsonl", "x"),
            ("training.csv", "training"),
            ("eng.train", "eng"),
        ] {
            assert_eq!(dataset_name(Path::new(file)), expected, "{file}");
        }
    }

    #[test]
    fn files_of_other_splits_are_found_beside() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        for name in [
            "a_train.tsv",
            "a_valid.tsv",
            "a_val.tsv",
            "b_test.tsv",
            "a_testing.tsv",
        ] {
            std::fs::write(dir.path().join(name), "").expect("a file");
        }
        let found = files_of_splits(&dir.path().join("a_train.tsv"));
        let found: Vec<(&str, String)> = found
            .iter()
            .map(|(split, path)| (split.as_str(), file_name(path)))
            .collect();
        assert_eq!(
            found,
            [
                ("train", "a_train.tsv".into()),
                ("dev", "a_valid.tsv".into())
            ]
        );
        let alone = files_of_splits(&dir.path().join("a_testing.tsv"));
        assert_eq!(alone.len(), 1);
        assert_eq!(alone[0].0, "train");
    }
}
