//! Low-rank updates in PEFT's format: the trained parameters without the encoder they were trained on.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use totune_adapt::{Adaptation, Lora, Training, Values};
use totune_data::Task;
use totune_model::{Architecture, EncoderCard};

use crate::config::write_json;
use crate::facts::TaskFacts;
use crate::form::{Form, NO_ORDINAL, bridge};
use crate::manifest::ADAPTER;
use crate::names::place;
use crate::weights::{Stored, write_file};

/// Folder of the adapter within that of the model.
pub(crate) const FOLDER: &str = "adapter";
const WEIGHTS: &str = "adapter_model.safetensors";

/// Refuses a training that PEFT cannot represent.
///
/// # Errors
/// When it has no low-rank updates, a task or head that transformers lacks, or an encoder whose layers PEFT divides
/// otherwise.
pub fn check_adapter(architecture: &Architecture, training: &Training, task: Task) -> Result<()> {
    updates(training)?;
    ensure!(
        task != Task::Ordinal,
        "--adapter: PEFT needs a class of transformers, but {NO_ORDINAL}"
    );
    if let Architecture::Modernbert(_) = architecture {
        bail!(
            "--adapter: PEFT has one update for the queries, keys and values of a {architecture}, which share a matrix"
        );
    }
    match bridge(architecture, &training.head, training.pairs) {
        Ok(_) => Ok(()),
        Err(reason) => bail!("--adapter: PEFT needs a class of transformers, but {reason}"),
    }
}

fn updates(training: &Training) -> Result<&Lora> {
    match &training.adaptation {
        Adaptation::Lora(lora) => Ok(lora),
        other => bail!(
            "--adapter: found the strategy `{}`, expected `lora`",
            other.label()
        ),
    }
}

/// Writes the updates `values` of a model that was saved in `form`, with its head, into `dir`.
pub(crate) fn write(
    (training, task): (&Training, &TaskFacts),
    encoder: &EncoderCard,
    (form, values): (&Form, &Values),
    dir: &Path,
) -> Result<()> {
    let lora = updates(training)?;
    let name = |path: &str| place(&form.architecture, &form.saved_as, path).1;
    let prefix = form.architecture.naming().prefix();
    let (mut tensors, mut targets, mut heads) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for (path, data) in values {
        let (layer, matrix) = match path.rsplit_once(".lora.") {
            Some((layer, "a")) => (layer, "lora_A"),
            Some((layer, "b")) => (layer, "lora_B"),
            _ => bail!("found a parameter `{path}`, expected one of a low-rank update"),
        };
        let layer = name(&format!("{layer}.weight"));
        let layer = layer.strip_suffix(".weight").unwrap_or(&layer).to_string();
        tensors.push(Stored::new(
            format!("base_model.model.{layer}.{matrix}.weight"),
            data,
        )?);
        targets.insert(layer);
    }
    // Parameters that the pretrained checkpoint may lack, trained or not: PEFT would initialise them at random.
    let is_head = |path: &str| !path.starts_with("encoder.") || path.starts_with("encoder.pooler.");
    for (path, data) in form.values.iter().filter(|(path, _)| is_head(path)) {
        let name = name(path);
        let within = name.strip_prefix(prefix).unwrap_or(&name);
        heads.insert(within.split('.').next().unwrap_or(within).to_string());
        tensors.push(Stored::new(format!("base_model.model.{name}"), data)?);
    }
    let shown = || format!("{}: cannot be written", dir.display());
    fs::create_dir(dir).with_context(shown)?;
    write_file(tensors, &dir.join(WEIGHTS))?;
    let config = json!({
        "base_model_name_or_path": hub_name(encoder),
        "bias": "none",
        "fan_in_fan_out": false,
        "inference_mode": true,
        "init_lora_weights": true,
        "lora_alpha": whole(lora.alpha),
        "lora_dropout": lora.dropout,
        "modules_to_save": heads,
        "peft_type": "LORA",
        "r": lora.rank,
        "revision": null,
        "target_modules": targets,
        "task_type": match task {
            TaskFacts::Tagging { .. } => "TOKEN_CLS",
            TaskFacts::Classification { .. }
            | TaskFacts::MultiLabel { .. }
            | TaskFacts::Ordinal { .. }
            | TaskFacts::Regression {} => "SEQ_CLS",
        },
        "use_rslora": false,
    });
    write_json(&dir.join(ADAPTER), &config)?;
    fs::write(dir.join("README.md"), card(encoder, task)).with_context(shown)
}

/// The name of the encoder on the Hub, if its homepage is there.
fn hub_name(encoder: &EncoderCard) -> Option<&str> {
    encoder.homepage.strip_prefix("https://huggingface.co/")
}

/// Alpha as an integer where it is a whole number, the form in which PEFT writes it.
fn whole(alpha: f64) -> Value {
    if alpha.fract() == 0.0 {
        (alpha as i64).into()
    } else {
        alpha.into()
    }
}

fn card(encoder: &EncoderCard, task: &TaskFacts) -> String {
    let class = match task {
        TaskFacts::Tagging { .. } => "AutoModelForTokenClassification",
        TaskFacts::Classification { .. }
        | TaskFacts::MultiLabel { .. }
        | TaskFacts::Ordinal { .. }
        | TaskFacts::Regression {} => "AutoModelForSequenceClassification",
    };
    let (title, hub) = (&encoder.title, hub_name(encoder));
    let base = hub.map_or_else(|| format!("<folder of {title}>"), str::to_string);
    format!(
        "---\nlibrary_name: peft\n---\n\n# LoRA updates of {title}\n\nThe low-rank updates of the model in the folder above, whose card says what it was trained on, and its head.\n\
         That model has them added to its weights already.\n\n```python\nfrom peft import PeftModel\nfrom transformers import AutoConfig, {class}\n\n\
         config = AutoConfig.from_pretrained(\"..\")  # the labels\nbase = {class}.from_pretrained(\"{base}\", config=config)\nmodel = PeftModel.from_pretrained(base, \".\")\n```\n"
    )
}
