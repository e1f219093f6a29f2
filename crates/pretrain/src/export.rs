//! Export of a trained encoder as a folder that totune and transformers load.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use burn::tensor::TensorData;
use half::f16;
use safetensors::{Dtype, View};
use serde_json::{Value, json};
use totune_checkpoint::ElmoOptions;
use totune_data::sha256_hex;
use totune_disk::{create_folder, write_atomically};
use totune_model::BertConfig;

use crate::Checkpoint;

/// Summary of an exported encoder.
#[derive(Debug, Clone)]
pub struct Exported {
    /// SHA-256 of `model.safetensors`.
    pub sha256: String,
    /// Number of parameters of the encoder, without the head of pre-training.
    pub parameters: u64,
    /// Size of `model.safetensors` in bytes.
    pub bytes: u64,
}

/// Writes a BERT as `transformers` reads it: `model.safetensors` (f16), `config.json`, `vocab.txt` and
/// `tokenizer_config.json`. The head of pre-training is included under its published names, so that the folder is a
/// `BertForMaskedLM` too. `reading` holds the vocabulary, and true for lower-cased text. Only the first
/// positions are written, as many as `config` has.
///
/// # Errors
/// When a weight does not fit into f16 (it is named), or a file cannot be written.
pub fn bert(
    checkpoint: &Checkpoint,
    config: &BertConfig,
    reading: (&[String], bool),
    to: &Path,
) -> Result<Exported> {
    let mut checkpoint = checkpoint.weights.clone();
    if let Some(positions) = checkpoint.get_mut(POSITIONS) {
        *positions = first_rows(positions, config.max_position_embeddings);
    }
    let exported = weights(&checkpoint, to, &|_| true, &|name| {
        name.starts_with("bert.")
    })?;
    let (vocabulary, lowercase) = reading;
    let described = json!({
        "architectures": ["BertForMaskedLM"],
        "model_type": "bert",
        "vocab_size": config.vocab_size,
        "hidden_size": config.hidden_size,
        "num_hidden_layers": config.num_hidden_layers,
        "num_attention_heads": config.num_attention_heads,
        "intermediate_size": config.intermediate_size,
        "hidden_act": "gelu",
        "hidden_dropout_prob": config.hidden_dropout_prob,
        "attention_probs_dropout_prob": config.attention_probs_dropout_prob,
        "max_position_embeddings": config.max_position_embeddings,
        "type_vocab_size": config.type_vocab_size,
        "layer_norm_eps": config.layer_norm_eps,
        "initializer_range": 0.02,
        "pad_token_id": 0,
        "pooler": "none",
        "torch_dtype": "float16",
    });
    let tokenizer = json!({
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": lowercase,
        "model_max_length": config.max_position_embeddings,
    });
    write_json(&to.join("config.json"), &described)?;
    write_json(&to.join("tokenizer_config.json"), &tokenizer)?;
    let text = vocabulary.join("\n") + "\n";
    write_atomically(&to.join("vocab.txt"), text.as_bytes())?;
    Ok(exported)
}

/// Name of the table of positions: `[positions, hidden]`.
const POSITIONS: &str = "bert.embeddings.position_embeddings.weight";

/// The first `n` rows of a table of floats: `[n, width]`.
fn first_rows(table: &TensorData, n: usize) -> TensorData {
    let width = table.shape()[1];
    let values: Vec<f32> = table.iter::<f32>().take(n * width).collect();
    let n = values.len() / width;
    TensorData::new(values, [n, width])
}

/// Writes an ELMo: `model.safetensors` (f16) and `options.json`, as AllenNLP has it. The softmax over words is left
/// out.
///
/// # Errors
/// When a weight does not fit into f16 (it is named), or a file cannot be written.
pub fn elmo(checkpoint: &Checkpoint, options: &ElmoOptions, to: &Path) -> Result<Exported> {
    let of_encoder = |name: &str| !name.starts_with("softmax.");
    let exported = weights(&checkpoint.weights, to, &of_encoder, &of_encoder)?;
    write_json(&to.join("options.json"), &serde_json::to_value(options)?)?;
    Ok(exported)
}

