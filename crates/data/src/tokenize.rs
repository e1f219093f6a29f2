//! Text in, ids out: BERT's WordPiece, RoBERTa's byte-level BPE.

pub mod characters;
mod memo;
mod template;
mod windows;
mod words;

pub use template::Template;
pub use windows::Context as WordContext;
pub use words::{Alignment, Piece, Window};

use crate::hash::FieldHash;
use crate::{Example, Input, sha256_hex};
use anyhow::{Context, Result, anyhow, bail, ensure};
use memo::{Cutting, Memo};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::{AddedToken, PreTokenizerWrapper};

/// A tokenizer read from a model's folder.
#[derive(Clone, Debug)]
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    /// Cuts words that come one by one, where that is not the same as cutting texts.
    of_words: Option<Box<tokenizers::Tokenizer>>,
    template: Template,
    /// Where texts may be cut; nothing where each has to be read as a whole.
    cutting: Option<Cutting>,
    hash: String,
    unk: u32,
    cls: u32,
    sep: u32,
    pad: u32,
}

/// One example as ids, without padding: `[CLS] a [SEP]`, `[CLS] a [SEP] b [SEP]` or, where the texts of a pair are encoded
/// separately, `[CLS] a [SEP] [CLS] b [SEP]`; with the special tokens of its [`Template`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encoded {
    /// Token ids; of an encoder that reads characters, one 0 per word.
    pub ids: Vec<u32>,
    /// The segment of each token: 0 up to the first separator, 1 after it.
    pub type_ids: Vec<u8>,
    /// Whether a second text begins with a special token: where [`Template::ROBERTA`] is used, or texts are `apart`.
    pub second_opened: bool,
    /// Whether the texts of a pair, though in one row, do not see each other.
    pub apart: bool,
    /// Of an encoder that reads characters, those of each word; such rows have no special tokens.
    pub characters: Vec<characters::WordCharacters>,
}

impl Encoded {
    /// Where its texts lie, without special tokens: one range, or the two of a pair.
    pub fn texts(&self) -> Vec<Range<usize>> {
        let n = self.ids.len();
        let first = self.type_ids.iter().position(|&kind| kind == 1);
        if !self.characters.is_empty() {
            return match first {
                Some(at) => vec![0..at, at..n],
                None => vec![0..n; 1],
            };
        }
        // A separator follows each text; one special token comes first, and where it is opened one before the second.
        match first {
            Some(at) => vec![1..at - 1, at + usize::from(self.second_opened)..n - 1],
            None => vec![1..n - 1; 1],
        }
    }
}

/// How the two texts of a pair are read. A single text is read the same way with either.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Pairs {
    /// As one input, `[CLS] a [SEP] b [SEP]`: every layer relates the one to the other.
    #[default]
    Joint,
    /// Each as if it stood alone.
    Separate,
}

impl Pairs {
    /// Whether it is the way of BERT's released code.
    pub fn is_joint(&self) -> bool {
        *self == Self::Joint
    }
}

impl Tokenizer {
    /// Reads `tokenizer.json` from `dir`, or else the bare `vocab.txt` of a WordPiece.
    ///
    /// `lowercase` is what the encoder's card declares. A bare vocabulary is read that way, accents being stripped
    /// exactly when letters are lowered, as in BERT; a `tokenizer.json` that says otherwise is refused. The file's own
    /// truncation and padding are ignored: both are chosen per run.
    pub fn open(dir: &Path, lowercase: bool) -> Result<Self> {
        let full = dir.join("tokenizer.json");
        let bare = dir.join("vocab.txt");
        if full.is_file() {
            Self::from_json(&full, lowercase)
        } else if bare.is_file() {
            Self::from_vocabulary(&bare, lowercase)
        } else {
            bail!(
                "{}: no `tokenizer.json` and no `vocab.txt`; expected one of them",
                dir.display()
            )
        }
    }

