//! Names that say what a column is.

use crate::format::Table;
use std::collections::HashSet;

/// Names of columns, in lower case and only their letters and digits, the likelier ones first.
pub(super) const PAIRS: [(&str, &str); 8] = [
    ("sentence1", "sentence2"),
    ("sentencea", "sentenceb"),
    ("question1", "question2"),
    ("text1", "text2"),
    ("texta", "textb"),
    ("premise", "hypothesis"),
    ("question", "sentence"),
    ("1string", "2string"),
];
pub(super) const TEXTS: [&str; 10] = [
    "text",
    "sentence",
    "review",
    "tweet",
    "comment",
    "utterance",
    "document",
    "content",
    "body",
    "message",
];
pub(super) const LABELS: [&str; 16] = [
    "label",
    "labels",
    "target",
    "class",
    "goldlabel",
    "gold",
    "category",
    "sentiment",
    "intent",
    "score",
    "similarity",
    "rating",
    "stars",
    "isduplicate",
    "entailmentjudgment",
    "relatednessscore",
];
pub(super) const IDS: [&str; 8] = [
    "id",
    "idx",
    "index",
    "guid",
    "uid",
    "pairid",
    "sentenceid",
    "rowid",
];

/// Names of columns of lists.
pub(super) const WORDS: [&str; 4] = ["tokens", "words", "text", "sentence"];
pub(super) const TAGS: [&str; 5] = ["nertags", "tags", "ner", "labels", "label"];

/// The letters and digits of a name in lower case.
pub(super) fn plain(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Returns whether a field is the name of a column rather than a value.
pub(super) fn is_telling(field: &str) -> bool {
    let name = plain(field);
    let pair = PAIRS
        .iter()
        .any(|(first, second)| name == *first || name == *second);
    pair || TEXTS.contains(&name.as_str())
        || LABELS.contains(&name.as_str())
        || IDS.contains(&name.as_str())
}

/// Returns whether no two fields of a column are equal.
pub(super) fn all_differ(table: &Table, column: usize) -> bool {
    let mut seen = HashSet::new();
    table.column(column).all(|value| seen.insert(value))
}
