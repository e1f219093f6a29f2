//! Statistics of a split, to read before training on it.

use super::overlap::folded;
use super::spread::{Spread, share_over};
use crate::{Dataset, Example, Input, Repeats, Target, Tokenizer};
use anyhow::Result;
use serde::Serialize;
use std::collections::HashSet;

/// Common maximum lengths, in wordpieces.
pub const LIMITS: [usize; 3] = [128, 256, 512];
/// Longest rows that are named.
const LONGEST: usize = 5;
/// Bars of the histogram of a regression's scores.
const BARS: usize = 10;

/// The statistics of one split.
#[derive(Clone, Debug, Serialize)]
pub struct Statistics {
    /// The card's name.
    pub dataset: String,
    /// The split's name.
    pub split: String,
    /// Examples.
    pub rows: usize,
    /// Examples without a target.
    pub unlabelled: usize,
    /// The distribution of the targets.
    pub answers: TargetCounts,
    /// Words per example, as white space divides them; of a pair, of both texts.
    pub words: Spread,
    /// Wordpieces per example with the special ones, without a limit, where there is a tokenizer.
    pub pieces: Option<WordpieceLengths>,
    /// Repeated texts.
    pub repeats: RepeatCounts,
    /// Groups, and examples without one; nothing where no example has one.
    pub groups: Option<Groups>,
    /// The longest examples, longest first, by wordpieces where there are any and else by words.
    pub longest: Vec<Long>,
}

/// The distribution of the targets.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetCounts {
    /// Examples that have each label, in the order of the card; an example with several labels counts for each of them.
    Labels(Vec<Count>),
    /// Spans of each type of a tagging dataset, in the order of the card.
    Spans(Vec<Count>),
    /// Scores in intervals of equal width.
    Scores {
        /// Intervals from the lowest to the highest score.
        bars: Vec<Bar>,
        /// Mean score.
        mean: f64,
        /// Distinct scores and the examples that have each, ascending.
        #[serde(skip)]
        values: Vec<(f64, usize)>,
    },
}

/// A label and its frequency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Count {
    /// The label.
    pub label: String,
    /// The number of occurrences.
    pub count: usize,
}

/// Scores from `from` up to `to`; the last bar has its upper end as well.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bar {
    /// The lower end.
    pub from: f64,
    /// The upper end.
    pub to: f64,
    /// Examples.
    pub count: usize,
}

/// Lengths in wordpieces.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WordpieceLengths {
    /// Lengths.
    pub spread: Spread,
    /// For each of [`LIMITS`], the number of examples that are longer.
    pub cut: Vec<Cut>,
    /// Wordpieces per word, without the special ones.
    pub per_word: f64,
    /// Unknown wordpieces: those of text that the vocabulary does not cover.
    pub unknown: usize,
}

/// Examples that a maximum length shortens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cut {
    /// The maximum length in wordpieces, with the special ones.
    pub limit: usize,
    /// Examples that are longer.
    pub rows: usize,
}

/// [`Repeats`], and the texts that differ only in case and white space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RepeatCounts {
    /// Rows whose text an earlier row already has.
    pub rows: usize,
    /// Distinct texts that occur more than once.
    pub texts: usize,
    /// Of those, texts with different targets.
    pub contradicting: usize,
    /// Rows that repeat an earlier one when letters are lowered and white space is squeezed.
    pub folded: usize,
}

/// Groups of examples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Groups {
    /// Distinct groups.
    pub groups: usize,
    /// Examples without one.
    pub without: usize,
}

/// A long example.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Long {
    /// Its id.
    pub id: String,
    /// Its words.
    pub words: usize,
    /// Its wordpieces.
    pub pieces: Option<usize>,
    /// Its text; of a pair, both with ` | ` between them.
    pub text: String,
}