    /// Reads a bare vocabulary, one wordpiece per line.
    pub fn from_vocabulary(path: &Path, lowercase: bool) -> Result<Self> {
        let bytes =
            std::fs::read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
        let text = std::str::from_utf8(&bytes).map_err(|error| {
            let line = 1 + bytes[..error.valid_up_to()]
                .iter()
                .filter(|&&byte| byte == b'\n')
                .count();
            anyhow!(
                "{}: line {line}: not UTF-8; expected one wordpiece per line",
                path.display()
            )
        })?;
        let mut vocabulary = ahash::AHashMap::new();
        for (id, piece) in text.split_terminator('\n').enumerate() {
            let piece = piece.strip_suffix('\r').unwrap_or(piece).to_string();
            if let Some(earlier) = vocabulary.insert(piece.clone(), id as u32) {
                bail!(
                    "{}: line {}: `{piece}` is already on line {}; expected it once",
                    path.display(),
                    id + 1,
                    earlier + 1
                );
            }
        }
        let model = WordPiece::builder()
            .vocab(vocabulary)
            .unk_token("[UNK]".into())
            .build()
            .map_err(|error| anyhow!("{}: {error}", path.display()))?;
        let mut inner = tokenizers::Tokenizer::new(model);
        inner
            .with_normalizer(Some(BertNormalizer::new(true, true, None, lowercase)))
            .map_err(|error| anyhow!("{}: {error}", path.display()))?;
        inner.with_pre_tokenizer(Some(BertPreTokenizer));
        let specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
            .map(|piece| AddedToken::from(piece, true));
        let known: Vec<AddedToken> = specials
            .into_iter()
            .filter(|special| inner.token_to_id(&special.content).is_some())
            .collect();
        inner
            .add_special_tokens(known)
            .map_err(|error| anyhow!("{}: {error}", path.display()))?;
        // The file does not say how it is read, so that is part of its identity.
        let mut hash = FieldHash::new();
        hash.add(&sha256_hex(&bytes));
        hash.add(if lowercase { "lowercase" } else { "cased" });
        Self::new(path, inner, Template::BERT, hash.finish())
    }

    fn from_json(path: &Path, lowercase: bool) -> Result<Self> {
        let bytes =
            std::fs::read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
        let json: Value = serde_json::from_slice(&bytes)
            .map_err(|error| anyhow!("{}: {error}; expected JSON", path.display()))?;
        let kind = json["model"]["type"].as_str().unwrap_or("nothing");
        let template = Template::of_model(kind).with_context(|| {
            let expected = Template::models();
            format!(
                "{}: model.type: `{kind}`; expected {expected}",
                path.display()
            )
        })?;
        if let Some(declared) = json["normalizer"]["lowercase"].as_bool() {
            ensure!(
                declared == lowercase,
                "{}: normalizer.lowercase: {declared}; the encoder's card declares {lowercase}",
                path.display()
            );
        }
        let mut inner = tokenizers::Tokenizer::from_bytes(&bytes)
            .map_err(|error| anyhow!("{}: {error}", path.display()))?;
        inner
            .with_truncation(None)
            .map_err(|error| anyhow!("{}: {error}", path.display()))?;
        inner.with_padding(None);
        Self::new(path, inner, template, sha256_hex(&bytes))
    }

    fn new(
        path: &Path,
        inner: tokenizers::Tokenizer,
        template: Template,
        hash: String,
    ) -> Result<Self> {
        let id = |piece: &str| {
            inner.token_to_id(piece).ok_or_else(|| {
                anyhow!(
                    "{}: no `{piece}`; expected it in the vocabulary",
                    path.display()
                )
            })
        };
        let (unk, cls) = (id(template.unk)?, id(template.cls)?);
        let (sep, pad) = (id(template.sep)?, id(template.pad)?);
        Ok(Self {
            cutting: Cutting::of(&inner),
            of_words: of_words(path, &inner, template)?,
            inner,
            template,
            hash,
            unk,
            cls,
            sep,
            pad,
        })
    }

    /// The special tokens it puts around texts.
    pub fn template(&self) -> Template {
        self.template
    }

    /// What identifies this tokenizer: the SHA-256 of its `tokenizer.json`, or of its `vocab.txt` and how that is read.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The id of the padding token.
    pub fn pad_id(&self) -> u32 {
        self.pad
    }

