//! Scores of a tagger: spans found, missed and wrong, and the share of tokens with the right tag.
//!
//! A span is right if its type, its first and its last token are. Counts are summed over sentences and types before a
//! ratio is taken (the micro average), as `conlleval` and `seqeval` do.

use std::collections::BTreeMap;
use std::fmt::{Debug, Display, Formatter, Result};

use super::counts::{Counts, PrecisionRecallF1, ratio};
use super::spans::spans;
use super::tags::{Kind, SpanEvaluation, parse_tag};

/// Counts of the spans and tags of any number of sentences.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanScores<T> {
    reading: SpanEvaluation,
    tokens: usize,
    right_tokens: usize,
    total: Counts,
    types: BTreeMap<T, Counts>,
}

impl<T: Copy + Ord + Debug> SpanScores<T> {
    /// Creates counts of no sentences.
    pub fn new(reading: SpanEvaluation) -> Self {
        Self {
            reading,
            tokens: 0,
            right_tokens: 0,
            total: Counts::default(),
            types: BTreeMap::new(),
        }
    }

    /// Adds one sentence, given as pairs of a kind and a type.
    ///
    /// # Panics
    /// If gold and predicted tags differ in number, or as [`spans`] does.
    pub fn add<G, P>(&mut self, gold: G, predicted: P)
    where
        G: IntoIterator<Item = (Kind, T), IntoIter: Clone>,
        P: IntoIterator<Item = (Kind, T), IntoIter: Clone>,
    {
        let (gold, predicted) = (gold.into_iter(), predicted.into_iter());
        self.add_tokens(gold.clone(), predicted.clone());
        let mut gold = spans(gold, self.reading).peekable();
        let mut predicted = spans(predicted, self.reading).peekable();
        // Both lists are in order and free of overlaps, so that equal spans meet.
        loop {
            let place = |span: Option<&super::Span<T>>| span.map_or(usize::MAX, |span| span.start);
            let (next_gold, next_predicted) = (place(gold.peek()), place(predicted.peek()));
            let g = gold.next_if(|_| next_gold <= next_predicted);
            let p = predicted.next_if(|_| next_predicted <= next_gold);
            if g.is_none() && p.is_none() {
                break;
            }
            let both = usize::from(g == p);
            for (span, counts) in [
                (
                    g,
                    Counts {
                        gold: 1,
                        predicted: 0,
                        both,
                    },
                ),
                (
                    p,
                    Counts {
                        gold: 0,
                        predicted: 1,
                        both: 0,
                    },
                ),
            ] {
                let Some(span) = span else { continue };
                self.total = self.total.plus(counts);
                let of_type = self.types.entry(span.span_type).or_default();
                *of_type = of_type.plus(counts);
            }
        }
    }

    fn add_tokens(
        &mut self,
        mut gold: impl Iterator<Item = (Kind, T)>,
        mut predicted: impl Iterator<Item = (Kind, T)>,
    ) {
        loop {
            match (gold.next(), predicted.next()) {
                (Some(g), Some(p)) => {
                    let both_outside = g.0 == Kind::Outside && p.0 == Kind::Outside;
                    self.tokens += 1;
                    self.right_tokens += usize::from(g == p || both_outside);
                }
                (None, None) => break,
                _ => panic!("gold and predicted tags of a sentence differ in number"),
            }
        }
    }

    /// Counts of all spans.
    pub fn total(&self) -> Counts {
        self.total
    }

    /// Counts of the spans of each type in gold or predictions, in the order of the types.
    pub fn types(&self) -> impl Iterator<Item = (T, Counts)> {
        self.types
            .iter()
            .map(|(span_type, counts)| (*span_type, *counts))
    }

    /// Number of tokens.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// The share of tokens with the right tag, `O` included; 0 for no tokens.
    pub fn token_accuracy(&self) -> f64 {
        ratio(self.right_tokens, self.tokens)
    }
}

impl<T: Copy + Ord + Debug + Display> SpanScores<T> {
    /// The scores under the names the result rows use: `span-f1`, `span-precision`, `span-recall`, `token-accuracy`,
    /// and `span-f1:PER` for each type that gold or predictions hold.
    pub fn rows(&self) -> Vec<(String, f64)> {
        let PrecisionRecallF1 {
            precision,
            recall,
            f1,
            ..
        } = self.total.scores();
        let mut rows = vec![
            ("span-f1".to_string(), f1),
            ("span-precision".to_string(), precision),
            ("span-recall".to_string(), recall),
            ("token-accuracy".to_string(), self.token_accuracy()),
        ];
        let of_types = self.types();
        rows.extend(of_types.map(|(name, counts)| (format!("span-f1:{name}"), counts.scores().f1)));
        rows
    }
}

