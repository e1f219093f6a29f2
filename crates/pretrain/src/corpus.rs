//! Text as wordpieces in memory.

use anyhow::{Context, Result, ensure};
use rayon::prelude::*;
use totune_data::{Document, Tokenizer};

use crate::masking::MaskVocabulary;
use crate::packing::{Documents, HeldOut, Marks};

/// All text of a run under one vocabulary.
#[derive(Debug)]
pub struct Corpus {
    /// Training text of all cards.
    pub train: Documents,
    /// Held-out text, which is never trained on.
    pub held_out: HeldOut,
    /// Number of training words, split at white space.
    pub words: u64,
    /// Boundary tokens `[CLS]` and `[SEP]`.
    pub marks: Marks,
    /// Vocabulary as masking uses it.
    pub pieces: MaskVocabulary,
    /// Frequency of each wordpiece in `train`.
    pub counts: Vec<u64>,
}

impl Corpus {
    /// Encodes the texts, each with its name, its documents and its held-out documents.
    ///
    /// # Errors
    /// When the vocabulary lacks `[MASK]` or has more than 65,536 wordpieces, or a text gives no wordpiece.
    pub fn new(
        texts: Vec<(String, Vec<Document>, Vec<Document>)>,
        tokenizer: &Tokenizer,
    ) -> Result<Self> {
        let n = tokenizer.vocab_size();
        ensure!(
            n <= 1 << 16,
            "the vocabulary has {n} wordpieces, expected at most 65,536"
        );
        let pieces: Vec<String> = (0..n as u32).map(|id| tokenizer.piece(id)).collect();
        let id = |piece: &str| {
            let place = pieces.iter().position(|other| other == piece);
            place
                .map(|place| place as u16)
                .with_context(|| format!("the vocabulary has no `{piece}`"))
        };
        let mut corpus = Self {
            train: Documents::default(),
            held_out: HeldOut::from_iter([]),
            words: 0,
            marks: Marks {
                first: id("[CLS]")?,
                last: id("[SEP]")?,
            },
            pieces: MaskVocabulary {
                continues: pieces.iter().map(|piece| piece.starts_with("##")).collect(),
                special: pieces.iter().map(|piece| is_special(piece)).collect(),
                mask: id("[MASK]")?,
            },
            counts: vec![0; n],
        };
        let mut all_held_out = Vec::new();
        for (name, train, held_out) in texts {
            corpus.words += count_words(&train);
            let before = corpus.train.n_tokens();
            encode(&train, tokenizer, &mut corpus.train)?;
            ensure!(
                corpus.train.n_tokens() > before,
                "text `{name}`: found no word to train on"
            );
            let mut documents = Documents::default();
            encode(&held_out, tokenizer, &mut documents)?;
            all_held_out.push((name, documents));
        }
        corpus.held_out = all_held_out.into_iter().collect();
        for &id in corpus.train.ids() {
            corpus.counts[usize::from(id)] += 1;
        }
        Ok(corpus)
    }

    /// Number of wordpieces in the vocabulary.
    pub fn vocab_size(&self) -> usize {
        self.counts.len()
    }

    /// Negative log-probability of `id` under the frequencies of `train` (add-one smoothed), in nats.
    pub fn unigram_nats(&self, id: u16) -> f64 {
        let total: u64 = self.counts.iter().sum();
        let smoothed = (self.counts[usize::from(id)] + 1) as f64;
        -(smoothed / (total as f64 + self.counts.len() as f64)).ln()
    }
}

/// Tests for special tokens: `[CLS]`, `[unused7]` and the like.
fn is_special(piece: &str) -> bool {
    piece.len() > 2 && piece.starts_with('[') && piece.ends_with(']')
}

/// Number of words of all documents, split at white space.
fn count_words(documents: &[Document]) -> u64 {
    documents
        .par_iter()
        .flat_map_iter(|document| &document.paragraphs)
        .map(|paragraph| paragraph.split_whitespace().count() as u64)
        .sum()
}

/// Adds the wordpieces of each document, its paragraphs one after the other.
fn encode(documents: &[Document], tokenizer: &Tokenizer, to: &mut Documents) -> Result<()> {
    // A share at a time: the tokenizer's ids are twice as wide as the stored ones.
    for share in documents.chunks(4096) {
        let paragraphs: Vec<&str> = share
            .iter()
            .flat_map(|document| document.paragraphs.iter().map(String::as_str))
            .collect();
        let mut ids = tokenizer.pieces_of(&paragraphs)?.into_iter();
        for document in share {
            let of_document = ids.by_ref().take(document.paragraphs.len());
            to.push(of_document.flatten().map(|id| id as u16));
        }
    }
    Ok(())
}
