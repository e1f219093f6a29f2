//! How texts become what an encoder reads.

use anyhow::Result;
use totune_data::{
    Alignment, Dataset, Encoded, EncodedCache, Pairs, Piece, Source, Tokenizer, Window,
    WordContext, characters,
};

use crate::inputs::Reading;
use crate::rows::Rows;

/// What cuts texts for an encoder.
pub(crate) enum Reader {
    /// Into the pieces of its vocabulary.
    Pieces(Box<Tokenizer>),
    /// Into words, which it reads by their characters.
    Characters,
}

impl Reader {
    /// What identifies it.
    pub fn hash(&self) -> &str {
        match self {
            Self::Pieces(tokenizer) => tokenizer.hash(),
            Self::Characters => characters::NAME,
        }
    }

    /// The examples of a dataset, on `threads` threads; texts that were cut before come from the cache.
    pub fn rows(
        &self,
        dataset: &Dataset,
        reading: &Reading,
        cache: Option<&EncodedCache>,
        threads: usize,
    ) -> Result<Rows> {
        Ok(match reading.tagged {
            Some(context) => Rows::of_windows(self.windows(dataset, context, reading, threads)?),
            None => Rows::of_texts(self.texts(dataset, reading, cache, threads)?),
        })
    }

    fn windows(
        &self,
        dataset: &Dataset,
        context: WordContext,
        reading: &Reading,
        threads: usize,
    ) -> Result<Vec<Window>> {
        let max_length = reading.max_length;
        match self {
            Self::Characters => {
                characters::windows(&dataset.examples, context, max_length, threads)
            }
            Self::Pieces(tokenizer) => {
                let alignment = Alignment {
                    piece: Piece::First,
                    context,
                    max_length,
                };
                tokenizer.windows(&dataset.examples, &alignment, threads)
            }
        }
    }

    fn texts(
        &self,
        dataset: &Dataset,
        reading: &Reading,
        cache: Option<&EncodedCache>,
        threads: usize,
    ) -> Result<Vec<Encoded>> {
        let max_length = reading.max_length;
        match (self, reading.pairs) {
            (Self::Characters, pairs) => {
                characters::encode_all(&dataset.examples, max_length, pairs, threads)
            }
            (Self::Pieces(tokenizer), Pairs::Joint) => {
                encode(tokenizer, dataset, max_length, cache, threads)
            }
            (Self::Pieces(tokenizer), Pairs::Separate) => {
                // The second `[CLS]` takes a place.
                let joint = encode(tokenizer, dataset, max_length - 1, cache, threads)?;
                Ok(joint
                    .into_iter()
                    .map(|row| tokenizer.separate(row))
                    .collect())
            }
        }
    }
}

fn encode(
    tokenizer: &Tokenizer,
    dataset: &Dataset,
    max_length: usize,
    cache: Option<&EncodedCache>,
    threads: usize,
) -> Result<Vec<Encoded>> {
    let Some(cache) = cache else {
        return tokenizer.encode_all(&dataset.examples, max_length, threads);
    };
    let (texts, source) = cache.encode_all(tokenizer, dataset, max_length, threads)?;
    if let Source::Encoder { note: Some(note) } = source {
        eprintln!("note: {note}");
    }
    Ok(texts)
}
