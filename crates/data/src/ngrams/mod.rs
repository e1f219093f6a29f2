//! N-grams that evaluation data and the text of a language model share.
//!
//! A word is a lower-cased run of letters or digits, an n-gram is `n` words in a row of one text. A row of an
//! evaluation set overlaps with a text if one of its n-grams is in a paragraph of it; of a pair, each text has its own
//! n-grams. Rows of fewer than `n` words have none. 13 words are the length that Brown et al. 2020, appendix C, take.

mod hashes;
mod report;
mod words;

pub use report::{OverlapReport, RowOverlap, TextOverlap, overlap_markdown, overlap_table};
pub use words::for_each_word;

use crate::{Dataset, Input, TextCard, TextPart};
use anyhow::Result;
use hashes::{ByHash, NgramHashes};
use rayon::prelude::*;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Default number of words of an n-gram (Brown et al. 2020, appendix C).
pub const WORDS: usize = 13;

/// The n-grams of evaluation data, to look up those of other texts.
#[derive(Clone, Debug)]
pub struct Overlap {
    n: usize,
    hashes: NgramHashes,
    /// The number of each n-gram.
    numbers: ByHash<u32>,
    splits: Vec<Split>,
}

/// The rows of a split, as the numbers of their n-grams.
#[derive(Clone, Debug)]
struct Split {
    dataset: String,
    split: String,
    rows: usize,
    /// N-grams of the rows that have any, one row after the other.
    ngrams: Vec<u32>,
    /// The end of each such row in `ngrams`.
    ends: Vec<usize>,
}

impl Overlap {
    /// No evaluation data yet; n-grams of `n` words.
    pub fn new(n: usize) -> Self {
        Self {
            n,
            hashes: NgramHashes::new(n),
            numbers: ByHash::default(),
            splits: Vec::new(),
        }
    }

