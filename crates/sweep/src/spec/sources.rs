//! Inputs that a run depends on in addition to its spec.

use std::collections::BTreeMap;

use serde::Serialize;
use totune_data::sha256_hex;

/// Inputs that runs depend on in addition to their specs, by name: hashes and facts from cards.
pub(crate) type Sources = BTreeMap<String, String>;

/// A stale run: one that read something else than it would read now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stale {
    /// Its id.
    pub run: String,
    /// Description of the change.
    pub why: String,
}

/// Hash of the data that a run reads of a dataset: that of its only split, or one over those of all.
pub(crate) fn one_hash(hashes: &[String]) -> String {
    match hashes {
        [only] => only.clone(),
        several => sha256_hex(several.join("\n").as_bytes()),
    }
}
