//! Global and local layers of a ModernBERT, from either form of its `config.json`.

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

/// The layers with global attention, and the bases of rotary positions.
///
/// Files of transformers 4 have these keys. Those of version 5 list the kind of each layer (`layer_types`) and hold the
/// bases in `rope_parameters`; both are read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "PublishedPattern")]
pub struct LayerPattern {
    /// Layers `0`, `n`, `2 n`, … see the whole text.
    pub global_attn_every_n_layers: usize,
    /// Base of the wavelengths of rotary positions in global layers.
    pub global_rope_theta: f64,
    /// The same in local layers.
    pub local_rope_theta: f64,
}

/// The keys of both versions, and of settings of the family that are not computed here.
#[derive(Deserialize)]
struct PublishedPattern {
    global_attn_every_n_layers: Option<usize>,
    global_rope_theta: Option<f64>,
    local_rope_theta: Option<f64>,
    layer_types: Option<Vec<LayerType>>,
    rope_parameters: Option<RopeParameters>,
    hidden_activation: Option<String>,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    mlp_bias: bool,
    #[serde(default)]
    norm_bias: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LayerType {
    FullAttention,
    SlidingAttention,
}

#[derive(Default, Deserialize)]
struct RopeParameters {
    full_attention: Option<Rope>,
    sliding_attention: Option<Rope>,
}

#[derive(Deserialize)]
struct Rope {
    rope_theta: Option<f64>,
    rope_type: Option<String>,
}

impl TryFrom<PublishedPattern> for LayerPattern {
    type Error = anyhow::Error;

    fn try_from(keys: PublishedPattern) -> Result<Self> {
        for (key, found) in [
            ("attention_bias", keys.attention_bias),
            ("mlp_bias", keys.mlp_bias),
            ("norm_bias", keys.norm_bias),
        ] {
            ensure!(!found, "{key}: found true, expected false");
        }
        let activation = keys.hidden_activation.as_deref().unwrap_or("gelu");
        ensure!(
            activation == "gelu",
            "hidden_activation: found `{activation}`, expected `gelu`"
        );
        let rope = keys.rope_parameters.unwrap_or_default();
        let theta = |rope: Option<Rope>, key: &str, of_version_4: Option<f64>| {
            let (theta, kind) = rope.map_or((None, None), |r| (r.rope_theta, r.rope_type));
            let kind = kind.unwrap_or_else(|| "default".into());
            ensure!(
                kind == "default",
                "rope_parameters: rope_type: found `{kind}`, expected `default`"
            );
            let found = theta.or(of_version_4);
            found.with_context(|| {
                format!("found neither `{key}` nor `rope_parameters`, expected one of them")
            })
        };
        let (global, local) = (keys.global_rope_theta, keys.local_rope_theta);
        Ok(Self {
            global_rope_theta: theta(rope.full_attention, "global_rope_theta", global)?,
            local_rope_theta: theta(rope.sliding_attention, "local_rope_theta", local)?,
            global_attn_every_n_layers: match (keys.layer_types, keys.global_attn_every_n_layers) {
                (Some(types), _) => interval(&types)?,
                (None, Some(n)) => n,
                (None, None) => 3, // transformers' default
            },
        })
    }
}

/// The distance between neighbouring global layers.
fn interval(types: &[LayerType]) -> Result<usize> {
    let is_global = |layer: &LayerType| *layer == LayerType::FullAttention;
    let second = types.iter().skip(1).position(is_global);
    let n = second.map_or(types.len().max(1), |place| place + 1);
    let mut layers = types.iter().enumerate();
    ensure!(
        layers.all(|(i, layer)| is_global(layer) == i.is_multiple_of(n)),
        "layer_types: expected `full_attention` in the first layer and at regular distances from it"
    );
    Ok(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<LayerPattern, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn both_versions_of_the_keys_say_the_same() {
        let expected = LayerPattern {
            global_attn_every_n_layers: 3,
            global_rope_theta: 160_000.0,
            local_rope_theta: 10_000.0,
        };
        for json in [
            r#"{ "global_attn_every_n_layers": 3, "global_rope_theta": 160000.0, "local_rope_theta": 10000 }"#,
            r#"{ "layer_types": ["full_attention", "sliding_attention", "sliding_attention", "full_attention",
                                 "sliding_attention"],
                 "rope_parameters": { "full_attention": { "rope_theta": 160000.0, "rope_type": "default" },
                                      "sliding_attention": { "rope_theta": 10000.0, "rope_type": "default" } } }"#,
        ] {
            assert_eq!(read(json).as_ref(), Ok(&expected), "{json}");
        }
    }

    #[test]
    fn what_is_not_computed_is_refused_with_its_key() {
        let thetas = r#""global_rope_theta": 1e5, "local_rope_theta": 1e4"#;
        for (keys, expected) in [
            (
                r#""norm_bias": true"#,
                "norm_bias: found true, expected false",
            ),
            (
                r#""hidden_activation": "silu""#,
                "hidden_activation: found `silu`, expected `gelu`",
            ),
            (
                r#""rope_parameters": { "full_attention": { "rope_type": "yarn" } }"#,
                "rope_parameters: rope_type: found `yarn`, expected `default`",
            ),
            (
                r#""layer_types": ["full_attention", "full_attention", "sliding_attention"]"#,
                "layer_types: expected `full_attention` in the first layer and at regular distances from it",
            ),
        ] {
            let error = read(&format!("{{ {thetas}, {keys} }}")).expect_err(keys);
            assert!(error.starts_with(expected), "{error}");
        }
        let error = read(r#"{ "global_rope_theta": 1e5 }"#).expect_err("no local base");
        assert!(
            error.starts_with("found neither `local_rope_theta`"),
            "{error}"
        );
    }
}
