//! The settings by which DeBERTa-v3 differs from others of its family, all of which are `deberta-v2` in a `config.json`.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

/// The settings that all DeBERTa-v3 have in common; files with others are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Family", into = "Family")]
pub struct Version3;

/// Settings in which the family differs. A missing one has the default of transformers.
#[derive(Serialize, Deserialize)]
struct Family {
    #[serde(default)]
    relative_attention: bool,
    #[serde(default = "yes")]
    position_biased_input: bool,
    #[serde(default)]
    share_att_key: bool,
    #[serde(default)]
    norm_rel_ebd: String,
    #[serde(default)]
    pos_att_type: Terms,
    #[serde(default)]
    type_vocab_size: usize,
    #[serde(default, skip_serializing)]
    conv_kernel_size: usize,
}

fn yes() -> bool {
    true
}

/// Terms of attention scores: `"p2c|c2p"` in published files, a list in files that transformers has saved.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Terms {
    Joined(String),
    List(Vec<String>),
}

impl Default for Terms {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl TryFrom<Family> for Version3 {
    type Error = anyhow::Error;

    fn try_from(family: Family) -> Result<Self> {
        for (key, found, expected) in [
            ("relative_attention", family.relative_attention, true),
            ("position_biased_input", family.position_biased_input, false),
            ("share_att_key", family.share_att_key, true),
        ] {
            ensure!(
                found == expected,
                "{key}: found {found}, expected {expected}"
            );
        }
        for (key, found) in [
            ("type_vocab_size", family.type_vocab_size),
            ("conv_kernel_size", family.conv_kernel_size),
        ] {
            ensure!(found == 0, "{key}: found {found}, expected 0");
        }
        let norm = family.norm_rel_ebd;
        ensure!(
            norm == "layer_norm",
            "norm_rel_ebd: found `{norm}`, expected `layer_norm`"
        );
        let mut terms: Vec<String> = match family.pos_att_type {
            Terms::Joined(terms) => terms.split('|').map(|term| term.trim().into()).collect(),
            Terms::List(terms) => terms,
        };
        terms.sort();
        ensure!(
            terms == ["c2p", "p2c"],
            "pos_att_type: found `{}`, expected `c2p|p2c`",
            terms.join("|")
        );
        Ok(Self)
    }
}

impl From<Version3> for Family {
    fn from(Version3: Version3) -> Self {
        Self {
            relative_attention: true,
            position_biased_input: false,
            share_att_key: true,
            norm_rel_ebd: "layer_norm".into(),
            pos_att_type: Terms::List(["p2c", "c2p"].map(String::from).to_vec()),
            type_vocab_size: 0,
            conv_kernel_size: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(keys: &str) -> Result<Version3, String> {
        serde_json::from_str(keys).map_err(|error| error.to_string())
    }

    #[test]
    fn terms_are_a_string_or_a_list_and_other_versions_are_refused() {
        let keys = r#"{ "relative_attention": true, "position_biased_input": false, "share_att_key": true,
            "norm_rel_ebd": "layer_norm", "pos_att_type": "p2c|c2p", "type_vocab_size": 0 }"#;
        assert_eq!(version(keys), Ok(Version3));
        let written = serde_json::to_string(&Version3).expect("keys");
        assert!(
            written.contains(r#""pos_att_type":["p2c","c2p"]"#),
            "{written}"
        );
        assert_eq!(version(&written), Ok(Version3));
        for (from, to, expected) in [
            (
                "p2c|c2p",
                "c2p",
                "pos_att_type: found `c2p`, expected `c2p|p2c`",
            ),
            (
                r#""share_att_key": true"#,
                r#""share_att_key": false"#,
                "share_att_key: found false, expected true",
            ),
            (
                r#""type_vocab_size": 0"#,
                r#""conv_kernel_size": 3"#,
                "conv_kernel_size: found 3, expected 0",
            ),
            (
                "layer_norm",
                "none",
                "norm_rel_ebd: found `none`, expected `layer_norm`",
            ),
        ] {
            assert!(keys.contains(from), "{from}");
            let error = version(&keys.replace(from, to)).expect_err(to);
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
