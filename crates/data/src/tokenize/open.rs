//! A tokenizer from the files of a model's folder.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::Value;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::{AddedToken, PreTokenizerWrapper};

use super::memo::Cutting;
use super::{Template, Tokenizer};
use crate::hash::FieldHash;
use crate::sha256_hex;

impl Tokenizer {
    /// Reads `tokenizer.json` from `dir`, or else the bare `vocab.txt` of a WordPiece.
    ///
    /// `lowercase` is what the encoder's card declares. A bare vocabulary is read that way, accents being stripped
    /// exactly when letters are lowered, as in BERT; a `tokenizer.json` or `tokenizer_config.json` that says otherwise is
    /// refused. The file's own truncation and padding are ignored: both are chosen per run.
    pub fn open(dir: &Path, lowercase: bool) -> Result<Self> {
        let full = dir.join("tokenizer.json");
        let bare = dir.join("vocab.txt");
        if full.is_file() {
            Self::from_json(&full, lowercase)
        } else if bare.is_file() {
            check_config(dir, lowercase)?;
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
        let families = Template::of_model(kind);
        let first = families.first().with_context(|| {
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
        let has = |token: &str| inner.token_to_id(token).is_some();
        let is_whole = |template: &&Template| has(template.cls) && has(template.pad);
        let mut whole = families.iter().filter(is_whole);
        let template = whole
            .next()
            .or_else(|| families.iter().find(|template| has(template.cls)))
            .unwrap_or(first);
        Self::new(path, inner, *template, sha256_hex(&bytes))
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
            prefix: String::new(),
            hash,
            unk,
            cls,
            sep,
            pad,
        })
    }
}

/// Refuses a `tokenizer_config.json` by which transformers reads the vocabulary next to it in another way than
/// [`Tokenizer::from_vocabulary`].
fn check_config(dir: &Path, lowercase: bool) -> Result<()> {
    let path = dir.join("tokenizer_config.json");
    if !path.is_file() {
        return Ok(());
    }
    let shown = path.display();
    let bytes = std::fs::read(&path).with_context(|| format!("{shown}: cannot be read"))?;
    let json: Value = serde_json::from_slice(&bytes)
        .map_err(|error| anyhow!("{shown}: {error}; expected JSON"))?;
    if let Some(found) = json["do_lower_case"].as_bool() {
        ensure!(
            found == lowercase,
            "{shown}: do_lower_case: {found}; the encoder's card declares `lowercase = {lowercase}`"
        );
    }
    for (key, expected) in [
        ("strip_accents", lowercase),
        ("tokenize_chinese_chars", true),
    ] {
        if let Some(found) = json[key].as_bool() {
            ensure!(
                found == expected,
                "{shown}: {key}: found {found}, expected {expected}: a bare `vocab.txt` is read in no other way; a \
                 `tokenizer.json`, such as `BertTokenizerFast` saves, can say it"
            );
        }
    }
    Ok(())
}

/// The tokenizer for words that come one by one: a byte-level BPE makes a space part of the token behind it, and
/// transformers reads lists of words only with `add_prefix_space`. A WordPiece cuts words and texts alike, and a
/// SentencePiece begins every text with a space, so they need none.
fn of_words(
    path: &Path,
    inner: &tokenizers::Tokenizer,
    template: Template,
) -> Result<Option<Box<tokenizers::Tokenizer>>> {
    if template.model != Template::ROBERTA.model {
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