impl Statistics {
    /// Counts everything about `dataset`, read from `split`; lengths in wordpieces where there is a `tokenizer`.
    pub fn of(
        dataset: &Dataset,
        split: &str,
        tokenizer: Option<&Tokenizer>,
        threads: usize,
    ) -> Result<Self> {
        let examples = &dataset.examples;
        let words: Vec<usize> = examples
            .iter()
            .map(|example| n_words(&example.input))
            .collect();
        let encoded = tokenizer.map(|tokenizer| -> Result<(Vec<usize>, usize, usize)> {
            let encoded = tokenizer.encode_all(examples, usize::MAX, threads)?;
            let added = examples
                .iter()
                .map(|example| tokenizer.n_added(&example.input));
            let added: usize = added.sum::<Result<usize>>()?;
            let unknown = tokenizer.unknown_id();
            let ids = encoded.iter().flat_map(|row| &row.ids);
            let unknown = ids.filter(|id| **id == unknown).count();
            Ok((
                encoded.iter().map(|row| row.ids.len()).collect(),
                unknown,
                added,
            ))
        });
        let encoded = encoded.transpose()?;
        let pieces = encoded.as_ref().map(|(lengths, unknown, added)| {
            let total = lengths.iter().sum::<usize>() - added;
            WordpieceLengths {
                spread: Spread::of(lengths),
                cut: LIMITS
                    .map(|limit| Cut {
                        limit,
                        rows: share_over(lengths, limit),
                    })
                    .into(),
                per_word: total as f64 / words.iter().sum::<usize>().max(1) as f64,
                unknown: *unknown,
            }
        });
        let lengths = encoded.as_ref().map(|(lengths, ..)| lengths.as_slice());
        let unlabelled = |example: &&Example| example.target == Target::Unknown;
        Ok(Self {
            dataset: dataset.name.clone(),
            split: split.to_string(),
            rows: examples.len(),
            unlabelled: examples.iter().filter(unlabelled).count(),
            answers: answers(dataset),
            repeats: repeats(dataset),
            groups: groups(examples),
            longest: longest(examples, &words, lengths),
            words: Spread::of(&words),
            pieces,
        })
    }
}

fn n_words(input: &Input) -> usize {
    match input {
        Input::Words(words) => words.len(),
        Input::Text(_) | Input::Pair(..) => {
            let texts = input.texts().into_iter();
            texts.map(|text| text.split_whitespace().count()).sum()
        }
    }
}

fn answers(dataset: &Dataset) -> TargetCounts {
    let scores: Vec<f64> = dataset
        .examples
        .iter()
        .filter_map(|example| match example.target {
            Target::Value(score) => Some(score),
            _ => None,
        })
        .collect();
    if scores.is_empty() {
        let counts = dataset.named_counts().into_iter();
        let counts = counts
            .map(|(label, count)| Count { label, count })
            .collect();
        let tagged = |example: &Example| matches!(example.input, Input::Words(_));
        return if dataset.examples.iter().any(tagged) {
            TargetCounts::Spans(counts)
        } else {
            TargetCounts::Labels(counts)
        };
    }
    let low = scores.iter().copied().fold(f64::INFINITY, f64::min);
    let high = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let width = (high - low) / BARS as f64;
    let mut counts = [0; BARS];
    for score in &scores {
        // All scores are in the first bar where they are all the same.
        let bar = if width > 0.0 {
            ((score - low) / width) as usize
        } else {
            0
        };
        counts[bar.min(BARS - 1)] += 1;
    }
    let bars = counts.into_iter().enumerate().map(|(bar, count)| Bar {
        from: low + bar as f64 * width,
        to: low + (bar + 1) as f64 * width,
        count,
    });
    let mut sorted = scores.clone();
    sorted.sort_by(f64::total_cmp);
    let runs = sorted.chunk_by(|a, b| a == b);
    TargetCounts::Scores {
        values: runs.map(|run| (run[0], run.len())).collect(),
        bars: bars.collect(),
        mean: scores.iter().sum::<f64>() / scores.len() as f64,
    }
}

fn repeats(dataset: &Dataset) -> RepeatCounts {
    let Repeats {
        rows,
        texts,
        contradicting,
    } = dataset.repeats();
    let distinct: HashSet<String> = dataset
        .examples
        .iter()
        .map(|example| folded(&example.input))
        .collect();
    RepeatCounts {
        rows,
        texts,
        contradicting,
        folded: dataset.examples.len() - distinct.len(),
    }
}

