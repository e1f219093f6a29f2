//! A trained encoder as a folder that totune and transformers load.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use half::f16;
use safetensors::{Dtype, View};
use serde_json::json;
use totune_data::sha256_hex;
use totune_model::BertConfig;
use totune_record::write_atomically;

use crate::Checkpoint;

/// An encoder as it was written.
#[derive(Debug, Clone)]
pub struct Exported {
    /// SHA-256 of `model.safetensors`.
    pub sha256: String,
    /// Parameters of the encoder, those of the head of pre-training left out.
    pub parameters: u64,
    /// Bytes of `model.safetensors`.
    pub bytes: u64,
}

/// Writes a BERT as `transformers` reads it: `model.safetensors` (f16), `config.json`, `vocab.txt` and
/// `tokenizer_config.json`. The head of pre-training goes along under its published names, so that the folder is a
/// `BertForMaskedLM` too.
///
/// # Errors
/// When a weight does not fit into f16 (it is named), or a file cannot be written.
pub fn bert(
    checkpoint: &Checkpoint,
    config: &BertConfig,
    vocabulary: &[String],
    lowercase: bool,
    to: &Path,
) -> Result<Exported> {
    fs::create_dir_all(to).with_context(|| format!("{}: cannot be made", to.display()))?;
    let mut tensors = Vec::new();
    let mut parameters = 0;
    for (name, data) in &checkpoint.weights {
        let values: Vec<f32> = data.iter::<f32>().collect();
        let halves: Vec<f16> = values.iter().map(|&value| f16::from_f32(value)).collect();
        ensure!(
            halves.iter().all(|half| half.is_finite()),
            "`{name}` has a weight beyond what f16 holds (65,504)"
        );
        if name.starts_with("bert.") {
            parameters += values.len() as u64;
        }
        let bytes = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
        tensors.push((
            name.clone(),
            Half {
                shape: data.shape().to_vec(),
                bytes,
            },
        ));
    }
    // What PyTorch's tools ask for before they read a file.
    let metadata = HashMap::from([("format".to_string(), "pt".to_string())]);
    let bytes = safetensors::serialize(tensors, Some(metadata)).context("weights as bytes")?;
    write_atomically(&to.join("model.safetensors"), &bytes)?;
    let config = json!({
        "architectures": ["BertForMaskedLM"],
        "model_type": "bert",
        "vocab_size": config.vocab_size,
        "hidden_size": config.hidden_size,
        "num_hidden_layers": config.num_hidden_layers,
        "num_attention_heads": config.num_attention_heads,
        "intermediate_size": config.intermediate_size,
        "hidden_act": "gelu",
        "hidden_dropout_prob": FINE_TUNING_DROPOUT,
        "attention_probs_dropout_prob": FINE_TUNING_DROPOUT,
        "max_position_embeddings": config.max_position_embeddings,
        "type_vocab_size": config.type_vocab_size,
        "layer_norm_eps": config.layer_norm_eps,
        "initializer_range": 0.02,
        "pad_token_id": 0,
        "pooler": "none",
        "torch_dtype": "float16",
    });
    let text = serde_json::to_string_pretty(&config)? + "\n";
    write_atomically(&to.join("config.json"), text.as_bytes())?;
    let text = vocabulary.join("\n") + "\n";
    write_atomically(&to.join("vocab.txt"), text.as_bytes())?;
    let tokenizer = json!({
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": lowercase,
        "model_max_length": config["max_position_embeddings"],
    });
    let text = serde_json::to_string_pretty(&tokenizer)? + "\n";
    write_atomically(&to.join("tokenizer_config.json"), text.as_bytes())?;
    Ok(Exported {
        sha256: sha256_hex(&bytes),
        parameters,
        bytes: bytes.len() as u64,
    })
}

/// What BERT is fine-tuned with, whatever it was pre-trained with.
const FINE_TUNING_DROPOUT: f64 = 0.1;

/// A tensor of f16.
struct Half {
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl View for Half {
    fn dtype(&self) -> Dtype {
        Dtype::F16
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}
