//! The inputs of examples: one row each, or windows over sentences whose words are tagged.

use std::ops::Range;

use totune_data::{Encoded, Example, Target, Window};

use crate::examples::{Places, Row};

/// Examples as an encoder reads them.
#[derive(Debug)]
pub struct Rows {
    /// The inputs, in the order of the examples.
    pub encoded: Vec<Encoded>,
    /// Sentence and scored words of each window; none where each row is an example.
    windows: Vec<About>,
}

/// Sentence and scored words of a window.
#[derive(Debug)]
struct About {
    /// Index of its sentence; in ascending order over windows.
    example: usize,
    /// Words that are scored in it.
    words: Range<usize>,
    places: Places,
}

impl Rows {
    /// Makes one row for each example.
    pub(super) fn of_texts(encoded: Vec<Encoded>) -> Self {
        Self {
            encoded,
            windows: Vec::new(),
        }
    }

    /// Makes one or more windows for each sentence.
    pub(super) fn of_windows(windows: Vec<Window>) -> Self {
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

    /// A row as a model reads it, with its target: of a window over a sentence, the tags of its words. `examples` are
    /// those that these rows were made of.
    pub fn row(&self, row: usize, examples: &[Example]) -> Row {
        let window = self.windows.get(row);
        let example = &examples[window.map_or(row, |window| window.example)];
        let target = match (window, &example.target) {
            (Some(window), Target::Tags(tags)) => Target::Tags(tags[window.words.clone()].to_vec()),
            (_, target) => target.clone(),
        };
        Row {
            id: example.id.clone(),
            encoded: self.encoded[row].clone(),
            target,
            words: window.map(|window| window.places.clone()),
        }
    }

    /// Returns all rows.
    pub fn all(&self, examples: &[Example]) -> Vec<Row> {
        let rows = 0..self.encoded.len();
        rows.map(|row| self.row(row, examples)).collect()
    }
}

#[cfg(test)]
mod tests {
    use totune_data::Input;

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
        let example = |(id, target): (usize, Target)| Example {
            id: id.to_string(),
            input: Input::Text(String::new()),
            target,
            group: None,
        };
        let tags = [vec![1, 2], vec![5, 6, 7, 8], vec![9]].map(Target::Tags);
        let sentences: Vec<Example> = tags.into_iter().enumerate().map(example).collect();
        assert_eq!(rows.rows_of(&[1, 2]), [1, 2, 3]);
        let row = rows.row(2, &sentences);
        assert_eq!((row.id.as_str(), row.target), ("1", Target::Tags(vec![8])));
        assert_eq!(row.words.expect("places").starts, [4]);
        assert_eq!(rows.all(&sentences).len(), 4);
        let texts = Rows::of_texts(vec![Encoded::default(); 3]);
        let classes = (0..3).map(|class| (class, Target::Class(class)));
        let examples: Vec<Example> = classes.map(example).collect();
        assert_eq!(texts.rows_of(&[2, 0]), [2, 0]);
        let row = texts.row(2, &examples);
        assert_eq!((row.id.as_str(), row.words), ("2", None));
    }
}
