//! The tokenizer of an encoder.

use std::path::Path;

use anyhow::{Result, ensure};
use totune_data::{
    Alignment, Dataset, Encoded, EncodedCache, Example, Pairs, Source, SubwordChoice, Template,
    Tokenizer, Window, WordContext, characters,
};
use totune_model::{Architecture, TokenizerKind};

use super::{InputEncoding, Rows};

/// Makes the inputs of an encoder from examples: subwords, or the characters of words.
#[derive(Debug)]
pub struct Reader {
    /// Tokenizer; none where words are read by their characters.
    tokenizer: Option<Tokenizer>,
}

/// Inputs of whole texts, of at most so many tokens.
type EncodeTexts<'a> = dyn Fn(&Tokenizer, usize) -> Result<Vec<Encoded>> + 'a;

impl Reader {
    /// Opens the tokenizer that an encoder was trained with: that of its architecture in the folder `dir`. `pad_id` is
    /// the encoder's padding id, which only counts where the architecture reads something from it.
    ///
    /// # Errors
    /// When there is none, it is one of another architecture, or its padding is not the encoder's, or it has
    /// tokens that the encoder does not.
    pub fn open(
        dir: &Path,
        architecture: &Architecture,
        lowercase: bool,
        pad_id: u32,
    ) -> Result<Self> {
        let expected = match architecture.tokenizer() {
            TokenizerKind::Characters => return Ok(Self { tokenizer: None }),
            TokenizerKind::Wordpiece => Template::BERT,
            TokenizerKind::ByteLevelBpe => Template::ROBERTA,
            TokenizerKind::ModernBertBpe => Template::MODERNBERT,
            TokenizerKind::Unigram => Template::XLM_ROBERTA,
            TokenizerKind::DebertaUnigram => Template::DEBERTA,
            TokenizerKind::AlbertUnigram => Template::ALBERT,
        };
        let tokenizer = Tokenizer::open(dir, lowercase)?;
        let (found, shown) = (tokenizer.template(), dir.display());
        ensure!(
            found == expected,
            "{shown}: tokenizer: found {found:?}, expected {expected:?}, which a {architecture} was trained with"
        );
        let found = tokenizer.pad_id();
        // BERT and its relatives mask padding, whatever its id; RoBERTas count positions from it.
        let is_free = [Template::BERT, Template::ALBERT].contains(&expected);
        ensure!(
            is_free || found == pad_id,
            "{shown}: tokenizer: padding has the id {found}, expected {pad_id}, that of the {architecture}"
        );
        let found = tokenizer.vocab_size();
        if let Some(rows) = architecture.n_tokens() {
            ensure!(
                found <= rows,
                "{shown}: tokenizer: found {found} tokens, expected at most {rows}, those of the weights"
            );
        }
        Ok(Self {
            tokenizer: Some(tokenizer),
        })
    }

    /// Puts `prefix` before each text, as [`Tokenizer::with_prefix`] does.
    pub fn with_prefix(self, prefix: &str) -> Self {
        let tokenizer = self.tokenizer.map(|inner| inner.with_prefix(prefix));
        Self { tokenizer }
    }

    /// The tokenizer; none where words are read by their characters.
    pub fn tokenizer(&self) -> Option<&Tokenizer> {
        self.tokenizer.as_ref()
    }

    /// Hash of the tokenizer.
    pub fn hash(&self) -> &str {
        self.tokenizer
            .as_ref()
            .map_or(characters::NAME, Tokenizer::hash)
    }

    /// The inputs of `examples`, in their order, on `threads` threads.
    ///
    /// # Errors
    /// When an example cannot be read; it is named.
    pub fn rows(
        &self,
        examples: &[Example],
        encoding: &InputEncoding,
        threads: usize,
    ) -> Result<Rows> {
        let encode =
            |tokenizer: &Tokenizer, max_length| tokenizer.encode_all(examples, max_length, threads);
        self.encode(examples, encoding, threads, &encode)
    }

    /// Returns [`Reader::rows`] of a dataset whose texts may have been tokenized before: those come from `cache`.
    ///
    /// # Errors
    /// The same as those of [`Reader::rows`].
    pub fn cached_rows(
        &self,
        dataset: &Dataset,
        encoding: &InputEncoding,
        cache: &EncodedCache,
        threads: usize,
    ) -> Result<Rows> {
        let encode = |tokenizer: &Tokenizer, max_length| {
            let (texts, source) = cache.encode_all(tokenizer, dataset, max_length, threads)?;
            if let Source::Encoder { note: Some(note) } = source {
                crate::watch::note(&note);
            }
            Ok(texts)
        };
        self.encode(&dataset.examples, encoding, threads, &encode)
    }

