//! How the examples of a split reach an encoder: one row each, or windows over sentences whose words are tagged.

use std::ops::Range;

use totune_adapt::Places;
use totune_data::{Encoded, Target, Window};

/// A split's examples as an encoder reads them.
#[derive(Debug)]
pub(crate) struct Rows {
    pub encoded: Vec<Encoded>,
    /// Of windows over sentences, what each is about; none where each row is an example.
    windows: Vec<About>,
}

/// What a window is about.
#[derive(Debug)]
struct About {
    /// Index of its sentence; in ascending order over windows.
    example: usize,
    /// The words that are scored in it.
    words: Range<usize>,
    places: Places,
}

impl Rows {
    /// One row for each example.
    pub fn of_texts(encoded: Vec<Encoded>) -> Self {
        Self {
            encoded,
            windows: Vec::new(),
        }
    }

    /// One window or more for each sentence.
    pub fn of_windows(windows: Vec<Window>) -> Self {
        let about = |window: &Window| About {
            example: window.example,
            words: window.words.clone(),
            places: Places {
                starts: window.positions.clone(),
                ends: window.ends.clone(),
            },
        };
        Self {
            windows: windows.iter().map(about).collect(),
            encoded: windows.into_iter().map(|window| window.encoded).collect(),
        }
    }

    /// The rows of the examples at `indices`, in their order.
    pub fn rows_of(&self, indices: &[usize]) -> Vec<usize> {
        if self.windows.is_empty() {
            return indices.to_vec();
        }
        let place = |example| {
            let first = self
                .windows
                .partition_point(|window| window.example < example);
            first
                ..self
                    .windows
                    .partition_point(|window| window.example <= example)
        };
        indices.iter().flat_map(|&example| place(example)).collect()
    }

    /// The example that a row is of.
    pub fn example(&self, row: usize) -> usize {
        self.windows.get(row).map_or(row, |window| window.example)
    }

    /// What is asked about a row of an example whose target is `target`.
    pub fn target(&self, row: usize, target: &Target) -> Target {
        match (self.windows.get(row), target) {
            (Some(window), Target::Tags(tags)) => Target::Tags(tags[window.words.clone()].to_vec()),
            _ => target.clone(),
        }
    }

    /// Where the words of a row lie that are tagged.
    pub fn places(&self, row: usize) -> Option<Places> {
        self.windows.get(row).map(|window| window.places.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_of_several_windows_has_several_rows() {
        let window = |example, words: Range<usize>| Window {
            encoded: Encoded::default(),
            example,
            positions: words.clone().map(|word| word as u32 + 1).collect(),
            ends: words.clone().map(|word| word as u32 + 1).collect(),
            words,
        };
        let rows = Rows::of_windows(vec![
            window(0, 0..2),
            window(1, 0..3),
            window(1, 3..4),
            window(2, 0..1),
        ]);
        assert_eq!(rows.rows_of(&[1, 2]), [1, 2, 3]);
        assert_eq!(rows.example(2), 1);
        let tags = Target::Tags(vec![5, 6, 7, 8]);
        assert_eq!(rows.target(2, &tags), Target::Tags(vec![8]));
        assert_eq!(rows.places(2).expect("places").starts, [4]);
        let texts = Rows::of_texts(vec![Encoded::default(); 3]);
        assert_eq!((texts.rows_of(&[2, 0]), texts.example(2)), (vec![2, 0], 2));
        assert_eq!(texts.places(0), None);
    }
}
