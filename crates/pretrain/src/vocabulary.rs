//! Wordpiece vocabularies, trained by the library that reads them.

use anyhow::{Context, Result, anyhow, ensure};
use tokenizers::models::wordpiece::{WordPiece, WordPieceTrainer};
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::{
    AddedToken, Model, NormalizedString, Normalizer, OffsetReferential, OffsetType,
    PreTokenizedString, PreTokenizer, Trainer,
};
use totune_data::Document;

use crate::settings::VocabularySettings;

/// Special tokens, in the order of their ids; `[PAD]` is 0 as in every published BERT.
const SPECIAL: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];

/// Characters that stand in the vocabulary, the most frequent ones; rarer ones become `[UNK]`.
const ALPHABET: usize = 500;

/// The wordpieces of `documents`, one per line of the `vocab.txt` they make.
///
/// Words are cut as BERT cuts them; pieces are merged by frequency, as `tokenizers` trains wordpieces. The same text
/// gives the same vocabulary.
///
/// # Errors
/// When the text is too small for so many pieces.
pub fn train_vocabulary<'a>(
    documents: impl Iterator<Item = &'a Document> + Send,
    settings: &VocabularySettings,
) -> Result<Vec<String>> {
    let normalizer = BertNormalizer::new(true, true, None, settings.lowercase);
    let words = |text: &str| -> tokenizers::Result<Vec<String>> {
        let mut normalized = NormalizedString::from(text);
        normalizer.normalize(&mut normalized)?;
        let mut cut = PreTokenizedString::from(normalized);
        BertPreTokenizer.pre_tokenize(&mut cut)?;
        let splits = cut.get_splits(OffsetReferential::Original, OffsetType::Byte);
        Ok(splits.into_iter().map(|(word, ..)| word.to_string()).collect())
    };
    let special = SPECIAL.map(|token| AddedToken::from(token, true)).to_vec();
    let mut trainer = WordPieceTrainer::builder()
        .vocab_size(settings.size)
        .min_frequency(2)
        .limit_alphabet(ALPHABET)
        .show_progress(false)
        .special_tokens(special)
        .build();
    let paragraphs = documents.flat_map(|document| &document.paragraphs);
    let failed = |error: tokenizers::Error| anyhow!("vocabulary: {error}");
    trainer.feed(paragraphs, words).map_err(failed)?;
    let mut model = WordPiece::default();
    trainer.train(&mut model).map_err(failed)?;
    let mut pieces: Vec<(String, u32)> = model.get_vocab().into_iter().collect();
    pieces.sort_by_key(|(_, id)| *id);
    ensure!(
        pieces.len() == settings.size,
        "start.vocabulary.size: found {}, but the text gives no more than {} wordpieces",
        settings.size,
        pieces.len()
    );
    for (place, (piece, id)) in pieces.iter().enumerate() {
        let id = usize::try_from(*id).context("an id")?;
        ensure!(
            id == place,
            "vocabulary: `{piece}` has the id {id}, expected {place}"
        );
    }
    Ok(pieces.into_iter().map(|(piece, _)| piece).collect())
}
