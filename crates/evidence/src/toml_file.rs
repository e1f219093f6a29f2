//! Reading a TOML file into a type, with errors that name the file and suggest the near word.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use serde::de::DeserializeOwned;
use totune_toml::near;

/// Reads `path`; `shown` is how errors name it.
///
/// # Errors
/// When it cannot be read, or is not such a `T`.
pub fn read<T: DeserializeOwned>(path: &Path, shown: &str) -> Result<T> {
    let text = fs::read_to_string(path).with_context(|| format!("{shown}: could not be read"))?;
    parse(&text, shown)
}

/// Parses `text`; `shown` is how errors name the file it is from.
///
/// # Errors
/// When it is not such a `T`.
pub fn parse<T: DeserializeOwned>(text: &str, shown: &str) -> Result<T> {
    totune_toml::parse_toml(text).map_err(|error| anyhow!("{shown}: {error}"))
}

/// `; did you mean …?`, or nothing where no candidate is near.
pub fn did_you_mean<'a>(found: &str, candidates: impl Iterator<Item = &'a str>) -> String {
    near(found, candidates).map_or(String::new(), |near| format!("; did you mean `{near}`?"))
}

/// ``unknown group `x`, expected one of: a, b; did you mean `a`?``; `from` prefixes errors.
pub fn unknown<'a>(
    [from, what, name]: [&str; 3],
    known: impl Iterator<Item = &'a str> + Clone,
) -> anyhow::Error {
    let near = did_you_mean(name, known.clone());
    let known: Vec<&str> = known.collect();
    let known = known.join(", ");
    anyhow!("{from}: unknown {what} `{name}`, expected one of: {known}{near}")
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        #[serde(rename = "metric")]
        _metric: String,
        #[serde(rename = "split")]
        _split: Option<String>,
    }

    #[test]
    fn a_misspelt_key_is_named_with_its_line_and_the_near_key() {
        let error = parse::<Sample>(
            "split = 'test'\nmetrik = 'f1'\n",
            "experiments/x/report.toml",
        )
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            "experiments/x/report.toml: line 2: unknown key `metrik`; did you mean `metric`? expected `metric` or `split`"
        );
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = read::<Sample>(
            Path::new("/nonexistent/report.toml"),
            "experiments/x/report.toml",
        )
        .unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("experiments/x/report.toml: could not be read"),
            "{error}"
        );
    }

    #[test]
    fn a_word_far_from_all_gets_no_suggestion() {
        assert_eq!(did_you_mean("zzz", ["metric", "split"].into_iter()), "");
    }
}
