//! Prefixes in the attention layers of an encoder.

use anyhow::{Result, ensure};

use super::Encoder;
use crate::prefix::{Prefix, PrefixSpec};

/// Returns the encoder with the new prefixes of `spec`, initialised from `seed`.
///
/// # Errors
/// When the encoder has no attention that takes a prefix.
pub fn add_prefixes<E: Encoder>(mut encoder: E, spec: &PrefixSpec, seed: u64) -> Result<E> {
    let (hidden, devices) = (encoder.hidden(), encoder.devices());
    let places = encoder.prefix_places();
    ensure!(
        !places.is_empty(),
        "found an encoder without attention that takes a prefix, expected a transformer without relative positions"
    );
    for place in places {
        if spec.layers.contains(&place.layer) {
            let path = format!("layers.{}.attention", place.layer);
            let prefix = Prefix::new(spec.length, hidden, (seed, &path), &devices[0]);
            *place.prefix = Some(prefix);
        }
    }
    Ok(encoder)
}
