//! ALBERT's names, as BERT's: the one layer has other words, and no number of its own.
//!
//! | ALBERT | BERT |
//! |---|---|
//! | `encoder.embedding_hidden_mapping_in` | `embeddings_project`, an ELECTRA's |
//! | `encoder.albert_layer_groups.0.albert_layers.0` | `encoder.layer.0` |
//! | `….attention.{query, key, value}` | `….attention.self.{query, key, value}` |
//! | `….attention.{dense, LayerNorm}` | `….attention.output.{dense, LayerNorm}` |
//! | `….{ffn, ffn_output}` | `….{intermediate, output}.dense` |
//! | `….full_layer_layer_norm` | `….output.LayerNorm` |
//! | `pooler` | `pooler.dense` |

/// Modules, and their names in BERT.
const MODULES: [(&str, &str); 2] = [
    ("encoder.embedding_hidden_mapping_in", "embeddings_project"),
    ("pooler", "pooler.dense"),
];

/// The layer, and its name in BERT.
const LAYER: (&str, &str) = (
    "encoder.albert_layer_groups.0.albert_layers.0.",
    "encoder.layer.0.",
);

/// Parts of the layer, and their names in BERT.
const PARTS: [(&str, &str); 8] = [
    ("attention.query", "attention.self.query"),
    ("attention.key", "attention.self.key"),
    ("attention.value", "attention.self.value"),
    ("attention.dense", "attention.output.dense"),
    ("attention.LayerNorm", "attention.output.LayerNorm"),
    ("ffn", "intermediate.dense"),
    ("ffn_output", "output.dense"),
    ("full_layer_layer_norm", "output.LayerNorm"),
];

/// The name in BERT's scheme; names outside of the layer, the projection and the pooler stay as they are.
pub(super) fn published(name: &str) -> String {
    renamed(name, LAYER, &MODULES, &PARTS)
}

/// The name under which ALBERT publishes a tensor with this name in BERT's scheme; names outside of the layer, the
/// projection and the pooler stay as they are.
pub fn albert_name(name: &str) -> String {
    let turned = |(ours, theirs)| (theirs, ours);
    renamed(
        name,
        turned(LAYER),
        &MODULES.map(turned),
        &PARTS.map(turned),
    )
}

/// `name` with the first name of its module in these pairs replaced by the second.
fn renamed(
    name: &str,
    (layer, new_layer): (&str, &str),
    modules: &[(&str, &str)],
    parts: &[(&str, &str)],
) -> String {
    let find = |table: &[(&str, &str)], module: &str| {
        let found = table.iter().find(|(from, _)| *from == module)?;
        Some(found.1.to_string())
    };
    let new = || {
        let (module, kind) = name.rsplit_once('.')?;
        let module = match module.strip_prefix(layer) {
            Some(part) => format!("{new_layer}{}", find(parts, part)?),
            None => find(modules, module)?,
        };
        Some(format!("{module}.{kind}"))
    };
    new().unwrap_or_else(|| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_to_berts_and_back() {
        let modules = MODULES.map(|(ours, theirs)| (ours.to_string(), theirs.to_string()));
        let parts = PARTS.map(|(ours, theirs)| {
            let (layer, new_layer) = LAYER;
            (format!("{layer}{ours}"), format!("{new_layer}{theirs}"))
        });
        for (ours, theirs) in modules.into_iter().chain(parts) {
            let (ours, theirs) = (format!("{ours}.weight"), format!("{theirs}.weight"));
            assert_eq!(published(&ours), theirs);
            assert_eq!(albert_name(&theirs), ours);
        }
        for name in [
            "embeddings.word_embeddings.weight",
            "embeddings.LayerNorm.bias",
            // A second group is no part of the network here, and is left over.
            "encoder.albert_layer_groups.1.albert_layers.0.ffn.weight",
        ] {
            assert_eq!(published(name), name);
        }
    }
}
