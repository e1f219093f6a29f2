//! A tokenizer as the file that other tools read.

use anyhow::{Result, anyhow};
use tokenizers::decoders::wordpiece::WordPiece as WordPieceDecoder;
use tokenizers::processors::bert::BertProcessing;

use super::{Template, Tokenizer};

impl Tokenizer {
    /// A `tokenizer.json` that gives the ids of [`Tokenizer::encode`], special tokens included; with `of_words` those of
    /// lists of words, as transformers reads them with `is_split_into_words`.
    ///
    /// It neither truncates nor pads.
    ///
    /// # Errors
    /// When the tokenizer cannot be written as JSON.
    pub fn to_json(&self, of_words: bool) -> Result<String> {
        let words = self.of_words.as_deref().filter(|_| of_words);
        let mut tokenizer = words.unwrap_or(&self.inner).clone();
        // A bare vocabulary says nothing of special tokens; those of other families always come with them.
        if self.template == Template::BERT {
            if tokenizer.get_post_processor().is_none() {
                let [sep, cls] = [(self.template.sep, self.sep), (self.template.cls, self.cls)]
                    .map(|(token, id)| (token.to_string(), id));
                tokenizer.with_post_processor(Some(BertProcessing::new(sep, cls)));
            }
            if tokenizer.get_decoder().is_none() {
                tokenizer.with_decoder(Some(WordPieceDecoder::default()));
            }
        }
        let json = tokenizer.to_string(true);
        json.map_err(|error| anyhow!("tokenizer: cannot be written as JSON: {error}"))
    }

    /// The special tokens under the names that a `tokenizer_config.json` has for them, such as `("sep_token", "[SEP]")`.
    pub fn special_tokens(&self) -> Vec<(&'static str, &'static str)> {
        let Template {
            cls, sep, pad, unk, ..
        } = self.template;
        let mask = match self.template {
            Template::ROBERTA | Template::XLM_ROBERTA => "<mask>",
            _ => "[MASK]",
        };
        let mut tokens = vec![
            ("cls_token", cls),
            ("sep_token", sep),
            ("pad_token", pad),
            ("unk_token", unk),
        ];
        if self.inner.token_to_id(mask).is_some() {
            tokens.push(("mask_token", mask));
        }
        if self.template != Template::BERT {
            tokens.extend([("bos_token", cls), ("eos_token", sep)]);
        }
        tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Input;
    use std::path::PathBuf;

    fn fixture(path: &str) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("../../fixtures")
            .join(path)
    }

    /// The ids and segments that the written file gives a text or a pair, special tokens included.
    fn ids(json: &str, first: &str, second: Option<&str>) -> (Vec<u32>, Vec<u32>) {
        let read: tokenizers::Tokenizer = json.parse().expect("a tokenizer");
        let encoding = match second {
            Some(second) => read.encode((first, second), true),
            None => read.encode(first, true),
        };
        let encoding = encoding.expect("ids");
        (
            encoding.get_ids().to_vec(),
            encoding.get_type_ids().to_vec(),
        )
    }

    #[test]
    fn the_written_file_gives_the_same_ids() {
        let bare = Tokenizer::from_vocabulary(&fixture("data/vocab.txt"), true);
        let of_encoders = [
            "roberta-tiny",
            "xlm-roberta-tiny",
            "modernbert-tiny",
            "deberta-tiny",
            "albert-tiny",
        ]
        .map(|name| Tokenizer::open(&fixture(&format!("encoders/{name}")), false));
        for tokenizer in [bare].into_iter().chain(of_encoders) {
            let tokenizer = tokenizer.expect("a tokenizer");
            let json = tokenizer.to_json(false).expect("JSON");
            let (first, second) = ("The twins hid two lanterns.", "A red kite");
            let text = tokenizer.encode(&Input::Text(first.into()), 64);
            assert_eq!(ids(&json, first, None).0, text.expect("ids").ids);
            let pair = Input::Pair(first.into(), second.into());
            let pair = tokenizer.encode(&pair, 64).expect("ids");
            let (found, types) = ids(&json, first, Some(second));
            assert_eq!(found, pair.ids);
            // The others have one type only.
            if [Template::BERT, Template::ALBERT].contains(&tokenizer.template()) {
                let expected: Vec<u32> = pair.type_ids.iter().map(|&kind| kind.into()).collect();
                assert_eq!(types, expected);
            }
        }
    }
}
