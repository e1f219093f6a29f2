//! The files around the weights that transformers reads: `config.json` and those of the tokenizer.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use totune_data::Tokenizer;
use totune_model::{Architecture, HeadSpec};

use crate::facts::TaskFacts;
use crate::form::{Form, encoder_class};
use crate::{InputFacts, SavedAs};

/// Keys of an encoder's `config.json` that do not apply to the saved model.
const STALE: [&str; 14] = [
    "architectures",
    "id2label",
    "label2id",
    "problem_type",
    "num_labels",
    "finetuning_task",
    "torch_dtype",
    "dtype",
    "pooler",
    "kind",
    "_name_or_path",
    "auto_map",
    "quantization_config",
    "transformers_version",
];

/// The `config.json` of `form`, based on that of the encoder in `dir` where it has one; `None` for an architecture that
/// transformers does not have.
pub(crate) fn config(form: &Form, task: &TaskFacts, dir: &Path) -> Result<Option<Value>> {
    let Some(encoder) = encoder_class(&form.architecture) else {
        return Ok(None);
    };
    let model_type = form.architecture.label();
    let mut config = fs::read(dir.join("config.json"))
        .ok()
        .and_then(|bytes| serde_json::from_slice::<Map<String, Value>>(&bytes).ok())
        .filter(|config| {
            config
                .get("model_type")
                .is_some_and(|kind| kind == model_type)
        })
        .unwrap_or_else(|| defaults(&form.architecture));
    let Value::Object(shape) = serde_json::to_value(&form.architecture)? else {
        unreachable!("an architecture is a table");
    };
    config.extend(shape);
    STALE.iter().for_each(|key| drop(config.remove(*key)));
    config.insert("model_type".into(), model_type.into());
    config.insert("torch_dtype".into(), "float32".into());
    let class = match &form.saved_as {
        SavedAs::Transformers { class } => class.clone(),
        SavedAs::Totune { .. } => encoder,
    };
    config.insert("architectures".into(), json!([class]));
    let names = match task.labels() {
        [] => vec!["LABEL_0".to_string()],
        labels => labels.to_vec(),
    };
    let numbered = names.iter().enumerate();
    let by_index: Map<String, Value> = numbered
        .clone()
        .map(|(index, name)| (index.to_string(), name.clone().into()))
        .collect();
    let by_name: Map<String, Value> = numbered
        .map(|(index, name)| (name.clone(), index.into()))
        .collect();
    config.insert("id2label".into(), by_index.into());
    config.insert("label2id".into(), by_name.into());
    if let Some(problem) = task.problem_type() {
        config.insert("problem_type".into(), problem.into());
    }
    let dropout = match &form.head {
        HeadSpec::Linear(spec) => Some(spec.dropout),
        HeadSpec::Tagger(spec) => Some(spec.dropout),
        HeadSpec::FullyConnected(spec) => Some(spec.dropout),
        _ => None,
    };
    if let Some(dropout) = dropout {
        let key = match form.architecture {
            Architecture::Distilbert(_) => "seq_classif_dropout",
            Architecture::DebertaV2(_) => "cls_dropout",
            Architecture::Albert(_) => "classifier_dropout_prob",
            _ => "classifier_dropout",
        };
        config.insert(key.into(), dropout.into());
    }
    let SavedAs::Transformers { .. } = form.saved_as else {
        return Ok(Some(config.into()));
    };
    match &form.architecture {
        Architecture::Modernbert(_) => config.extend([
            ("classifier_pooling".into(), "cls".into()),
            ("classifier_activation".into(), "linear".into()),
            ("classifier_bias".into(), false.into()),
        ]),
        Architecture::DebertaV2(shape) => config.extend([
            ("pooler_hidden_size".into(), shape.hidden_size.into()),
            ("pooler_hidden_act".into(), "gelu".into()),
        ]),
        _ => {}
    }
    Ok(Some(config.into()))
}

/// Default `config.json` keys of an architecture, for an encoder without such a file.
fn defaults(architecture: &Architecture) -> Map<String, Value> {
    let value = match architecture {
        Architecture::Bert(_) | Architecture::Electra(_) => json!({
            "hidden_act": "gelu", "initializer_range": 0.02, "pad_token_id": 0,
            "position_embedding_type": "absolute",
        }),
        Architecture::Distilbert(_) => json!({
            "activation": "gelu", "initializer_range": 0.02, "pad_token_id": 0,
            "sinusoidal_pos_embds": false,
        }),
        Architecture::Roberta(_) | Architecture::XlmRoberta(_) => json!({
            "hidden_act": "gelu", "initializer_range": 0.02, "bos_token_id": 0, "eos_token_id": 2,
            "position_embedding_type": "absolute",
        }),
        Architecture::Modernbert(_) => json!({
            "hidden_activation": "gelu", "initializer_range": 0.02,
        }),
        Architecture::DebertaV2(_) => json!({
            "hidden_act": "gelu", "initializer_range": 0.02,
        }),
        Architecture::Albert(_) => json!({
            "initializer_range": 0.02, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3,
        }),
        Architecture::Elmo(_) => json!({}),
    };
    match value {
        Value::Object(map) => map,
        _ => unreachable!("written as an object"),
    }
}

/// Writes `tokenizer.json`, `tokenizer_config.json` and `special_tokens_map.json` into `to`.
///
/// The class is transformers' general one, which takes `tokenizer.json` as it is in every version; in some, the classes
/// of architectures build a tokenizer anew from the vocabulary.
pub(crate) fn write_tokenizer(
    tokenizer: &Tokenizer,
    architecture: &Architecture,
    input: &InputFacts,
    of_words: bool,
    to: &Path,
) -> Result<()> {
    let path = to.join("tokenizer.json");
    fs::write(&path, tokenizer.to_json(of_words)?)
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    let special: Map<String, Value> = tokenizer
        .special_tokens()
        .into_iter()
        .map(|(name, token)| (name.to_string(), token.into()))
        .collect();
    // DistilBERT refuses segment ids, the RoBERTas have only one segment, and the others none.
    let has_types = matches!(
        architecture,
        Architecture::Bert(_) | Architecture::Electra(_) | Architecture::Albert(_)
    );
    let inputs = if has_types {
        json!(["input_ids", "token_type_ids", "attention_mask"])
    } else {
        json!(["input_ids", "attention_mask"])
    };
    let mut config = special.clone();
    config.insert("tokenizer_class".into(), "PreTrainedTokenizerFast".into());
    config.insert("model_max_length".into(), input.max_length.into());
    config.insert("model_input_names".into(), inputs);
    config.insert("clean_up_tokenization_spaces".into(), true.into());
    if of_words && tokenizer.reads_spaces() {
        config.insert("add_prefix_space".into(), true.into());
    }
    write_json(&to.join("tokenizer_config.json"), &config.into())?;
    write_json(&to.join("special_tokens_map.json"), &special.into())
}

pub(crate) fn write_json(path: &Path, value: &Value) -> Result<()> {
    let text = serde_json::to_string_pretty(value)? + "\n";
    fs::write(path, text).with_context(|| format!("{}: cannot be written", path.display()))
}
