//! BERT's names in PyTorch's files: layer norms were once stored as `gamma` and `beta`.

/// The name a tensor has in newer checkpoints.
pub(super) fn published(name: &str) -> String {
    match name.rsplit_once('.') {
        Some((layer, "gamma")) => format!("{layer}.weight"),
        Some((layer, "beta")) => format!("{layer}.bias"),
        _ => name.to_string(),
    }
}
