//! Settings of sentence-transformers in a folder: the vector of a text, and what stands before it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::SentenceVector;

/// Settings of a sentence encoder.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Sentences {
    /// The vector, if it is one that is known here.
    pub vector: Option<SentenceVector>,
    /// Put before each text where nothing else is asked for.
    pub prefix: String,
}

impl Sentences {
    /// Reads `1_Pooling/config.json` and `config_sentence_transformers.json` in `dir`; both may be missing.
    ///
    /// # Errors
    /// When one cannot be read or is not JSON.
    pub fn of_folder(dir: &Path) -> Result<Self> {
        let pooling = read(&dir.join("1_Pooling/config.json"))?;
        let on = |mode: &str| pooling[format!("pooling_mode_{mode}")] == true;
        // Several of them at once are concatenated, which is no vector of the encoder's width.
        let others = [
            "max_tokens",
            "mean_sqrt_len_tokens",
            "weightedmean_tokens",
            "lasttoken",
        ];
        let vector = match (on("cls_token"), on("mean_tokens")) {
            _ if others.into_iter().any(on) => None,
            (true, false) => Some(SentenceVector::First),
            (false, true) => Some(SentenceVector::Mean),
            _ => None,
        };
        let settings = read(&dir.join("config_sentence_transformers.json"))?;
        let usual = settings["default_prompt_name"].as_str();
        let prefix = usual.and_then(|name| settings["prompts"][name].as_str());
        Ok(Self {
            vector,
            prefix: prefix.unwrap_or_default().to_string(),
        })
    }
}

/// The JSON in `path`; null where there is no such file.
fn read(path: &Path) -> Result<Value> {
    if !path.is_file() {
        return Ok(Value::Null);
    }
    let text =
        fs::read_to_string(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{}: not JSON", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pooling_and_prompt_are_those_of_the_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let read = || Sentences::of_folder(folder.path());
        assert_eq!(read().expect("nothing there"), Sentences::default());

        fs::create_dir(folder.path().join("1_Pooling")).expect("a folder");
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text);
        for (modes, expected) in [
            (
                r#""pooling_mode_mean_tokens": true"#,
                Some(SentenceVector::Mean),
            ),
            (
                r#""pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false"#,
                Some(SentenceVector::First),
            ),
            (
                r#""pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true"#,
                None,
            ),
            (
                r#""pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": true"#,
                None,
            ),
        ] {
            write("1_Pooling/config.json", &format!("{{{modes}}}")).expect("a file");
            assert_eq!(read().expect("settings").vector, expected, "{modes}");
        }

        let prompts = r#"{"prompts": {"query": "query: ", "passage": "passage: "}, "default_prompt_name": NAME}"#;
        for (name, expected) in [("\"query\"", "query: "), ("null", "")] {
            let text = prompts.replace("NAME", name);
            write("config_sentence_transformers.json", &text).expect("a file");
            assert_eq!(read().expect("settings").prefix, expected);
        }
        write("config_sentence_transformers.json", "{").expect("a file");
        let error = read().expect_err("no JSON").to_string();
        assert!(
            error.ends_with("config_sentence_transformers.json: not JSON"),
            "{error}"
        );
    }
}