    /// The id of the token for what the vocabulary lacks.
    pub fn unknown_id(&self) -> u32 {
        self.unk
    }

    /// The token of `id`; of an id that is none, the number itself.
    pub fn piece(&self, id: u32) -> String {
        self.inner
            .id_to_token(id)
            .unwrap_or_else(|| format!("#{id}"))
    }

    /// How many tokens there are.
    pub fn vocab_size(&self) -> usize {
        self.inner.get_vocab_size(true)
    }

    /// `input` as at most `max_length` ids, special ones included.
    ///
    /// Words are read one after the other, each as if a space stood before it.
    pub fn encode(&self, input: &Input, max_length: usize) -> Result<Encoded> {
        let room = self.room(input, max_length)?;
        Ok(match input {
            Input::Text(text) => self.assemble(&self.pieces(text)?, None, room),
            Input::Words(words) => {
                let pieces: Result<Vec<_>> =
                    words.iter().map(|word| self.word_pieces(word)).collect();
                self.assemble(&pieces?.concat(), None, room)
            }
            Input::Pair(first, second) => {
                self.assemble(&self.pieces(first)?, Some(&self.pieces(second)?), room)
            }
        })
    }

    /// How many tokens an input may have next to the special ones.
    fn room(&self, input: &Input, max_length: usize) -> Result<usize> {
        let specials = self.template.n_specials(input.second().is_some());
        ensure!(
            max_length >= specials,
            "max_length: {max_length}; expected at least {specials}, one per special token"
        );
        Ok(max_length - specials)
    }

    /// Puts the special tokens around pieces and shortens them to `room`.
    fn assemble(&self, first: &[u32], second: Option<&[u32]>, room: usize) -> Encoded {
        let (n_first, n_second) = shorten(first.len(), second.map_or(0, <[u32]>::len), room);
        let n = self.template.n_specials(second.is_some()) + n_first + n_second;
        let mut ids = Vec::with_capacity(n);
        ids.push(self.cls);
        ids.extend_from_slice(&first[..n_first]);
        ids.push(self.sep);
        let mut type_ids = Vec::with_capacity(n);
        type_ids.resize(ids.len(), 0);
        if let Some(second) = second {
            if self.template.opens_second {
                ids.push(self.sep);
            }
            ids.extend_from_slice(&second[..n_second]);
            ids.push(self.sep);
            type_ids.resize(n, 1);
        }
        Encoded {
            ids,
            type_ids,
            second_opened: self.template.opens_second,
            ..Encoded::default()
        }
    }

    /// A pair that was encoded as one input, as two: `[CLS] a [SEP] [CLS] b [SEP]`, longer by
    /// [`Template::n_added_by_separation`]. Others stay as they are.
    pub fn separate(&self, mut encoded: Encoded) -> Encoded {
        if let Some(second) = encoded.type_ids.iter().position(|&kind| kind == 1) {
            if encoded.second_opened {
                encoded.ids[second] = self.cls;
            } else {
                encoded.ids.insert(second, self.cls);
                encoded.type_ids.insert(second, 1);
            }
            encoded.second_opened = true;
            encoded.apart = true;
        }
        encoded
    }

