//! Location of each parameter: the file, and the name in it.

use totune_checkpoint::{Naming, albert_name, distilbert_name};
use totune_model::{Architecture, Bert, DebertaV2, Elmo, ModernBert};

use crate::SavedAs;

/// The file with the encoder's weights, and with the head's where transformers has a class for both.
pub(crate) const WEIGHTS: &str = "model.safetensors";
/// The file with a head, adapters or prefixes that transformers does not have.
pub(crate) const HEAD: &str = "head.safetensors";

/// The plural of what the parameter at `path` of a classifier belongs to, if that is a module that was added to the
/// encoder and is no part of transformers.
pub(crate) fn added(path: &str) -> Option<&'static str> {
    let modules = [
        (".adapter.", "bottleneck adapters"),
        (".prefix.", "trained prefixes"),
    ];
    let mut modules = modules.into_iter();
    modules
        .find(|(part, _)| path.starts_with("encoder.layers.") && path.contains(part))
        .map(|(_, name)| name)
}

/// The file and the name in it of the parameter at `path` of a classifier, such as
/// `encoder.layers.0.attention.query.bias`.
pub(crate) fn place(
    architecture: &Architecture,
    saved_as: &SavedAs,
    path: &str,
) -> (&'static str, String) {
    if added(path).is_some() {
        return (HEAD, path.to_string());
    }
    let transformers = matches!(saved_as, SavedAs::Transformers { .. });
    match path.strip_prefix("encoder.") {
        Some(path) if transformers => (WEIGHTS, in_classifier(architecture, path)),
        Some(path) => (WEIGHTS, in_encoder(architecture, path)),
        None if transformers => (WEIGHTS, of_head(architecture, path)),
        None => (HEAD, path.to_string()),
    }
}

/// The name in a file with just the encoder.
fn in_encoder(architecture: &Architecture, path: &str) -> String {
    match architecture {
        Architecture::Distilbert(_) => distilbert_name(&Bert::published(path)),
        Architecture::Albert(_) => albert_name(&Bert::published(path)),
        Architecture::Modernbert(_) => ModernBert::published(path),
        Architecture::DebertaV2(_) => DebertaV2::published(path),
        Architecture::Elmo(_) => Elmo::published(path),
        Architecture::Bert(_)
        | Architecture::Roberta(_)
        | Architecture::XlmRoberta(_)
        | Architecture::Electra(_) => Bert::published(path),
    }
}

/// The name in a file of one of transformers' classifiers.
fn in_classifier(architecture: &Architecture, path: &str) -> String {
    let name = in_encoder(architecture, path);
    let naming = architecture.naming();
    match (naming, name.strip_prefix("pooler.")) {
        // RoBERTa's classifier has the layer that BERT has as its pooler.
        (Naming::Roberta, Some(rest)) => format!("classifier.{rest}"),
        _ => format!("{}{name}", naming.prefix()),
    }
}

/// The name in transformers of a parameter of a head: a linear one, a tagger without recurrent layers, or the two layers
/// of DistilBERT, ELECTRA and DeBERTa.
fn of_head(architecture: &Architecture, path: &str) -> String {
    let (module, kind) = path.rsplit_once('.').unwrap_or(("", path));
    let of_hidden = module.ends_with(".hidden");
    let of_text = !module.contains("Tagger");
    let module = match architecture.naming() {
        Naming::Electra if of_hidden => "classifier.dense",
        Naming::DebertaV2 if of_hidden => "pooler.dense",
        _ if of_hidden => "pre_classifier",
        Naming::Roberta | Naming::Electra if of_text => "classifier.out_proj",
        _ => "classifier",
    };
    format!("{module}.{kind}")
}
