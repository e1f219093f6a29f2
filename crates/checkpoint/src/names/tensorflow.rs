//! BERT's names in TensorFlow's checkpoints, as in the released code.
//!
//! | TensorFlow | published |
//! |---|---|
//! | `bert/encoder/layer_<i>/…` | `bert.encoder.layer.<i>.…` |
//! | `…/kernel`, `[in, out]` | `….weight`, `[out, in]` |
//! | `…/gamma`, `…/beta` | `….weight`, `….bias` |
//! | `bert/embeddings/word_embeddings` (and position, token type) | `….weight` |
//! | `…/output_weights`, `…/output_bias` | `….weight`, `….bias`, below `classifier` where there is no prefix |
//! | `…/adam_m`, `…/adam_v`, `…/AdamWeightDecayOptimizer…`, `global_step` | left out: the optimiser's |

use super::{Change, Renamed};

/// The published form of a variable; none if it is the optimiser's.
pub(super) fn published(name: &str, shape: &[usize]) -> Option<Renamed> {
    let parts: Vec<&str> = name.split('/').collect();
    let of_optimizer = |part: &&str| {
        matches!(*part, "adam_m" | "adam_v" | "global_step")
            || part.starts_with("AdamWeightDecayOptimizer")
    };
    if parts.iter().any(of_optimizer) {
        return None;
    }
    let (last, scope) = parts.split_last()?;
    let mut words: Vec<String> = scope.iter().flat_map(|part| layer_words(part)).collect();
    if words.is_empty() && last.starts_with("output_") {
        words.push("classifier".to_string());
    }
    let is_kernel = *last == "kernel" && shape.len() == 2;
    let kind = match *last {
        "kernel" | "gamma" | "output_weights" => &["weight"][..],
        "beta" | "output_bias" => &["bias"],
        table if table.ends_with("_embeddings") => &[table, "weight"],
        other => &[other],
    };
    words.extend(kind.iter().map(|word| word.to_string()));
    let mut shape = shape.to_vec();
    if is_kernel {
        shape.reverse();
    }
    Some(Renamed {
        name: words.join("."),
        shape,
        change: if is_kernel {
            Change::Transposed
        } else {
            Change::None
        },
    })
}

/// `layer_3` as `layer`, `3`; anything else as it is.
fn layer_words(part: &str) -> Vec<String> {
    match part.strip_prefix("layer_") {
        Some(i) if i.bytes().all(|byte| byte.is_ascii_digit()) && !i.is_empty() => {
            vec!["layer".to_string(), i.to_string()]
        }
        _ => vec![part.to_string()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_published_as_the_released_converter_names_them() {
        let check = |name: &str, shape: &[usize], expected: &str, expected_shape: &[usize]| {
            let found = published(name, shape).expect("a tensor of the network");
            assert_eq!(
                (found.name.as_str(), &found.shape[..]),
                (expected, expected_shape)
            );
        };
        check(
            "bert/encoder/layer_11/attention/self/query/kernel",
            &[4, 5],
            "bert.encoder.layer.11.attention.self.query.weight",
            &[5, 4],
        );
        check(
            "bert/embeddings/LayerNorm/gamma",
            &[4],
            "bert.embeddings.LayerNorm.weight",
            &[4],
        );
        check(
            "bert/embeddings/LayerNorm/beta",
            &[4],
            "bert.embeddings.LayerNorm.bias",
            &[4],
        );
        check(
            "bert/embeddings/word_embeddings",
            &[9, 4],
            "bert.embeddings.word_embeddings.weight",
            &[9, 4],
        );
        check(
            "cls/predictions/output_bias",
            &[9],
            "cls.predictions.bias",
            &[9],
        );
        check(
            "cls/seq_relationship/output_weights",
            &[2, 4],
            "cls.seq_relationship.weight",
            &[2, 4],
        );
        check("output_weights", &[2, 4], "classifier.weight", &[2, 4]);
    }

    #[test]
    fn the_optimizers_variables_are_left_out() {
        for name in [
            "global_step",
            "bert/pooler/dense/kernel/adam_m",
            "bert/pooler/dense/kernel/adam_v",
            "bert/pooler/dense/bias/AdamWeightDecayOptimizer_1",
        ] {
            assert!(published(name, &[4, 4]).is_none(), "{name}");
        }
    }
}
