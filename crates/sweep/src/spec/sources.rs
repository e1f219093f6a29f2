//! What a run depends on beside its spec.

use std::collections::BTreeMap;

use serde::Serialize;
use totune_data::sha256_hex;

/// What runs depend on beside their specs, by its name: hashes and what cards say.
pub(crate) type Sources = BTreeMap<String, String>;

/// A run that read something else than it would read now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stale {
    /// Its id.
    pub run: String,
    /// What has changed.
    pub why: String,
}

/// One hash for what a run reads of a dataset: that of its only split, or one over those of all.
pub(crate) fn one_hash(hashes: &[String]) -> String {
    match hashes {
        [only] => only.clone(),
        several => sha256_hex(several.join("\n").as_bytes()),
    }
}