    /// Encodes `examples` on `threads` threads of its own; the result is that of [`Tokenizer::encode`] for each,
    /// whatever their number.
    pub fn encode_all(
        &self,
        examples: &[Example],
        max_length: usize,
        threads: usize,
    ) -> Result<Vec<Encoded>> {
        // Words come again within a thread's share, so a few large shares are better than many small ones.
        let share = examples.len().div_ceil(8 * threads.max(1)).max(256);
        let memos = Mutex::new(Vec::new());
        let encode_share = |share: &[Example]| -> Result<Vec<Encoded>> {
            let idle = memos.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut encoder = idle.unwrap_or_else(|| Encoder::new(self));
            let encoded = share
                .iter()
                .map(|example| {
                    encoder
                        .encode(&example.input, max_length)
                        .with_context(|| format!("example `{}`", example.id))
                })
                .collect();
            let mut memos = memos.lock().unwrap_or_else(PoisonError::into_inner);
            memos.push(encoder);
            encoded
        };
        if threads <= 1 {
            return encode_share(examples);
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .context("cannot start threads")?;
        let shares: Vec<Vec<Encoded>> = pool.install(|| {
            examples
                .par_chunks(share)
                .map(encode_share)
                .collect::<Result<_>>()
        })?;
        let mut all = Vec::with_capacity(examples.len());
        shares.into_iter().for_each(|share| all.extend(share));
        Ok(all)
    }

    /// The wordpieces of each text, whole and without special tokens, encoded on the current thread pool.
    pub fn pieces_of(&self, texts: &[&str]) -> Result<Vec<Vec<u32>>> {
        let encode_share = |share: &[&str]| {
            let mut encoder = Encoder::new(self);
            let ids = share.iter().map(|text| encoder.pieces(text));
            ids.collect::<Result<Vec<_>>>()
        };
        // Words come again within a share.
        let shares: Vec<Vec<Vec<u32>>> = texts
            .par_chunks(2048)
            .map(encode_share)
            .collect::<Result<_>>()?;
        Ok(shares.into_iter().flatten().collect())
    }

    fn pieces(&self, text: &str) -> Result<Vec<u32>> {
        let encoding = self
            .inner
            .encode_fast(text, false)
            .map_err(|error| anyhow!("{error}"))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// The pieces of a word that comes alone, as with transformers' `is_split_into_words`.
    fn word_pieces(&self, word: &str) -> Result<Vec<u32>> {
        let Some(of_words) = &self.of_words else {
            return self.pieces(word);
        };
        let encoding = of_words
            .encode_fast(word, false)
            .map_err(|error| anyhow!("{error}"))?;
        Ok(encoding.get_ids().to_vec())
    }
}

/// What cuts words that come one by one: a byte-level BPE makes a space part of the token behind it, and transformers
/// reads lists of words with `add_prefix_space` alone. A WordPiece cuts words and texts alike.
fn of_words(
    path: &Path,
    inner: &tokenizers::Tokenizer,
    template: Template,
) -> Result<Option<Box<tokenizers::Tokenizer>>> {
    if template == Template::BERT {
        return Ok(None);
    }
    let Some(PreTokenizerWrapper::ByteLevel(texts)) = inner.get_pre_tokenizer() else {
        bail!(
            "{}: pre_tokenizer.type: not `ByteLevel`; expected it with a BPE",
            path.display()
        );
    };
    let words = ByteLevel::new(true, texts.trim_offsets, texts.use_regex);
    let mut of_words = inner.clone();
    of_words.with_pre_tokenizer(Some(words));
    Ok(Some(Box::new(of_words)))
}

/// How many pieces of a pair are kept in `room`: the last one is taken off the longer text, and off the second when both
/// are as long, as in `_truncate_seq_pair` of BERT's released `run_classifier.py`. A single text has a second of none.
fn shorten(mut first: usize, mut second: usize, room: usize) -> (usize, usize) {
    let over = (first + second).saturating_sub(room);
    // What makes the longer one as long as the other one comes off it alone; the rest in turns, the second one first.
    let alone = over.min(first.abs_diff(second));
    if first > second {
        first -= alone;
    } else {
        second -= alone;
    }
    let rest = over - alone;
    (first - rest / 2, second - rest.div_ceil(2))
}

/// Encodes one input after the other, with what it learnt from the ones before.
struct Encoder<'a> {
    tokenizer: &'a Tokenizer,
    memo: Option<Memo<'a>>,
    first: Vec<u32>,
    second: Vec<u32>,
}

impl<'a> Encoder<'a> {
    fn new(tokenizer: &'a Tokenizer) -> Self {
        let memo = tokenizer.cutting.as_ref();
        Self {
            tokenizer,
            memo: memo.map(|cutting| Memo::new(&tokenizer.inner, cutting)),
            first: Vec::new(),
            second: Vec::new(),
        }
    }

