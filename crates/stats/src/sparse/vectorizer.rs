//! Text vectorisers: one row for each text, one column for each word.

use hashbrown::HashMap;
use serde::{Deserialize, Serialize};

use super::csr::Csr;
use super::murmur::murmur3_32;
use super::tokens::for_each_token;

/// Columns of the hashed features, scikit-learn's default.
pub const HASH_COLUMNS: usize = 1 << 20;

/// Features of a text. Each kind is scikit-learn's vectoriser of that name with its defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Features {
    /// `TfidfVectorizer`: count times ln((1 + n) / (1 + df)) + 1, rows of length one.
    TfIdf,
    /// `CountVectorizer`: the count of each word.
    Count,
    /// `HashingVectorizer`: a word adds 1 or -1, by the sign of its hash, to the column |hash| mod 2²⁰; rows of
    /// length one.
    Hash,
}

/// Vocabulary and weights learnt from the texts a [`Vectorizer`] was fitted to, and from no others.
#[derive(Clone, Debug)]
pub struct Vectorizer {
    features: Features,
    /// The column of each word; columns are in the order of the words. Empty for hashed features.
    vocabulary: HashMap<String, u32>,
    /// The weight of each column; empty unless TF-IDF.
    idf: Vec<f64>,
}

impl Vectorizer {
    /// Fits to `texts`, and returns their matrix.
    ///
    /// Texts without a single word give a matrix without columns, which scikit-learn refuses ("empty
    /// vocabulary").
    pub fn fit(features: Features, texts: &[&str]) -> (Self, Csr) {
        if features == Features::Hash {
            let vectorizer = Self {
                features,
                vocabulary: HashMap::new(),
                idf: Vec::new(),
            };
            let matrix = vectorizer.transform(texts);
            return (vectorizer, matrix);
        }
        let (vocabulary, mut matrix) = learn_words(texts);
        let mut idf = Vec::new();
        if features == Features::TfIdf {
            idf = inverse_document_frequencies(&matrix);
            matrix.scale_columns(&idf);
            matrix.normalise_rows();
        }
        (
            Self {
                features,
                vocabulary,
                idf,
            },
            matrix,
        )
    }

    /// The matrix of `texts`; words that were not in the texts fitted to are left out.
    pub fn transform(&self, texts: &[&str]) -> Csr {
        let mut matrix = Csr::new(self.n_columns());
        let mut lower = String::new();
        let mut entries = Vec::new();
        for text in texts {
            entries.clear();
            for_each_token(text, &mut lower, |word| match self.features {
                Features::Hash => entries.push(hashed(word)),
                Features::TfIdf | Features::Count => {
                    entries.extend(self.vocabulary.get(word).map(|&column| (column, 1.0)));
                }
            });
            matrix.push_row(&mut entries);
        }
        match self.features {
            Features::TfIdf => {
                matrix.scale_columns(&self.idf);
                matrix.normalise_rows();
            }
            Features::Hash => matrix.normalise_rows(),
            Features::Count => {}
        }
        matrix
    }

    /// Number of columns.
    pub fn n_columns(&self) -> usize {
        match self.features {
            Features::Hash => HASH_COLUMNS,
            Features::TfIdf | Features::Count => self.vocabulary.len(),
        }
    }

    /// The column of a word, lower-cased already; `None` for one that was not learnt.
    pub fn column(&self, word: &str) -> Option<usize> {
        match self.features {
            Features::Hash => Some(hashed(word).0 as usize),
            Features::TfIdf | Features::Count => self.vocabulary.get(word).map(|&c| c as usize),
        }
    }

    /// The words learnt, in the order of their columns; empty for hashed features.
    pub fn words(&self) -> Vec<&str> {
        let mut words: Vec<&str> = self.vocabulary.keys().map(String::as_str).collect();
        words.sort_unstable();
        words
    }
}

/// The column and sign of a hashed word.
fn hashed(word: &str) -> (u32, f64) {
    let hash = murmur3_32(word.as_bytes(), 0);
    (
        hash.unsigned_abs() % HASH_COLUMNS as u32,
        if hash >= 0 { 1.0 } else { -1.0 },
    )
}

