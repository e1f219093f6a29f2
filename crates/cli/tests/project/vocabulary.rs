//! One name for each thing, the field's: words that this project has given up do not come back.

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// Names that said nothing of what a type holds; each was several types at once.
const TYPES: &[&str] = &[
    "Answer", "Answers", "Asked", "Beside", "Contest", "Court", "Given", "Kept", "Lie", "Look",
    "Own", "Part", "Parts", "Per", "Piece", "Pieces", "Portrait", "Reading", "Readout", "Reads",
    "Runners", "Said", "Seen", "Settled", "Shown", "Start", "Stands", "States", "Together", "Told",
    "Trained", "Way", "Which", "Wish", "Wishes",
];

/// Phrases with the field's word for each.
const PHRASES: &[(&str, &str)] = &[
    ("answer together", "ensemble"),
    ("beside", "next to, compared with"),
    ("gone on with", "resumed"),
    ("graphics processor", "GPU"),
    ("held against", "compared with"),
    ("kept states", "cached activations"),
    ("light head", "simple head"),
    ("made-up", "synthetic"),
    ("main memory", "memory"),
    ("number type", "dtype"),
    ("passed over", "skipped"),
    ("random field", "CRF"),
    ("rectifier", "ReLU"),
    ("told apart", "significantly different"),
    ("tuned at once", "trained jointly"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files below `folder` with one of the endings, and their text.
fn files(folder: &Path, endings: &[&str], found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            files(&path, endings, found);
        } else if endings.contains(&ending.as_ref()) {
            found.push((path.clone(), fs::read_to_string(&path).expect("text")));
        }
    }
}

/// Every source file, without this one.
fn sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    files(&root().join("crates"), &["rs"], &mut found);
    found.retain(|(path, _)| !path.ends_with(Path::new(file!()).file_name().expect("a name")));
    found
}

/// The places in `files` that `pattern` matches, as `file:line: match`.
fn places(files: &[(PathBuf, String)], pattern: &Regex) -> Vec<String> {
    let mut places = Vec::new();
    for (path, text) in files {
        for (number, line) in text.lines().enumerate() {
            places.extend(
                pattern
                    .find_iter(line)
                    .map(|found| format!("{}:{}: {}", path.display(), number + 1, found.as_str())),
            );
        }
    }
    places
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern")
}

#[test]
fn no_type_has_a_name_that_was_given_up() {
    let names = TYPES.join("|");
    let types = pattern(&format!(r"\b(?:struct|enum|trait|type) (?:{names})\b"));
    assert_eq!(places(&sources(), &types), [""; 0]);
}

#[test]
fn texts_use_the_word_of_the_field() {
    let mut texts = Vec::new();
    for folder in [
        "docs",
        "experiments",
        "datasets",
        "encoders",
        "crates/report/templates",
    ] {
        files(&root().join(folder), &["md", "toml", "html"], &mut texts);
    }
    for file in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "STYLE.md",
    ] {
        let path = root().join(file);
        texts.push((path.clone(), fs::read_to_string(path).expect("text")));
    }
    // Code in a document is not prose.
    let code = pattern("`[^`]*`");
    for (_, text) in &mut texts {
        *text = code.replace_all(text, "``").into_owned();
    }
    for (phrase, instead) in PHRASES {
        let found = places(&texts, &pattern(&format!(r"(?i)\b{phrase}\b")));
        assert_eq!(found, [""; 0], "`{phrase}`; expected: {instead}");
    }
}

#[test]
fn comments_use_the_word_of_the_field() {
    let sources = sources();
    for (phrase, instead) in PHRASES {
        let found = places(&sources, &pattern(&format!(r"(?i)//.*\b{phrase}\b")));
        assert_eq!(found, [""; 0], "`{phrase}`; expected: {instead}");
    }
}

#[test]
fn a_doc_summary_is_a_noun_phrase_or_a_verb() {
    let opens = pattern(r"^\s*//[/!] (?:What|Which|Where|How|As|Those|That|When|Who|Why)\b");
    let doc = pattern(r"^\s*//[/!]");
    let mut found = Vec::new();
    for (path, text) in sources() {
        let mut before = "";
        for (number, line) in text.lines().enumerate() {
            if opens.is_match(line) && !doc.is_match(before) {
                found.push(format!(
                    "{}:{}: {}",
                    path.display(),
                    number + 1,
                    line.trim()
                ));
            }
            before = line;
        }
    }
    assert_eq!(found, [""; 0], "doc summaries");
}
