//! Low-rank updates on the linear layers of an encoder.

use anyhow::{Result, ensure};

use super::Encoder;
use crate::layer::Linear;
use crate::lora::{LowRank, LowRankSpec};

/// Returns the encoder with new updates on the linear layers that `spec` names, initialised from `seed`.
///
/// # Errors
/// When a target is no linear layer of the encoder; the message lists those there are.
pub fn add_low_rank<E: Encoder>(mut encoder: E, spec: &LowRankSpec, seed: u64) -> Result<E> {
    let mut linears = encoder.linears();
    let known = names(&linears);
    for target in &spec.targets {
        ensure!(
            known.iter().any(|name| names_module(target, name)),
            "found `{target}`, expected {}",
            if known.is_empty() {
                "an encoder that lists linear layers: this one has none".to_string()
            } else {
                format!("one of {}", known.join(", "))
            }
        );
    }
    for (layer_idx, name, linear) in &mut linears {
        let targets = spec.targets.iter();
        let meant = targets.into_iter().any(|target| names_module(target, name));
        if meant && spec.layers.contains(layer_idx) {
            let (shape, device) = (linear.weight.dims(), linear.weight.device());
            let path = format!("layers.{layer_idx}.{name}");
            linear.lora = Some(LowRank::new(spec, shape, (seed, &path), &device));
        }
    }
    drop(linears);
    Ok(encoder)
}

/// Returns the encoder with its low-rank updates merged into the weights: without updates, it gives the same output.
pub fn merge_low_rank<E: Encoder>(mut encoder: E) -> E {
    for (_, _, linear) in encoder.linears() {
        if let Some(update) = linear.lora.take() {
            linear.weight = linear.weight.clone().map(|weight| {
                let required = weight.is_require_grad();
                (weight + update.delta())
                    .detach()
                    .set_require_grad(required)
            });
        }
    }
    encoder
}

/// The linear layers of an encoder, given those of each of its layers, whose paths within it are `names`:
/// [`Encoder::linears`].
pub(super) fn linears<'a, const N: usize>(
    names: &[&str],
    layers: impl Iterator<Item = [&'a mut Linear; N]>,
) -> Vec<(usize, String, &'a mut Linear)> {
    assert_eq!(names.len(), N, "a path for each linear layer");
    let linears = layers.enumerate().flat_map(|(layer, linears)| {
        let named = names.iter().zip(linears);
        named.map(move |(name, linear)| (layer, name.to_string(), linear))
    });
    linears.collect()
}

/// The names of linear layers within a layer of the encoder, each once.
fn names(linears: &[(usize, String, &mut Linear)]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (_, name, _) in linears {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// Returns true if `target` is the path of a module within a layer, or the last components of it.
pub fn names_module(target: &str, path: &str) -> bool {
    path.strip_suffix(target)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_path_or_the_last_parts_of_one() {
        for (target, expected) in [
            ("attention.query", true),
            ("query", true),
            ("uery", false),
            ("attention", false),
            ("", false),
        ] {
            assert_eq!(
                names_module(target, "attention.query"),
                expected,
                "{target}"
            );
        }
    }
}