    fn pieces(&mut self, text: &str) -> Result<Vec<u32>> {
        let Some(memo) = &mut self.memo else {
            return self.tokenizer.pieces(text);
        };
        let mut ids = Vec::new();
        memo.append(text, &mut ids)?;
        Ok(ids)
    }

    fn encode(&mut self, input: &Input, max_length: usize) -> Result<Encoded> {
        let Some(memo) = &mut self.memo else {
            return self.tokenizer.encode(input, max_length);
        };
        let room = self.tokenizer.room(input, max_length)?;
        let (first, second) = (&mut self.first, &mut self.second);
        first.clear();
        match input {
            Input::Text(text) => memo.append(text, first)?,
            Input::Words(words) => {
                for word in words {
                    memo.append(word, first)?;
                }
            }
            Input::Pair(one, other) => {
                second.clear();
                memo.append(one, first)?;
                memo.append(other, second)?;
                return Ok(self.tokenizer.assemble(first, Some(second), room));
            }
        }
        Ok(self.tokenizer.assemble(first, None, room))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Target;
    use serde_json::json;

    const PIECES: [&str; 12] = [
        "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "fire", "##s", "Re", "e", "r", "re", "##my",
    ];

    fn folder(pieces: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(dir.path().join("vocab.txt"), pieces.join("\n")).expect("a vocabulary");
        dir
    }

    fn ids(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
        tokenizer
            .encode(&Input::Text(text.into()), 16)
            .expect("ids")
            .ids
    }

    #[test]
    fn texts_lie_between_the_special_tokens_however_a_pair_is_read() {
        let dir = folder(&PIECES);
        let tokenizer = Tokenizer::open(dir.path(), false).expect("a tokenizer");
        let pair = Input::Pair("fire".into(), "Re e".into());
        let joint = tokenizer.encode(&pair, 16).expect("ids");
        assert_eq!(joint.ids, [2, 5, 3, 7, 8, 3]);
        assert_eq!(joint.texts(), [1..2, 3..5]);
        let apart = tokenizer.separate(joint);
        assert_eq!(apart.ids, [2, 5, 3, 2, 7, 8, 3]);
        assert_eq!(apart.type_ids, [0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(apart.texts(), [1..2, 4..6]);
        let single = tokenizer
            .encode(&Input::Text("fire".into()), 16)
            .expect("ids");
        assert_eq!(tokenizer.separate(single.clone()), single);
        assert_eq!(single.texts(), [Range { start: 1, end: 2 }]);
    }

    #[test]
    fn lowering_letters_strips_accents_and_keeping_them_keeps_both() {
        let dir = folder(&PIECES);
        let open = |lowercase| Tokenizer::open(dir.path(), lowercase).expect("a vocabulary");
        assert_eq!(ids(&open(true), "Rémy fires"), [2, 10, 11, 5, 6, 3]);
        assert_eq!(ids(&open(false), "Remy fires é"), [2, 7, 11, 5, 6, 1, 3]);
        assert_ne!(open(true).hash(), open(false).hash());
        assert_eq!(open(true).vocab_size(), 12);
    }

    /// A `tokenizer.json` of the same pieces that truncates to 3, pads to 9 and adds its own special tokens.
    fn json_of(pieces: &[&str]) -> serde_json::Value {
        let vocab: serde_json::Map<String, serde_json::Value> = pieces
            .iter()
            .enumerate()
            .map(|(id, piece)| (piece.to_string(), json!(id)))
            .collect();
        let special = |id: usize| {
            json!({ "id": id, "content": pieces[id], "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false, "special": true })
        };
        json!({
            "version": "1.0",
            "truncation": { "direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0 },
            "padding": { "strategy": { "Fixed": 9 }, "direction": "Right", "pad_to_multiple_of": null,
                "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]" },
            "added_tokens": (0..5).map(special).collect::<Vec<_>>(),
            "normalizer": { "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                "strip_accents": null, "lowercase": true },
            "pre_tokenizer": { "type": "BertPreTokenizer" },
            "post_processor": { "type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2] },
            "decoder": null,
            "model": { "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100, "vocab": vocab },
        })
    }

    #[test]
    fn a_tokenizer_json_is_preferred_and_its_truncation_and_padding_are_ignored() {
        let dir = folder(&["[UNK]"]);
        std::fs::write(
            dir.path().join("tokenizer.json"),
            json_of(&PIECES).to_string(),
        )
        .expect("a file");
        let tokenizer = Tokenizer::open(dir.path(), true).expect("a tokenizer");
        assert_eq!(ids(&tokenizer, "Fires fire fire"), [2, 5, 6, 5, 5, 3]);
        let error = Tokenizer::open(dir.path(), false)
            .expect_err("the card says cased")
            .to_string();
        assert!(
            error.ends_with("normalizer.lowercase: true; the encoder's card declares false"),
            "{error}"
        );
    }

    #[test]
    fn a_folder_that_is_not_a_known_tokenizer_is_refused() {
        let empty = tempfile::tempdir().expect("a temporary folder");
        let cut = folder(&[]);
        std::fs::write(cut.path().join("tokenizer.json"), "{\n\"model\": ").expect("a file");
        let other = folder(&[]);
        std::fs::write(
            other.path().join("tokenizer.json"),
            r#"{ "model": { "type": "Unigram" } }"#,
        )
        .expect("a file");
        let bytes = folder(&[]);
        std::fs::write(bytes.path().join("vocab.txt"), b"[PAD]\n\xff\n").expect("a file");
        for (dir, says) in [
            (
                &empty,
                "no `tokenizer.json` and no `vocab.txt`; expected one of them",
            ),
            (&cut, "line 2"),
            (
                &other,
                "model.type: `Unigram`; expected `WordPiece` or `BPE`",
            ),
            (&bytes, "line 2: not UTF-8; expected one wordpiece per line"),
            (
                &folder(&["[PAD]", "[UNK]", "[SEP]"]),
                "no `[CLS]`; expected it in the vocabulary",
            ),
            (
                &folder(&["[PAD]", "a", "b", "a"]),
                "line 4: `a` is already on line 2; expected it once",
            ),
        ] {
            let error = Tokenizer::open(dir.path(), true)
                .expect_err(says)
                .to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn a_length_without_room_for_the_special_tokens_is_an_error() {
        let dir = folder(&PIECES);
        let tokenizer = Tokenizer::open(dir.path(), true).expect("a vocabulary");
        let pair = Input::Pair("fire".into(), "fire".into());
        let error = tokenizer.encode(&pair, 2).expect_err("no room").to_string();
        assert_eq!(
            error,
            "max_length: 2; expected at least 3, one per special token"
        );
        assert_eq!(tokenizer.encode(&pair, 3).expect("room").ids, [2, 3, 3]);
    }

    #[test]
    fn the_longer_text_of_a_pair_is_shortened_first_and_then_the_second() {
        // One piece at a time, as BERT's released code does it.
        let by_hand = |mut first: usize, mut second: usize, room: usize| {
            while first + second > room {
                if first > second {
                    first -= 1;
                } else {
                    second -= 1;
                }
            }
            (first, second)
        };
        for first in 0..12 {
            for second in 0..12 {
                for room in 0..26 {
                    let expected = by_hand(first, second, room);
                    assert_eq!(
                        shorten(first, second, room),
                        expected,
                        "{first} {second} {room}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        let dir = folder(&PIECES);
        let tokenizer = Tokenizer::open(dir.path(), true).expect("a vocabulary");
        let examples: Vec<Example> = (0..500)
            .map(|index| Example {
                id: index.to_string(),
                input: Input::Text("fires re ".repeat(index % 17)),
                target: Target::Class(0),
                group: None,
            })
            .collect();
        let one = tokenizer.encode_all(&examples, 20, 1).expect("ids");
        assert_eq!(one.len(), 500);
        assert_eq!(one, tokenizer.encode_all(&examples, 20, 2).expect("ids"));
        assert_eq!(one, tokenizer.encode_all(&examples, 20, 7).expect("ids"));
    }
}
