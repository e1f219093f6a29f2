//! Text as words, for language models that read characters and predict words.

use std::collections::HashMap;

use anyhow::{Result, ensure};
use rayon::prelude::*;
use totune_data::{Document, characters};

use crate::packing::{Documents, HeldOut};

/// `</S>`, `<S>` and `<UNK>`, the first ids; both boundaries are as frequent as segments.
const SPECIAL: [&str; 3] = ["</S>", "<S>", "<UNK>"];

/// All text of a run as segments of words.
#[derive(Debug)]
pub struct WordCorpus {
    /// Different words, the most frequent first; of equally frequent ones those first in Unicode.
    pub types: Vec<String>,
    /// Number of occurrences of each word in the training text.
    counts: Vec<u64>,
    /// Training segments as numbers of words.
    pub train: Documents<u32>,
    /// Held-out segments, which are never trained on. A word that only occurs in them has a number after those of the
    /// training text.
    pub held_out: HeldOut<u32>,
    /// Number of words that are predicted as themselves, including special ones.
    pub vocab: usize,
}

impl WordCorpus {
    /// Cuts the texts, each with its name, its documents and its held-out documents, into segments of at most `longest`
    /// words, and takes the most frequent words as a vocabulary of `vocab`.
    ///
    /// # Errors
    /// When the texts have fewer different words.
    pub fn new(
        texts: Vec<(String, Vec<Document>, Vec<Document>)>,
        vocab: usize,
        longest: usize,
    ) -> Result<Self> {
        let mut seen = WordIndex::default();
        let mut train = Documents::default();
        let mut held_out = Vec::new();
        for (_, documents, _) in &texts {
            seen.add(documents, longest, &mut train)?;
        }
        let n_trained = seen.words.len();
        for (name, _, documents) in texts {
            let mut segments = Documents::default();
            seen.add(&documents, longest, &mut segments)?;
            held_out.push((name, segments));
        }
        ensure!(
            n_trained + SPECIAL.len() >= vocab,
            "start.vocabulary.size: found {vocab}, but the text has {n_trained} different words"
        );
        let mut counts = vec![0u64; seen.words.len()];
        train.ids().iter().for_each(|&i| counts[i as usize] += 1);
        let mut order: Vec<u32> = (0..seen.words.len() as u32).collect();
        order.sort_by_key(|&i| {
            (
                std::cmp::Reverse(counts[i as usize]),
                &seen.words[i as usize],
            )
        });
        let mut rank = vec![0u32; order.len()];
        for (place, &i) in order.iter().enumerate() {
            rank[i as usize] = place as u32;
        }
        let ranked = |segments: Documents<u32>| segments.map(|i| rank[i as usize]);
        Ok(Self {
            counts: order.iter().map(|&i| counts[i as usize]).collect(),
            types: order
                .iter()
                .map(|&i| std::mem::take(&mut seen.words[i as usize]))
                .collect(),
            train: ranked(train),
            held_out: held_out
                .into_iter()
                .map(|(name, segments)| (name, ranked(segments)))
                .collect(),
            vocab,
        })
    }

    /// Returns the vocabulary, by id.
    pub fn vocabulary(&self) -> Vec<String> {
        let words = self.types.iter().map(String::as_str);
        SPECIAL
            .into_iter()
            .chain(words)
            .take(self.vocab)
            .map(String::from)
            .collect()
    }

    /// Returns the id in the vocabulary of word `i`.
    pub fn id(&self, i: u32) -> u32 {
        let id = i + SPECIAL.len() as u32;
        if (id as usize) < self.vocab {
            id
        } else {
            UNKNOWN
        }
    }

    /// Sum of `-ln p` over the words of a segment and one boundary, in nats, under word frequencies (add-one smoothed);
    /// all words outside the vocabulary count as one.
    pub fn unigram_nats(&self, segment: &[u32]) -> f64 {
        let segments = self.train.len() as u64;
        let total = (self.train.n_tokens() as u64 + segments + self.vocab as u64) as f64;
        let inside = self.vocab - SPECIAL.len();
        let unknown: u64 = self.counts[inside..].iter().sum();
        let nats = |count: u64| -((count + 1) as f64 / total).ln();
        let words = segment.iter().map(|&i| match self.id(i) {
            UNKNOWN => nats(unknown),
            _ => nats(self.counts[i as usize]),
        });
        words.sum::<f64>() + nats(segments)
    }
}

