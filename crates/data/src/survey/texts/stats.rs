//! Statistics of a language model's text: words, lengths, types, the most frequent words.

use super::TextCounts;
use crate::ngrams::for_each_word;
use crate::survey::spread::Spread;
use crate::{Document, TextPart};
use ahash::AHashMap;
use rayon::prelude::*;
use serde::Serialize;

/// The statistics of one part of a text.
#[derive(Clone, Debug, Serialize)]
pub struct TextStatistics {
    /// The card's name.
    pub text: String,
    /// The part.
    pub part: TextPart,
    /// Documents, paragraphs and words, as divided by white space.
    #[serde(flatten)]
    pub counts: TextCounts,
    /// Characters of the paragraphs.
    pub characters: usize,
    /// Words of a paragraph, as divided by white space.
    pub paragraph_words: Spread,
    /// Words of a document, as divided by white space.
    pub document_words: Spread,
    /// Tokens: lower-cased runs of letters or digits.
    pub tokens: usize,
    /// Different tokens.
    pub types: usize,
    /// Types that occur once.
    pub once: usize,
    /// The tokens that the most frequent types cover.
    pub top_shares: Vec<ShareOfTop>,
    /// The most frequent types.
    pub top: Vec<TopWord>,
    /// For a held-out part: its words that the training part lacks.
    pub known: Option<HeldOutWords>,
    #[serde(skip)]
    frequencies: AHashMap<String, usize>,
}

/// The tokens that the most frequent types cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ShareOfTop {
    /// The number of types.
    pub types: usize,
    /// Tokens of these types.
    pub tokens: usize,
}

/// A type and its frequency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TopWord {
    /// The type.
    pub word: String,
    /// Its tokens.
    pub count: usize,
}

/// The vocabulary of a held-out part compared with that of the training part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HeldOutWords {
    /// Types that the training part does not have.
    pub unknown_types: usize,
    /// Tokens of these types.
    pub unknown_tokens: usize,
}

/// Numbers of types whose share of the tokens is counted.
const TOPS: [usize; 5] = [10, 100, 1_000, 10_000, 30_000];

/// The most frequent types that are named.
const NAMED: usize = 20;

impl TextStatistics {
    /// The statistics of `documents`, the part `part` of the text `text`; counted in parallel.
    pub fn of(text: &str, part: TextPart, documents: &[Document]) -> Self {
        let paragraphs = || documents.iter().flat_map(|document| &document.paragraphs);
        let words = |text: &String| text.split_whitespace().count();
        let paragraph_words: Vec<usize> = paragraphs().map(words).collect();
        let document_words: Vec<usize> = documents.iter().map(Document::words).collect();
        let frequencies = frequencies(documents);
        let mut by_count: Vec<(&str, usize)> = frequencies
            .iter()
            .map(|(word, &count)| (word.as_str(), count))
            .collect();
        by_count.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        let top_shares = TOPS.iter().filter(|&&types| types < by_count.len());
        let top_shares = top_shares.map(|&types| ShareOfTop {
            types,
            tokens: by_count[..types].iter().map(|(_, count)| count).sum(),
        });
        let top = by_count.iter().take(NAMED).map(|&(word, count)| TopWord {
            word: word.to_string(),
            count,
        });
        Self {
            text: text.to_string(),
            part,
            counts: TextCounts {
                documents: documents.len(),
                paragraphs: paragraph_words.len(),
                words: document_words.iter().sum(),
            },
            characters: paragraphs().map(|text| text.chars().count()).sum(),
            paragraph_words: Spread::of(&paragraph_words),
            document_words: Spread::of(&document_words),
            tokens: by_count.iter().map(|(_, count)| count).sum(),
            types: by_count.len(),
            once: by_count.iter().filter(|(_, count)| *count == 1).count(),
            top_shares: top_shares.collect(),
            top: top.collect(),
            known: None,
            frequencies,
        }
    }

    /// Counts the words of this held-out part that the training part `train` lacks.
    pub fn against(&mut self, train: &Self) {
        let unknown = self
            .frequencies
            .iter()
            .filter(|(word, _)| !train.frequencies.contains_key(*word));
        let mut found = HeldOutWords {
            unknown_types: 0,
            unknown_tokens: 0,
        };
        for (_, count) in unknown {
            found.unknown_types += 1;
            found.unknown_tokens += count;
        }
        self.known = Some(found);
    }
}

/// The number of occurrences of each type.
fn frequencies(documents: &[Document]) -> AHashMap<String, usize> {
    let count = |mut counts: AHashMap<String, usize>, document: &Document| {
        for paragraph in &document.paragraphs {
            for_each_word(paragraph, |word| match counts.get_mut(word) {
                Some(count) => *count += 1,
                None => {
                    counts.insert(word.to_string(), 1);
                }
            });
        }
        counts
    };
    let merged = |a: AHashMap<String, usize>, b: AHashMap<String, usize>| {
        let (mut large, small) = if a.len() < b.len() { (b, a) } else { (a, b) };
        for (word, count) in small {
            *large.entry(word).or_default() += count;
        }
        large
    };
    // Few large pieces: merging costs as much as there are types.
    let piece = documents
        .len()
        .div_ceil(rayon::current_num_threads())
        .max(1);
    let pieces = documents.par_chunks(piece);
    let pieces = pieces.map(|piece| piece.iter().fold(AHashMap::default(), count));
    pieces.reduce(AHashMap::default, merged)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents(texts: &[&[&str]]) -> Vec<Document> {
        let document = |paragraphs: &&[&str]| Document {
            paragraphs: paragraphs.iter().map(|text| text.to_string()).collect(),
        };
        texts.iter().map(document).collect()
    }

    #[test]
    fn words_types_and_lengths_are_counted() {
        let train = documents(&[&["The cat, the DOG.", "A cat"], &["Zoë's dog!"]]);
        let found = TextStatistics::of("synthetic", TextPart::Train, &train);
        let counts = (
            found.counts.documents,
            found.counts.paragraphs,
            found.counts.words,
        );
        assert_eq!(counts, (2, 3, 8));
        assert_eq!(
            (found.characters, found.tokens, found.types, found.once),
            (32, 9, 6, 3)
        );
        let top: Vec<(&str, usize)> = found
            .top
            .iter()
            .map(|top| (top.word.as_str(), top.count))
            .collect();
        assert_eq!(
            top,
            [
                ("cat", 2),
                ("dog", 2),
                ("the", 2),
                ("a", 1),
                ("s", 1),
                ("zoë", 1)
            ]
        );
        assert_eq!(
            (found.paragraph_words.max, found.document_words.p50),
            (4, 2)
        );
        assert!(found.top_shares.is_empty());
        let mut held_out = TextStatistics::of(
            "synthetic",
            TextPart::HeldOut,
            &documents(&[&["a hen, a cow, a cat, a hen"]]),
        );
        held_out.against(&found);
        let expected = HeldOutWords {
            unknown_types: 2,
            unknown_tokens: 3,
        };
        assert_eq!(held_out.known, Some(expected));
    }
}
