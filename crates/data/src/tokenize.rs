//! BERT's wordpiece: text in, ids out.

use crate::hash::FieldHash;
use crate::{Example, Input, sha256_hex};
use anyhow::{Context, Result, anyhow, bail, ensure};
use rayon::prelude::*;
use serde_json::Value;
use std::path::Path;
use tokenizers::AddedToken;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;

/// A BERT wordpiece tokenizer read from a model's folder.
#[derive(Clone, Debug)]
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    hash: String,
    cls: u32,
    sep: u32,
    pad: u32,
}

/// One example as ids: `[CLS] a [SEP]` or `[CLS] a [SEP] b [SEP]`, without padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// Wordpiece ids.
    pub ids: Vec<u32>,
    /// 0 up to the first `[SEP]`, 1 after it.
    pub type_ids: Vec<u8>,
}

impl Tokenizer {
    /// Reads `tokenizer.json` from `dir`, or else the bare `vocab.txt`.
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
        Self::new(path, inner, hash.finish())
    }

    fn from_json(path: &Path, lowercase: bool) -> Result<Self> {
        let bytes =
            std::fs::read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
        let json: Value = serde_json::from_slice(&bytes)
            .map_err(|error| anyhow!("{}: {error}; expected JSON", path.display()))?;
        let kind = json["model"]["type"].as_str().unwrap_or("nothing");
        ensure!(
            kind == "WordPiece",
            "{}: model.type: `{kind}`; expected `WordPiece`",
            path.display()
        );
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
        Self::new(path, inner, sha256_hex(&bytes))
    }

    fn new(path: &Path, inner: tokenizers::Tokenizer, hash: String) -> Result<Self> {
        let id = |piece: &str| {
            inner.token_to_id(piece).ok_or_else(|| {
                anyhow!(
                    "{}: no `{piece}`; expected it in the vocabulary",
                    path.display()
                )
            })
        };
        id("[UNK]")?;
        let (cls, sep, pad) = (id("[CLS]")?, id("[SEP]")?, id("[PAD]")?);
        Ok(Self {
            inner,
            hash,
            cls,
            sep,
            pad,
        })
    }

    /// What identifies this tokenizer: the SHA-256 of its `tokenizer.json`, or of its `vocab.txt` and how that is read.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The id of `[PAD]`.
    pub fn pad_id(&self) -> u32 {
        self.pad
    }

    /// How many wordpieces there are.
    pub fn vocab_size(&self) -> usize {
        self.inner.get_vocab_size(true)
    }

    /// `input` as at most `max_length` ids, special ones included.
    pub fn encode(&self, input: &Input, max_length: usize) -> Result<Encoded> {
        let specials = if input.second().is_some() { 3 } else { 2 };
        ensure!(
            max_length >= specials,
            "max_length: {max_length}; expected at least {specials}, one per special token"
        );
        let room = max_length - specials;
        let mut first = self.pieces(input.first())?;
        match input.second() {
            None => {
                first.truncate(room);
                let ids: Vec<u32> = [self.cls]
                    .into_iter()
                    .chain(first)
                    .chain([self.sep])
                    .collect();
                Ok(Encoded {
                    type_ids: vec![0; ids.len()],
                    ids,
                })
            }
            Some(second) => {
                let mut second = self.pieces(second)?;
                truncate_pair(&mut first, &mut second, room);
                let n_first = first.len() + 2;
                let ids: Vec<u32> = [self.cls]
                    .into_iter()
                    .chain(first)
                    .chain([self.sep])
                    .chain(second)
                    .chain([self.sep])
                    .collect();
                let mut type_ids = vec![0; n_first];
                type_ids.resize(ids.len(), 1);
                Ok(Encoded { ids, type_ids })
            }
        }
    }

    /// Encodes `examples` on `threads` threads of its own; the result does not depend on how many.
    pub fn encode_all(
        &self,
        examples: &[Example],
        max_length: usize,
        threads: usize,
    ) -> Result<Vec<Encoded>> {
        let encode = |example: &Example| {
            self.encode(&example.input, max_length)
                .with_context(|| format!("example `{}`", example.id))
        };
        if threads <= 1 {
            return examples.iter().map(encode).collect();
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .context("cannot start threads")?;
        pool.install(|| examples.par_iter().map(encode).collect())
    }

    fn pieces(&self, text: &str) -> Result<Vec<u32>> {
        let encoding = self
            .inner
            .encode_fast(text, false)
            .map_err(|error| anyhow!("{error}"))?;
        Ok(encoding.get_ids().to_vec())
    }
}

/// Shortens a pair to `room` pieces by taking the last one off the longer text, and off the second when both are as
/// long: `_truncate_seq_pair` of BERT's released `run_classifier.py`.
fn truncate_pair(first: &mut Vec<u32>, second: &mut Vec<u32>, room: usize) {
    while first.len() + second.len() > room {
        if first.len() > second.len() {
            first.pop()
        } else {
            second.pop()
        };
    }
}