    fn encode(
        &self,
        examples: &[Example],
        encoding: &InputEncoding,
        threads: usize,
        encode: &EncodeTexts,
    ) -> Result<Rows> {
        let max_length = encoding.max_length;
        Ok(match (&self.tokenizer, encoding.tagged, encoding.pairs) {
            (_, Some(context), _) => {
                Rows::of_windows(self.windows(examples, context, max_length, threads)?)
            }
            (None, None, pairs) => {
                let texts = characters::encode_all(examples, max_length, pairs, threads)?;
                Rows::of_texts(texts)
            }
            (Some(tokenizer), None, Pairs::Joint) => Rows::of_texts(encode(tokenizer, max_length)?),
            (Some(tokenizer), None, Pairs::Separate) => {
                // The special token before the second text may take a place.
                let has_pairs = examples
                    .iter()
                    .any(|example| example.input.second().is_some());
                let added = tokenizer.template().n_added_by_separation();
                let room = max_length - if has_pairs { added } else { 0 };
                let joint = encode(tokenizer, room)?.into_iter();
                Rows::of_texts(joint.map(|row| tokenizer.separate(row)).collect())
            }
        })
    }

    fn windows(
        &self,
        examples: &[Example],
        context: WordContext,
        max_length: usize,
        threads: usize,
    ) -> Result<Vec<Window>> {
        match &self.tokenizer {
            None => characters::windows(examples, context, max_length, threads),
            Some(tokenizer) => {
                let alignment = Alignment {
                    piece: SubwordChoice::First,
                    context,
                    max_length,
                };
                tokenizer.windows(examples, &alignment, threads)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use burn::tensor::Device;
    use totune_data::{Catalogue, Input};
    use totune_model::{Encoder, EncoderCatalogue, LoadedEncoder};

    use super::*;

    fn project(path: &str) -> PathBuf {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
        root.join(path)
    }

    fn open(name: &str, change: impl Fn(&mut LoadedEncoder)) -> Result<Reader> {
        let cards = EncoderCatalogue::read(&project("encoders"))?;
        let card = cards.find(name)?;
        let mut loaded = card.load(&[project("fixtures/encoders")], &Device::flex())?;
        change(&mut loaded);
        let lowercase = card.vocabulary.lowercase;
        let pad_id = loaded.encoder.pad_id();
        Reader::open(&loaded.dir, &card.architecture, lowercase, pad_id)
    }

    #[test]
    fn each_architecture_has_its_tokenizer_and_refuses_another_ones() {
        let hash = |name| open(name, |_| ()).expect("a reader").hash().to_string();
        assert_eq!(hash("fixture-elmo"), characters::NAME);
        assert_ne!(hash("fixture-bert"), hash("roberta-tiny"));
        let elsewhere = |loaded: &mut LoadedEncoder| {
            loaded.dir = project("fixtures/encoders/fixture-bert");
        };
        for name in ["roberta-tiny", "xlm-roberta-tiny", "albert-tiny"] {
            let error = open(name, elsewhere).expect_err("a WordPiece is another tokenizer");
            let error = error.to_string();
            let kind = name.trim_end_matches("-tiny");
            let expected = format!("which a {kind} was trained with");
            assert!(error.contains(&expected), "{error}");
        }
    }

    #[test]
    fn padding_of_a_bert_may_have_any_id() {
        let folder = tempfile::tempdir().expect("a folder");
        let from = project("fixtures/encoders/fixture-bert/vocab.txt");
        let text = std::fs::read_to_string(from).expect("a vocabulary");
        let mut pieces: Vec<&str> = text.lines().collect();
        pieces.swap(0, 1);
        std::fs::write(folder.path().join("vocab.txt"), pieces.join("\n")).expect("written");
        let elsewhere = |loaded: &mut LoadedEncoder| loaded.dir = folder.path().to_path_buf();
        let reader = open("fixture-bert", elsewhere).expect("a reader");
        assert_eq!(reader.tokenizer().expect("a tokenizer").pad_id(), 1);
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
            let encoding = InputEncoding::of_texts(24, pairs);
            let rows = reader.rows(&dataset.examples, &encoding, 1);
            rows.expect("rows").encoded
        });
        for (joint, separate) in joint.iter().zip(separate) {
            assert!(!joint.apart && separate.apart);
            assert_eq!(joint.texts(), separate.texts());
            assert!(joint.ids.len() <= 24 && joint.ids.len() == separate.ids.len());
        }
    }
}
