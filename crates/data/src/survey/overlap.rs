//! Texts that two splits share.

use crate::{Dataset, Input};
use serde::Serialize;
use std::collections::HashSet;

/// The rows of one split whose text is also in another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Overlap {
    /// The split whose rows are counted.
    pub split: String,
    /// The split they are looked up in.
    pub within: String,
    /// Rows of `split`.
    pub rows: usize,
    /// Rows whose text is in `within`, every character equal.
    pub exact: usize,
    /// Rows whose text is in `within` when letters are lowered and white space is squeezed.
    pub folded: usize,
}

/// The overlap of each later split with each earlier one.
pub fn overlaps(splits: &[(String, Dataset)]) -> Vec<Overlap> {
    let texts: Vec<(HashSet<&Input>, HashSet<String>)> = splits
        .iter()
        .map(|(_, dataset)| {
            let inputs = || dataset.examples.iter().map(|example| &example.input);
            (inputs().collect(), inputs().map(folded).collect())
        })
        .collect();
    let mut overlaps = Vec::new();
    for (later, (split, dataset)) in splits.iter().enumerate() {
        for (earlier, (within, _)) in splits.iter().enumerate().take(later) {
            let (exact, lowered) = &texts[earlier];
            let inputs = || dataset.examples.iter().map(|example| &example.input);
            overlaps.push(Overlap {
                split: split.clone(),
                within: within.clone(),
                rows: dataset.examples.len(),
                exact: inputs().filter(|input| exact.contains(input)).count(),
                folded: inputs()
                    .filter(|input| lowered.contains(&folded(input)))
                    .count(),
            });
        }
    }
    overlaps
}

/// The text in lower case with single spaces; a control character separates the texts of a pair.
pub(super) fn folded(input: &Input) -> String {
    let between = if input.second().is_some() {
        "\u{1}"
    } else {
        " "
    };
    let fold = |text: &str| {
        let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
        words.join(" ")
    };
    let texts: Vec<String> = input.texts().into_iter().map(fold).collect();
    texts.join(between)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Example, Target};

    fn split(name: &str, texts: &[&str]) -> (String, Dataset) {
        let examples = texts.iter().enumerate().map(|(index, text)| Example {
            id: index.to_string(),
            input: Input::Text(text.to_string()),
            target: Target::Unknown,
            group: None,
        });
        let dataset = Dataset {
            name: "synthetic".into(),
            loss: crate::ClassLoss::PLAIN,
            task: crate::Task::Regression,
            hash: String::new(),
            labels: Vec::new(),
            positive: None,
            examples: examples.collect(),
            metrics: Vec::new(),
            tagging: None,
        };
        (name.to_string(), dataset)
    }

    #[test]
    fn rows_of_later_splits_are_found_in_earlier_ones() {
        let splits = [
            split("train", &["A cat", "a dog", "a fox"]),
            split("dev", &["a  cat", "a dog", "a dog"]),
            split("test", &["an owl", "a\tfox", "a  cat"]),
        ];
        let found: Vec<(String, usize, usize)> = overlaps(&splits)
            .into_iter()
            .map(|o| (format!("{} in {}", o.split, o.within), o.exact, o.folded))
            .collect();
        let expected = [
            ("dev in train", 2, 3),
            ("test in train", 0, 2),
            ("test in dev", 1, 1),
        ];
        assert_eq!(
            found,
            expected.map(|(which, e, f)| (which.to_string(), e, f))
        );
    }

    #[test]
    fn the_texts_of_a_pair_stay_apart() {
        let pair = |a: &str, b: &str| folded(&Input::Pair(a.into(), b.into()));
        assert_ne!(pair("a b", "c"), pair("a", "b c"));
        assert_eq!(pair("A  b", "c "), pair("a b", "C"));
    }
}