/// The words of `texts` in code point order, and how often each text has each.
fn learn_words(texts: &[&str]) -> (HashMap<String, u32>, Csr) {
    let mut vocabulary: HashMap<String, u32> = HashMap::new();
    let mut found: Vec<u32> = Vec::new(); // numbers of words in order of first sight
    let mut ends = Vec::with_capacity(texts.len());
    let mut lower = String::new();
    for text in texts {
        for_each_token(text, &mut lower, |word| {
            let next = vocabulary.len() as u32;
            found.push(*vocabulary.entry_ref(word).or_insert(next));
        });
        ends.push(found.len());
    }

    let mut words: Vec<(u64, &str, &mut u32)> = vocabulary
        .iter_mut()
        .map(|(word, number)| (first_bytes(word), word.as_str(), number))
        .collect();
    words.sort_unstable_by_key(|&(first, word, _)| (first, word));
    let mut column_of = vec![0; words.len()];
    for (column, (_, _, number)) in (0u32..).zip(words) {
        column_of[*number as usize] = column;
        *number = column;
    }

    let mut matrix = Csr::new(vocabulary.len());
    let mut entries = Vec::new();
    let mut start = 0;
    for end in ends {
        entries.clear();
        entries.extend(
            found[start..end]
                .iter()
                .map(|&number| (column_of[number as usize], 1.0)),
        );
        matrix.push_row(&mut entries);
        start = end;
    }
    (vocabulary, matrix)
}

/// The first eight bytes as a number, which orders most words without a look at their text.
fn first_bytes(word: &str) -> u64 {
    let mut bytes = [0; 8];
    let n = word.len().min(8);
    bytes[..n].copy_from_slice(&word.as_bytes()[..n]);
    u64::from_be_bytes(bytes)
}

/// ln((1 + n) / (1 + df)) + 1 for each column, as if one more text held every word (`smooth_idf=True`).
fn inverse_document_frequencies(counts: &Csr) -> Vec<f64> {
    let mut df = vec![0u32; counts.n_columns()];
    for (columns, _) in counts.rows() {
        columns.iter().for_each(|&column| df[column as usize] += 1);
    }
    let n = counts.n_rows() as f64;
    df.iter()
        .map(|&df| ((1.0 + n) / (1.0 + f64::from(df))).ln() + 1.0)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 3] = ["fire fire here", "here now", ""];

    #[test]
    fn counts_stand_in_the_order_of_the_words() {
        let (vectorizer, matrix) = Vectorizer::fit(Features::Count, &TEXTS);
        assert_eq!(vectorizer.words(), ["fire", "here", "now"]);
        assert_eq!(matrix.row(0), (&[0, 1][..], &[2.0, 1.0][..]));
        assert_eq!(matrix.row(2).0.len(), 0);
    }

    #[test]
    fn tf_idf_weighs_a_rare_word_more() {
        let (_, matrix) = Vectorizer::fit(Features::TfIdf, &TEXTS);
        // idf(here) = ln(4/3) + 1, idf(now) = ln(4/2) + 1.
        let (here, now) = ((4.0f64 / 3.0).ln() + 1.0, 2.0f64.ln() + 1.0);
        let length = here.hypot(now);
        let (columns, values) = matrix.row(1);
        assert_eq!(columns, [1, 2]);
        assert!(
            (values[0] - here / length).abs() < 1e-15 && (values[1] - now / length).abs() < 1e-15
        );
    }

    #[test]
    fn the_texts_fitted_to_transform_to_the_same_matrix() {
        for features in [Features::TfIdf, Features::Count, Features::Hash] {
            let (vectorizer, matrix) = Vectorizer::fit(features, &TEXTS);
            assert_eq!(vectorizer.transform(&TEXTS), matrix, "{features:?}");
        }
    }

    #[test]
    fn a_word_never_seen_is_left_out_but_hashed_all_the_same() {
        for (features, stored) in [
            (Features::TfIdf, 0),
            (Features::Count, 0),
            (Features::Hash, 1),
        ] {
            let (vectorizer, _) = Vectorizer::fit(features, &TEXTS);
            assert_eq!(
                vectorizer.transform(&["storm"]).n_stored(),
                stored,
                "{features:?}"
            );
        }
    }

    #[test]
    fn texts_without_words_give_a_matrix_without_columns() {
        let (_, matrix) = Vectorizer::fit(Features::TfIdf, &["!", ""]);
        assert_eq!((matrix.n_rows(), matrix.n_columns()), (2, 0));
    }
}
