//! How a dataset of one's own is split.

use totune_data::{Card, Duplicates, Files, HoldOut, Split};

/// How a dataset is divided where nobody says: its own files where they have answers, else shares of `train` drawn with
/// `seed`, equal texts on one side.
pub fn usual_split(card: &Card, seed: u64) -> Split {
    let has = |split: &str| {
        card.split_names().contains(split)
            && card.splits.get(split).is_none_or(|facts| facts.labelled)
    };
    let files = |test: &str, dev_split: Option<&str>| {
        Split::Files(Files {
            test: test.to_string(),
            dev: if dev_split.is_some() { 0.0 } else { 0.1 },
            dev_split: dev_split.map(String::from),
            seed,
            predict: Vec::new(),
            train_limit: None,
            dev_limit: None,
            test_limit: None,
        })
    };
    match (has("test"), has("dev")) {
        (true, true) => files("test", Some("dev")),
        (true, false) => files("test", None),
        (false, true) => files("dev", None),
        (false, false) => Split::HoldOut(HoldOut {
            test: 0.2,
            dev: 0.1,
            seed,
            duplicates: Duplicates::Group,
            train_limit: None,
            test_limit: None,
        }),
    }
}
