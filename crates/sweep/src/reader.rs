//! How texts become what an encoder reads.

use anyhow::{Result, ensure};
use totune_data::{
    Alignment, Dataset, Encoded, EncodedCache, Pairs, Piece, Source, Template, Tokenizer, Window,
    WordContext, characters,
};
use totune_model::{AnyEncoder, Encoder, EncoderCard, LoadedEncoder, TokenizerKind};

use crate::reading::Reading;
use crate::rows::Rows;

/// What cuts texts for an encoder.
pub(crate) enum Reader {
    /// Into the pieces of its vocabulary.
    Pieces(Box<Tokenizer>),
    /// Into words, which it reads by their characters.
    Characters,
}

impl Reader {
    /// What an encoder was trained with: the tokenizer of its architecture, from the folder with its weights.
    ///
    /// # Errors
    /// When there is none, it is one of another architecture, or its padding is not the encoder's.
    pub fn open(card: &EncoderCard, loaded: &LoadedEncoder<AnyEncoder>) -> Result<Self> {
        let expected = match card.architecture.tokenizer() {
            TokenizerKind::Characters => return Ok(Self::Characters),
            TokenizerKind::Wordpiece => Template::BERT,
            TokenizerKind::ByteLevelBpe => Template::ROBERTA,
        };
        let tokenizer = Tokenizer::open(&loaded.dir, card.vocabulary.lowercase)?;
        let (dir, architecture) = (loaded.dir.display(), &card.architecture);
        let found = tokenizer.template();
        ensure!(
            found == expected,
            "{dir}: tokenizer: found {found:?}, expected {expected:?}, which a {architecture} was trained with"
        );
        let (found, expected) = (tokenizer.pad_id(), loaded.encoder.pad_id());
        ensure!(
            found == expected,
            "{dir}: tokenizer: padding has the id {found}, expected {expected}, that of the {architecture}"
        );
        Ok(Self::Pieces(Box::new(tokenizer)))
    }

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
                // The special token before the second text may take a place.
                let room = max_length - tokenizer.template().n_added_by_separation();
                let joint = encode(tokenizer, dataset, room, cache, threads)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;
    use std::path::PathBuf;
    use totune_data::{Catalogue, Input};
    use totune_model::EncoderCatalogue;

    fn project(path: &str) -> PathBuf {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
        root.join(path)
    }

    fn open(name: &str, change: impl Fn(&mut LoadedEncoder<AnyEncoder>)) -> Result<Reader> {
        let cards = EncoderCatalogue::read(&project("encoders"))?;
        let card = cards.find(name)?;
        let mut loaded = card.load_any(&[project("fixtures/encoders")], &Device::flex())?;
        change(&mut loaded);
        Reader::open(card, &loaded)
    }

    #[test]
    fn each_architecture_has_its_tokenizer_and_refuses_another_ones() {
        let hash = |name| open(name, |_| ()).expect("a reader").hash().to_string();
        assert_eq!(hash("fixture-elmo"), characters::NAME);
        assert_ne!(hash("fixture-bert"), hash("roberta-tiny"));
        let elsewhere = |loaded: &mut LoadedEncoder<AnyEncoder>| {
            loaded.dir = project("fixtures/encoders/fixture-bert");
        };
        let error = match open("roberta-tiny", elsewhere) {
            Ok(_) => panic!("a WordPiece is no tokenizer of a RoBERTa"),
            Err(error) => error.to_string(),
        };
        assert!(
            error.contains("which a roberta was trained with"),
            "{error}"
        );
    }

    #[test]
    fn a_roberta_takes_as_many_places_for_a_pair_either_way() {
        let reader = open("roberta-tiny", |_| ()).expect("a reader");
        let cards = Catalogue::read(&project("datasets")).expect("cards");
        let card = cards.find("fixture-paraphrase").expect("a card of pairs");
        let dataset = card.load(&project("fixtures/data")).expect("its file");
        let is_pair = |input: &Input| input.second().is_some();
        assert!(dataset.examples.iter().all(|row| is_pair(&row.input)));
        let [joint, separate] = [Pairs::Joint, Pairs::Separate].map(|pairs| {
            let reading = Reading {
                max_length: 24,
                pairs,
                tagged: None,
            };
            reader
                .rows(&dataset, &reading, None, 1)
                .expect("rows")
                .encoded
        });
        for (joint, separate) in joint.iter().zip(separate) {
            assert!(!joint.apart && separate.apart);
            assert_eq!(joint.texts(), separate.texts());
            assert!(joint.ids.len() <= 24 && joint.ids.len() == separate.ids.len());
        }
    }
}
