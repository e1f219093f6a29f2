//! Texts that occur more than once.

use crate::{Example, Input};
use std::collections::{HashMap, HashSet};

/// The number of repeated texts of a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeats {
    /// Rows whose text an earlier row already has: rows minus distinct texts.
    pub rows: usize,
    /// Distinct texts that occur more than once.
    pub texts: usize,
    /// Of those, texts that occur with different labels.
    pub contradicting: usize,
}

impl Repeats {
    /// Counts the repeated texts of `examples`; two texts are equal when every character is.
    pub fn of(examples: &[Example]) -> Self {
        let mut members: HashMap<usize, Vec<usize>> = HashMap::new();
        for (index, first) in first_occurrences(examples).into_iter().enumerate() {
            members.entry(first).or_default().push(index);
        }
        let repeated: Vec<&Vec<usize>> = members.values().filter(|rows| rows.len() > 1).collect();
        let contradicts = |rows: &&&Vec<usize>| {
            rows.iter()
                .any(|&row| examples[row].target != examples[rows[0]].target)
        };
        Self {
            rows: examples.len() - members.len(),
            texts: repeated.len(),
            contradicting: repeated.iter().filter(contradicts).count(),
        }
    }
}

/// A note on rows whose text an earlier one has, where they are more than a tenth.
pub fn repeats_note(repeats: usize, rows: usize) -> Option<String> {
    (repeats * 10 > rows).then(|| {
        format!(
            "{repeats} of {rows} texts repeat an earlier one; equal texts stay on one side where dev or test are held out"
        )
    })
}

/// Number of `inputs` that are equal to one of `known`.
pub(crate) fn n_known<'i>(
    inputs: impl Iterator<Item = &'i Input>,
    known: impl Iterator<Item = &'i Input>,
) -> usize {
    let known: HashSet<&Input> = known.collect();
    inputs.filter(|input| known.contains(input)).count()
}

/// For each example, the index of the first example with the same text.
pub(crate) fn first_occurrences(examples: &[Example]) -> Vec<usize> {
    let mut first: HashMap<&Input, usize> = HashMap::new();
    examples
        .iter()
        .enumerate()
        .map(|(index, example)| *first.entry(&example.input).or_insert(index))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Target;

    #[test]
    fn repeated_and_contradicting_texts_are_counted() {
        let rows = [
            ("a", 0),
            ("b", 0),
            ("a", 1),
            ("a", 0),
            ("c", 1),
            ("c", 1),
            ("A", 0),
        ];
        let examples: Vec<Example> = rows
            .iter()
            .enumerate()
            .map(|(index, &(text, class))| Example {
                id: index.to_string(),
                input: Input::Text(text.into()),
                target: Target::Class(class),
                group: None,
            })
            .collect();
        assert_eq!(first_occurrences(&examples), [0, 1, 0, 0, 4, 4, 6]);
        let expected = Repeats {
            rows: 3,
            texts: 2,
            contradicting: 1,
        };
        assert_eq!(Repeats::of(&examples), expected);
    }

    #[test]
    fn many_repeats_are_noted() {
        assert_eq!(repeats_note(30, 300), None);
        assert_eq!(
            repeats_note(280, 300).as_deref(),
            Some(
                "280 of 300 texts repeat an earlier one; equal texts stay on one side where dev or test are held out"
            )
        );
    }
}
