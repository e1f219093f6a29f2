//! Bottleneck adapters in the sublayers of an encoder.

use anyhow::{Result, ensure};

use super::Encoder;
use crate::adapter::{Adapter, AdapterSpec};

/// Returns the encoder with the new adapters of `spec`, initialised from `seed`.
///
/// # Errors
/// When the encoder has no sublayers that end in a residual.
pub fn add_adapters<E: Encoder>(mut encoder: E, spec: &AdapterSpec, seed: u64) -> Result<E> {
    let (hidden, devices) = (encoder.hidden(), encoder.devices());
    let places = encoder.adapter_places();
    ensure!(
        !places.is_empty(),
        "found an encoder without the sublayers of a transformer, expected one that can have adapters"
    );
    for place in places {
        if spec.after.contains(&place.sublayer) && spec.layers.contains(&place.layer) {
            let path = format!("layers.{}.{}", place.layer, place.sublayer);
            let adapter = Adapter::new(spec.width, hidden, (seed, &path), &devices[0]);
            *place.adapter = Some(adapter);
        }
    }
    Ok(encoder)
}