impl<'a> SpanScores<&'a str> {
    /// Adds one sentence, given as names of tags such as `B-PER`.
    ///
    /// # Panics
    /// If gold and predicted tags differ in number, at a name [`parse_tag`] does not take, or as [`spans`] does.
    pub fn add_names<S: AsRef<str>>(&mut self, gold: &'a [S], predicted: &'a [S]) {
        let pair = |name: &'a S| {
            let name = name.as_ref();
            parse_tag(name).unwrap_or_else(|| panic!("`{name}` is not a tag such as `B-PER`"))
        };
        self.add(gold.iter().map(pair), predicted.iter().map(pair));
    }
}

/// The report of `conlleval`, in percent, line for line as the script prints it.
impl<T: Ord + Display> Display for SpanScores<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Counts {
            gold,
            predicted,
            both,
        } = self.total;
        let tokens = self.tokens;
        write!(f, "processed {tokens} tokens with {gold} phrases; ")?;
        writeln!(f, "found: {predicted} phrases; correct: {both}.")?;
        if tokens > 0 {
            let accuracy = percent(self.right_tokens, tokens);
            writeln!(f, "accuracy: {accuracy:6.2}%; {}", Percent(self.total))?;
        }
        for (span_type, counts) in &self.types {
            let found = counts.predicted;
            writeln!(
                f,
                "{:>17}: {}  {found}",
                span_type.to_string(),
                Percent(*counts)
            )?;
        }
        Ok(())
    }
}

struct Percent(Counts);

impl Display for Percent {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Counts {
            gold,
            predicted,
            both,
        } = self.0;
        let (precision, recall) = (percent(both, predicted), percent(both, gold));
        // From the percentages, as the script does, so that the last digit is rounded as it is there.
        let f1 = if precision + recall > 0.0 {
            2.0 * precision * recall / (precision + recall)
        } else {
            0.0
        };
        write!(
            f,
            "precision: {precision:6.2}%; recall: {recall:6.2}%; FB1: {f1:6.2}"
        )
    }
}

fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        0.0
    } else {
        100.0 * part as f64 / whole as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_counts_once_its_type_and_both_ends_are_right() {
        let mut scores = SpanScores::new(SpanEvaluation::Conlleval);
        let gold = ["B-PER", "I-PER", "O", "B-LOC", "B-ORG", "O"];
        let predicted = ["B-PER", "I-PER", "O", "B-ORG", "B-ORG", "B-LOC"];
        scores.add_names(&gold, &predicted);
        scores.add_names(&["O", "B-LOC"], &["B-LOC", "I-LOC"]);
        let counts = |gold, predicted, both| Counts {
            gold,
            predicted,
            both,
        };
        assert_eq!(scores.total(), counts(4, 5, 2));
        assert_eq!(
            scores.types().collect::<Vec<_>>(),
            [
                ("LOC", counts(2, 2, 0)),
                ("ORG", counts(1, 2, 1)),
                ("PER", counts(1, 1, 1))
            ]
        );
        // Four of the first six tags, and none of the other two: `B-LOC` is not `I-LOC`.
        assert_eq!(scores.token_accuracy(), 4.0 / 8.0);
        let names: Vec<String> = scores.rows().into_iter().map(|(name, _)| name).collect();
        let of_types = ["span-f1:LOC", "span-f1:ORG", "span-f1:PER"];
        assert_eq!(
            names[..4],
            ["span-f1", "span-precision", "span-recall", "token-accuracy"]
        );
        assert_eq!(names[4..], of_types);
    }

    #[test]
    fn types_may_be_numbers_and_that_of_an_o_does_not_matter() {
        let mut scores = SpanScores::new(SpanEvaluation::Conlleval);
        scores.add(
            [(Kind::Begin, 3), (Kind::Outside, 0)],
            [(Kind::Begin, 3), (Kind::Outside, 9)],
        );
        assert_eq!((scores.total().both, scores.token_accuracy()), (1, 1.0));
    }

    #[test]
    fn no_sentence_scores_zero() {
        let scores = SpanScores::<&str>::new(SpanEvaluation::Conlleval);
        assert!(scores.rows().iter().all(|(_, value)| *value == 0.0));
        assert_eq!(
            scores.to_string(),
            "processed 0 tokens with 0 phrases; found: 0 phrases; correct: 0.\n"
        );
    }

    #[test]
    #[should_panic(expected = "differ in number")]
    fn a_sentence_with_a_tag_missing_is_refused() {
        SpanScores::new(SpanEvaluation::Conlleval).add_names(&["O", "O"][..], &["O"][..]);
    }

    #[test]
    #[should_panic(expected = "`X-PER` is not a tag such as `B-PER`")]
    fn a_name_that_is_no_tag_is_refused() {
        SpanScores::new(SpanEvaluation::Conlleval).add_names(&["X-PER"], &["O"]);
    }
}
