//! Reading a TOML file into a type, with errors that name the file and suggest the near word.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use serde::de::DeserializeOwned;

/// Reads `path`; `shown` is how errors name it.
pub fn read<T: DeserializeOwned>(path: &Path, shown: &str) -> Result<T> {
    let text = fs::read_to_string(path).with_context(|| format!("{shown}: could not be read"))?;
    parse(&text, shown)
}

/// Parses `text`; `shown` is how errors name the file it is from.
pub fn parse<T: DeserializeOwned>(text: &str, shown: &str) -> Result<T> {
    toml::from_str(text).map_err(|error| {
        let line = error
            .span()
            .map(|span| 1 + text[..span.start].matches('\n').count());
        let place = line.map_or(String::new(), |line| format!(" line {line}:"));
        let message = error.message();
        anyhow!("{shown}:{place} {message}{}", suggestion(message))
    })
}

/// For "unknown field `x`, expected one of `a`, `b`": which of them was meant.
fn suggestion(message: &str) -> String {
    let unknown = ["unknown field", "unknown variant"];
    let Some(at) = unknown.iter().find_map(|words| message.find(words)) else {
        return String::new();
    };
    let mut words = message[at..].split('`').skip(1).step_by(2);
    words
        .next()
        .map_or(String::new(), |found| did_you_mean(found, words))
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

/// The candidate most like `found`, if one is near enough for a likely typo.
pub(crate) fn near<'a>(found: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .map(|candidate| {
            (
                strsim::normalized_damerau_levenshtein(found, candidate),
                candidate,
            )
        })
        .filter(|(likeness, _)| *likeness >= 0.6)
        // The first of equals, so that the answer does not depend on the order of a map.
        .max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)))
        .map(|(_, candidate)| candidate)
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
            "experiments/x/report.toml: line 2: unknown field `metrik`, expected `metric` or `split`; did you mean `metric`?"
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