/// The id of `</S>`.
pub const END: u32 = 0;
/// The id of `<S>`.
pub const START: u32 = 1;
/// The id of `<UNK>`.
pub const UNKNOWN: u32 = 2;

/// Words by the order in which they are first seen.
#[derive(Default)]
struct WordIndex {
    words: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl WordIndex {
    /// Adds the segments of `documents`.
    fn add(
        &mut self,
        documents: &[Document],
        longest: usize,
        to: &mut Documents<u32>,
    ) -> Result<()> {
        // A share at a time: words as text are many times as large as their numbers.
        for share in documents.chunks(4096) {
            let segments: Vec<Vec<Vec<String>>> = share
                .par_iter()
                .map(|document| segments(document, longest))
                .collect::<Result<_>>()?;
            for segment in segments.into_iter().flatten() {
                let numbers: Vec<u32> = segment.into_iter().map(|word| self.number(word)).collect();
                to.push(numbers);
            }
        }
        Ok(())
    }

    fn number(&mut self, word: String) -> u32 {
        if let Some(&number) = self.numbers.get(&word) {
            return number;
        }
        let number = self.words.len() as u32;
        self.words.push(word.clone());
        self.numbers.insert(word, number);
        number
    }
}

/// Splits a document into the words of each sentence; sentences of more than `longest` words are cut.
///
/// A sentence ends behind `.`, `!` or `?` and what closes behind it. Abbreviations end one too: it is read as a shorter
/// one.
fn segments(document: &Document, longest: usize) -> Result<Vec<Vec<String>>> {
    let mut segments = Vec::new();
    for paragraph in &document.paragraphs {
        let mut segment = Vec::new();
        let mut ended = false;
        for word in characters::words(paragraph)? {
            let closes = matches!(word.as_str(), ")" | "]" | "\"" | "'" | "”" | "’");
            if segment.len() == longest || (ended && !closes) {
                segments.push(std::mem::take(&mut segment));
                ended = false;
            }
            ended |= matches!(word.as_str(), "." | "!" | "?");
            segment.push(word);
        }
        segments.push(segment);
    }
    Ok(segments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Document {
        Document {
            paragraphs: vec![text.to_string()],
        }
    }

    #[test]
    fn sentences_end_behind_what_closes_them_and_long_ones_are_cut() {
        let text = document("He said \"go!\" Then all of them went away. (They did.)");
        let found: Vec<String> = segments(&text, 5)
            .expect("UTF-8")
            .iter()
            .map(|segment| segment.join(" "))
            .collect();
        assert_eq!(
            found,
            [
                "He said \" go !",
                "\" Then all of them",
                "went away .",
                "( They did . )"
            ]
        );
    }

    #[test]
    fn words_are_numbered_by_frequency_and_rare_ones_are_unknown() {
        let texts = vec![(
            "t".to_string(),
            vec![document("b a b c b a")],
            vec![document("a new word")],
        )];
        let corpus = WordCorpus::new(texts, 5, 10).expect("enough words");
        assert_eq!(corpus.types[..3], ["b", "a", "c"]);
        assert_eq!(corpus.vocabulary(), ["</S>", "<S>", "<UNK>", "b", "a"]);
        assert_eq!(corpus.train.ids(), [0, 1, 0, 2, 0, 1]);
        assert_eq!((corpus.id(1), corpus.id(2)), (4, UNKNOWN));
        // Of 6 words and 1 segment, smoothed by 5: "a" 2 + 1, two unknown words 1 + 1 each, the boundary 1 + 1 of 12.
        let expected = -(3f64 / 12.0).ln() - 2.0 * (2f64 / 12.0).ln() - (2f64 / 12.0).ln();
        let held_out = corpus.held_out.text("t").document(0);
        assert!((corpus.unigram_nats(held_out) - expected).abs() < 1e-12);
    }
}