/// The part of a card that describes a BERT.
pub(crate) fn bert_card(config: &BertConfig) -> String {
    format!(
        "[architecture]\nkind = \"bert\"\nvocab_size = {}\nhidden_size = {}\nnum_hidden_layers = {}\n\
         num_attention_heads = {}\nintermediate_size = {}\nmax_position_embeddings = {}\ntype_vocab_size = {}\n\
         layer_norm_eps = {:e}\nhidden_dropout_prob = {}\nattention_probs_dropout_prob = {}\npooler = \"none\"\n",
        config.vocab_size,
        config.hidden_size,
        config.num_hidden_layers,
        config.num_attention_heads,
        config.intermediate_size,
        config.max_position_embeddings,
        config.type_vocab_size,
        config.layer_norm_eps,
        config.hidden_dropout_prob,
        config.attention_probs_dropout_prob,
    )
}

/// The part of a card that describes an ELMo.
pub(crate) fn elmo_card(options: &ElmoOptions) -> String {
    let (cnn, lstm) = (&options.char_cnn, &options.lstm);
    format!(
        "[architecture]\nkind = \"elmo\"\n\n[architecture.char_cnn]\nactivation = {:?}\nembedding = {{ dim = {} }}\n\
         filters = {:?}\nn_highway = {}\nn_characters = {}\nmax_characters_per_token = {}\n\n[architecture.lstm]\n\
         dim = {}\nprojection_dim = {}\nn_layers = {}\ncell_clip = {:?}\nproj_clip = {:?}\nuse_skip_connections = {}\n",
        cnn.activation,
        cnn.embedding.dim,
        cnn.filters,
        cnn.n_highway,
        cnn.n_characters,
        cnn.max_characters_per_token,
        lstm.dim,
        lstm.projection_dim,
        lstm.n_layers,
        lstm.cell_clip,
        lstm.proj_clip,
        lstm.use_skip_connections,
    )
}

/// Writes the weights that are `kept` as f16, and counts those of the encoder.
fn weights(
    all: &BTreeMap<String, TensorData>,
    to: &Path,
    kept: &dyn Fn(&str) -> bool,
    of_encoder: &dyn Fn(&str) -> bool,
) -> Result<Exported> {
    create_folder(to)?;
    let mut tensors = Vec::new();
    let mut parameters = 0;
    for (name, data) in all.iter().filter(|(name, _)| kept(name)) {
        let halves: Vec<f16> = data.iter::<f32>().map(f16::from_f32).collect();
        ensure!(
            halves.iter().all(|half| half.is_finite()),
            "`{name}` has a weight beyond what f16 holds (65,504)"
        );
        if of_encoder(name) {
            parameters += halves.len() as u64;
        }
        let half = Half {
            shape: data.shape().to_vec(),
            bytes: halves.iter().flat_map(|half| half.to_le_bytes()).collect(),
        };
        tensors.push((name.clone(), half));
    }
    // PyTorch's tools require this before they read a file.
    let metadata = HashMap::from([("format".to_string(), "pt".to_string())]);
    let bytes = safetensors::serialize(tensors, Some(metadata)).context("weights as bytes")?;
    write_atomically(&to.join("model.safetensors"), &bytes)?;
    Ok(Exported {
        sha256: sha256_hex(&bytes),
        parameters,
        bytes: bytes.len() as u64,
    })
}

fn write_json(path: &Path, value: &Value) -> Result<()> {
    let text = serde_json::to_string_pretty(value)? + "\n";
    write_atomically(path, text.as_bytes())
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_keeps_its_first_rows() {
        let table = TensorData::new(vec![0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0], [3, 2]);
        let kept = |n| first_rows(&table, n);
        assert_eq!(kept(2).shape().to_vec(), [2, 2]);
        assert_eq!(
            kept(2).iter::<f32>().collect::<Vec<_>>(),
            [0.0, 1.0, 2.0, 3.0]
        );
        assert_eq!(kept(5).shape().to_vec(), [3, 2]);
    }
}
