//! DistilBERT's names, as BERT's: the layers are the same, the words are not.
//!
//! | DistilBERT | BERT |
//! |---|---|
//! | `transformer.layer.<i>.attention.{q_lin, k_lin, v_lin}` | `encoder.layer.<i>.attention.self.{query, key, value}` |
//! | `transformer.layer.<i>.attention.out_lin`, `.sa_layer_norm` | `encoder.layer.<i>.attention.output.{dense, LayerNorm}` |
//! | `transformer.layer.<i>.ffn.{lin1, lin2}` | `encoder.layer.<i>.{intermediate, output}.dense` |
//! | `transformer.layer.<i>.output_layer_norm` | `encoder.layer.<i>.output.LayerNorm` |

/// Parts of a layer's name, and their names in BERT.
const PARTS: [(&str, &str); 8] = [
    ("attention.q_lin", "attention.self.query"),
    ("attention.k_lin", "attention.self.key"),
    ("attention.v_lin", "attention.self.value"),
    ("attention.out_lin", "attention.output.dense"),
    ("sa_layer_norm", "attention.output.LayerNorm"),
    ("ffn.lin1", "intermediate.dense"),
    ("ffn.lin2", "output.dense"),
    ("output_layer_norm", "output.LayerNorm"),
];

/// The name in BERT's scheme; names outside layers stay as they are.
pub(super) fn published(name: &str) -> String {
    let in_layer = || {
        let (layer, part) = name.strip_prefix("transformer.layer.")?.split_once('.')?;
        let (part, kind) = part.rsplit_once('.')?;
        let (_, theirs) = PARTS.iter().find(|(ours, _)| *ours == part)?;
        Some(format!("encoder.layer.{layer}.{theirs}.{kind}"))
    };
    in_layer().unwrap_or_else(|| name.to_string())
}

/// The name under which DistilBERT publishes a tensor with this name in BERT's scheme; names outside layers stay as
/// they are.
pub fn distilbert_name(name: &str) -> String {
    let in_layer = || {
        let (layer, part) = name.strip_prefix("encoder.layer.")?.split_once('.')?;
        let (part, kind) = part.rsplit_once('.')?;
        let (ours, _) = PARTS.iter().find(|(_, theirs)| *theirs == part)?;
        Some(format!("transformer.layer.{layer}.{ours}.{kind}"))
    };
    in_layer().unwrap_or_else(|| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_to_berts_and_back() {
        for (ours, _) in PARTS {
            let name = format!("transformer.layer.11.{ours}.weight");
            assert_eq!(distilbert_name(&published(&name)), name);
        }
        let table = "embeddings.word_embeddings.weight";
        assert_eq!(distilbert_name(table), table);
    }
}