fn groups(examples: &[Example]) -> Option<Groups> {
    let names: HashSet<&str> = examples
        .iter()
        .filter_map(|example| example.group.as_deref())
        .collect();
    let without = examples.iter().filter(|example| example.group.is_none());
    (!names.is_empty()).then(|| Groups {
        groups: names.len(),
        without: without.count(),
    })
}

fn longest(examples: &[Example], words: &[usize], pieces: Option<&[usize]>) -> Vec<Long> {
    let mut order: Vec<usize> = (0..examples.len()).collect();
    let lengths = pieces.unwrap_or(words);
    order.sort_by_key(|&row| (usize::MAX - lengths[row], row));
    let long = |row: usize| Long {
        id: examples[row].id.clone(),
        words: words[row],
        pieces: pieces.map(|pieces| pieces[row]),
        text: one_line(&examples[row].input),
    };
    order.into_iter().take(LONGEST).map(long).collect()
}

/// The text of an example; of a pair, both with ` | ` between them.
pub(super) fn one_line(input: &Input) -> String {
    let between = if input.second().is_some() { " | " } else { " " };
    input.texts().join(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset(rows: &[(&str, Target)]) -> Dataset {
        let examples = rows
            .iter()
            .enumerate()
            .map(|(index, (text, target))| Example {
                id: format!("r{index}"),
                input: Input::Text(text.to_string()),
                target: target.clone(),
                group: (index % 2 == 0).then(|| "even".to_string()),
            });
        Dataset {
            name: "synthetic".into(),
            loss: crate::ClassLoss::PLAIN,
            task: crate::Task::Classification,
            hash: String::new(),
            labels: vec!["no".into(), "yes".into()],
            positive: None,
            examples: examples.collect(),
            metrics: Vec::new(),
            tagging: None,
        }
    }

    fn statistics(rows: &[(&str, Target)]) -> Statistics {
        Statistics::of(&dataset(rows), "train", None, 1).expect("statistics")
    }

    #[test]
    fn rows_labels_repeats_and_long_rows_are_counted() {
        let yes = Target::Class(1);
        let rows = [
            ("a b", yes.clone()),
            ("A  b", Target::Class(0)),
            ("a b", Target::Class(0)),
            ("one two three", yes),
            ("x", Target::Unknown),
        ];
        let found = statistics(&rows);
        let counts = [("no", 2), ("yes", 2)].map(|(label, count)| Count {
            label: label.into(),
            count,
        });
        assert_eq!(found.answers, TargetCounts::Labels(counts.into()));
        assert_eq!((found.rows, found.unlabelled), (5, 1));
        let expected = RepeatCounts {
            rows: 1,
            texts: 1,
            contradicting: 1,
            folded: 2,
        };
        assert_eq!(found.repeats, expected);
        assert_eq!(
            found.groups,
            Some(Groups {
                groups: 1,
                without: 2
            })
        );
        let longest: Vec<(&str, usize)> = found
            .longest
            .iter()
            .map(|row| (row.id.as_str(), row.words))
            .collect();
        assert_eq!(
            longest,
            [("r3", 3), ("r0", 2), ("r1", 2), ("r2", 2), ("r4", 1)]
        );
    }

    #[test]
    fn scores_fall_into_ten_bars_and_the_highest_into_the_last() {
        let rows: Vec<(&str, Target)> = [0.0, 0.4, 2.5, 5.0, 5.0]
            .map(|score| ("a", Target::Value(score)))
            .into();
        let TargetCounts::Scores { bars, mean, values } = statistics(&rows).answers else {
            panic!("expected scores");
        };
        assert_eq!(values, [(0.0, 1), (0.4, 1), (2.5, 1), (5.0, 2)]);
        let counts: Vec<usize> = bars.iter().map(|bar| bar.count).collect();
        assert_eq!(counts, [2, 0, 0, 0, 0, 1, 0, 0, 0, 2]);
        assert!((mean - 2.58).abs() < 1e-12 && (bars[9].to - 5.0).abs() < 1e-12);
    }

    #[test]
    fn no_rows_give_no_lengths() {
        let found = statistics(&[]);
        assert_eq!(
            (found.rows, found.words.max, found.longest.len()),
            (0, 0, 0)
        );
    }
}