    /// The n-grams of [`WORDS`] words of `datasets`.
    pub fn of<'a>(datasets: impl IntoIterator<Item = &'a Dataset>) -> Self {
        let mut overlap = Self::new(WORDS);
        for dataset in datasets {
            overlap.add("", dataset);
        }
        overlap
    }

    /// Adds the rows of `dataset`, which are those of `split`.
    pub fn add(&mut self, split: &str, dataset: &Dataset) {
        let mut added = Split {
            dataset: dataset.name.clone(),
            split: split.to_string(),
            rows: dataset.examples.len(),
            ngrams: Vec::new(),
            ends: Vec::new(),
        };
        for example in &dataset.examples {
            let before = added.ngrams.len();
            // Texts, each with n-grams of its own, in parts.
            let texts: Vec<Vec<&str>> = match &example.input {
                Input::Words(words) => vec![words.iter().map(String::as_str).collect()],
                input => input.texts().into_iter().map(|text| vec![text]).collect(),
            };
            for parts in texts {
                self.hashes.each(parts, |hash| {
                    let next = u32::try_from(self.numbers.len()).expect("fewer than 2^32 n-grams");
                    added.ngrams.push(*self.numbers.entry(hash).or_insert(next));
                });
            }
            if added.ngrams.len() > before {
                added.ends.push(added.ngrams.len());
            }
        }
        self.splits.push(added);
    }

    /// Returns whether `text`, such as a paragraph to train on, has an n-gram of the evaluation data.
    pub fn paragraph(&self, text: &str) -> bool {
        let mut found = false;
        self.hashes
            .each([text], |hash| found |= self.numbers.contains_key(&hash));
        found
    }

    /// The number of different n-grams of the evaluation data.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Returns whether the evaluation data has no n-gram.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Looks the training files of `texts` up, in parallel and one file at a time.
    pub fn report(&self, texts: &[TextCard], root: &Path) -> Result<OverlapReport> {
        self.report_with(texts, &[], root)
    }

    /// Like [`Overlap::report`], with the rows of `data` after the texts, each under its name: data that a model was
    /// trained on. Each text of a row is a paragraph.
    pub fn report_with(
        &self,
        texts: &[TextCard],
        data: &[(String, Dataset)],
        root: &Path,
    ) -> Result<OverlapReport> {
        let names = texts.iter().map(|card| card.name.clone());
        let names: Vec<String> = names
            .chain(data.iter().map(|(name, _)| name.clone()))
            .collect();
        let scans: Vec<Scan> = names.iter().map(|_| Scan::new(self.len())).collect();
        let (of_texts, of_data) = scans.split_at(texts.len());
        for ((_, dataset), scan) in data.iter().zip(of_data) {
            let inputs = dataset.examples.par_iter().map(|example| &example.input);
            inputs.for_each(|input| match input {
                Input::Words(words) => scan.paragraph(self, &words.join(" ")),
                Input::Text(_) | Input::Pair(..) => {
                    let texts = input.texts();
                    texts.iter().for_each(|text| scan.paragraph(self, text));
                }
            });
        }
        let files: Vec<_> = texts
            .iter()
            .zip(of_texts)
            .flat_map(|(card, scan)| {
                let files = card.files_of(TextPart::Train);
                files.map(move |file| (card, file, scan))
            })
            .collect();
        files.par_iter().try_for_each(|(card, file, scan)| {
            for document in card.file_documents(file, root)? {
                for paragraph in &document.paragraphs {
                    scan.paragraph(self, paragraph);
                }
            }
            anyhow::Ok(())
        })?;
        Ok(self.reported(&names, &scans))
    }

    fn reported(&self, names: &[String], scans: &[Scan]) -> OverlapReport {
        let hits: Vec<Vec<bool>> = scans.iter().map(Scan::hits).collect();
        let rows = self.splits.iter().map(|split| {
            let mut found = RowOverlap {
                dataset: split.dataset.clone(),
                split: split.split.clone(),
                rows: split.rows,
                long_enough: split.ends.len(),
                shared: vec![0; names.len()],
                shared_with_any: 0,
            };
            let mut start = 0;
            for &end in &split.ends {
                let ngrams = &split.ngrams[start..end];
                start = end;
                let mut any = false;
                for (shared, hits) in found.shared.iter_mut().zip(&hits) {
                    let hit = ngrams.iter().any(|&number| hits[number as usize]);
                    *shared += usize::from(hit);
                    any |= hit;
                }
                found.shared_with_any += usize::from(any);
            }
            found
        });
        let texts = names.iter().zip(scans).map(|(name, scan)| TextOverlap {
            text: name.clone(),
            paragraphs: scan.paragraphs.load(Ordering::Relaxed),
            shared: scan.shared.load(Ordering::Relaxed),
        });
        OverlapReport {
            n: self.n,
            texts: texts.collect(),
            splits: rows.collect(),
        }
    }
}

/// The shared n-grams of one text, filled in by several threads.
#[derive(Debug)]
struct Scan {
    found: Vec<AtomicBool>,
    paragraphs: AtomicUsize,
    shared: AtomicUsize,
}

impl Scan {
    fn new(n_ngrams: usize) -> Self {
        Self {
            found: (0..n_ngrams).map(|_| AtomicBool::new(false)).collect(),
            paragraphs: AtomicUsize::new(0),
            shared: AtomicUsize::new(0),
        }
    }

    fn paragraph(&self, overlap: &Overlap, text: &str) {
        let mut shared = false;
        overlap.hashes.each([text], |hash| {
            if let Some(&number) = overlap.numbers.get(&hash) {
                self.found[number as usize].store(true, Ordering::Relaxed);
                shared = true;
            }
        });
        self.paragraphs.fetch_add(1, Ordering::Relaxed);
        self.shared
            .fetch_add(usize::from(shared), Ordering::Relaxed);
    }

    fn hits(&self) -> Vec<bool> {
        let found = self.found.iter();
        found.map(|found| found.load(Ordering::Relaxed)).collect()
    }
}
