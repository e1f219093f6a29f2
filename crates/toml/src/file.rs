//! Reading of TOML files into types, with errors that name the file, the line and the key that was probably meant.

use crate::near::did_you_mean;
use anyhow::{Context, Result, anyhow};
use serde::de::DeserializeOwned;
use std::path::Path;

/// Reads the TOML file at `path` as a `T`.
///
/// An unknown key or an unknown choice names the nearest known one: "datasets/rte.toml: line 4: unknown key `lables`; did
/// you mean `labels`? expected one of `name`, `labels`".
///
/// # Errors
/// When the file cannot be read, or is not such a `T`.
pub fn read_toml<T: DeserializeOwned>(path: &Path) -> Result<T> {
    parse_toml(&read_text(path)?)
        .with_context(|| path.display().to_string())
        .map_err(flatten)
}

/// The text of the file at `path`, without a byte order mark.
///
/// # Errors
/// When it cannot be read or is not UTF-8; then with the line.
pub fn read_text(path: &Path) -> Result<String> {
    let bytes =
        std::fs::read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let line = line_at(error.as_bytes(), error.utf8_error().valid_up_to());
        anyhow!(
            "{}: line {line}: not UTF-8; expected UTF-8 text",
            path.display()
        )
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_string(),
        None => text,
    })
}

/// Parses TOML text as [`read_toml`] does.
///
/// # Errors
/// When it is not such a `T`; with a line but no file.
pub fn parse_toml<T: DeserializeOwned>(text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error| {
        let message = explain(error.message());
        match error.span() {
            Some(span) => anyhow!("line {}: {message}", line_at(text.as_bytes(), span.start)),
            None => anyhow!("{message}"),
        }
    })
}

/// One error whose text is the whole chain, so that file, line and finding are shown together.
fn flatten(error: anyhow::Error) -> anyhow::Error {
    anyhow!("{error:#}")
}

/// Puts serde's words into those of TOML, and adds the name that was probably meant to an unknown one.
pub fn explain(message: &str) -> String {
    let message = message.trim_end();
    match unknown(message) {
        Some(Unknown {
            before,
            what,
            name,
            after,
        }) => {
            let known = after.split('`').skip(1).step_by(2);
            let expected = after.lines().next().unwrap_or_default();
            let expected = expected.trim_start_matches([',', ' ']);
            let hint = did_you_mean(name, known);
            format!("{before}unknown {what} `{name}`{hint}{expected}")
        }
        None => in_toml_words(&message.replace("missing field", "missing key")),
    }
}

/// The key or choice that serde does not know, where `message` is about one.
pub fn unknown_name(message: &str) -> Option<&str> {
    unknown(message).map(|unknown| unknown.name)
}

/// Serde's message about a name that it does not know.
struct Unknown<'a> {
    /// Text before it, such as the place.
    before: &'a str,
    what: &'static str,
    name: &'a str,
    /// The list of known names.
    after: &'a str,
}

fn unknown(message: &str) -> Option<Unknown<'_>> {
    let kinds = [("unknown field `", "key"), ("unknown variant `", "choice")];
    kinds.into_iter().find_map(|(words, what)| {
        let (before, rest) = message.split_once(words)?;
        let (name, after) = rest.split_once('`')?;
        Some(Unknown {
            before,
            what,
            name,
            after,
        })
    })
}

/// Puts the types of Rust that serde expected into TOML's words, such as `an integer` for `i64`.
fn in_toml_words(message: &str) -> String {
    let Some((found, expected)) = message.rsplit_once("expected ") else {
        return message.to_string();
    };
    let theirs = expected.split([' ', ',', '\n']).next().unwrap_or_default();
    let ours = match theirs {
        "usize" | "u64" | "u32" => "an integer, 0 or above",
        "i64" => "an integer",
        "f64" => "a number",
        "struct" => return format!("{found}expected a table"),
        _ => return message.to_string(),
    };
    format!("{found}expected {ours}{}", &expected[theirs.len()..])
}

fn line_at(bytes: &[u8], offset: usize) -> usize {
    1 + bytes[..offset.min(bytes.len())]
        .iter()
        .filter(|&&byte| byte == b'\n')
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Sample {
        name: String,
        labels: Vec<String>,
        #[serde(default)]
        plan: Option<Plan>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(tag = "kind", rename_all = "kebab-case")]
    #[allow(dead_code)]
    enum Plan {
        Full(Full),
        LastK(Full),
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Full {
        rate: f64,
    }

    #[test]
    fn each_slip_is_named_with_its_line_and_the_near_name() {
        for (text, expected) in [
            (
                "name = 'x'\nlables = []\n",
                "line 2: unknown key `lables`; did you mean `labels`? expected one of `name`, `labels`, `plan`",
            ),
            (
                "name = 'x'\nzebra = []\n",
                "line 2: unknown key `zebra`; expected one of `name`, `labels`, `plan`",
            ),
            ("name = 'x'\n", "line 1: missing key `labels`"),
            (
                "name = 'x'\nlabels = []\nplan = { kind = 'ful', rate = 1.0 }\n",
                "line 3: unknown choice `ful`; did you mean `full`? expected `full` or `last-k`",
            ),
            (
                "name = 'x'\nlabels = []\nplan = { kind = 'full', rat = 1.0 }\n",
                "line 3: unknown key `rat`; did you mean `rate`? expected `rate`",
            ),
            (
                "name = 3\n",
                "line 1: invalid type: integer `3`, expected a string",
            ),
        ] {
            let error = parse_toml::<Sample>(text).expect_err(text);
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn the_file_is_named_and_bad_utf8_has_a_line() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("a.toml");
        std::fs::write(&path, b"name = 'x'\nlabels = ['\xff']\n").expect("a file");
        let error = read_toml::<Sample>(&path)
            .expect_err("bad bytes")
            .to_string();
        assert_eq!(
            error,
            format!("{}: line 2: not UTF-8; expected UTF-8 text", path.display())
        );
        std::fs::write(&path, "\u{feff}name = 'x'\r\nlabels = []\r\n").expect("a file");
        assert_eq!(
            read_toml::<Sample>(&path).expect("a BOM is skipped").name,
            "x"
        );
        let absent = read_toml::<Sample>(&dir.path().join("b.toml")).expect_err("no file");
        assert!(
            absent.to_string().ends_with("b.toml: cannot be read"),
            "{absent}"
        );
    }
}
