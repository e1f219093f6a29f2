//! A checkpoint compared with what it should be, without loading it.

use std::path::Path;

use anyhow::Result;
use totune_checkpoint::{Checkpoint, Difference, Format, Published};

use crate::Architecture;

/// A checkpoint compared with its card, or with the configuration next to it.
#[derive(Debug, Clone)]
pub struct CardCheck {
    /// How the weights are stored.
    pub format: Format,
    /// What identifies them.
    pub hash: String,
    /// What is expected of this format, if that is known.
    pub expected_hash: Option<String>,
    /// Numbers in the tensors of the network.
    pub parameters: u64,
    /// As many as there should be, if that is said.
    pub expected_parameters: Option<u64>,
    /// Tensors that are missing, misshapen or left over.
    pub differences: Vec<Difference>,
    /// Anything else that differs.
    pub other: Vec<String>,
}

impl CardCheck {
    /// Compares the checkpoint `file` with the tensors of a network; `ignored` says what may be left over.
    pub(crate) fn new(
        file: &Path,
        architecture: &Architecture,
        ignored: impl Fn(&Published) -> Vec<String>,
    ) -> Result<Self> {
        let checkpoint = Checkpoint::open(file)?;
        let (format, hash) = (checkpoint.format(), checkpoint.hash());
        let weights = Published::new(checkpoint, architecture.naming())?;
        let tensors = architecture.tensors();
        let parameters = tensors
            .iter()
            .filter_map(|(name, _)| weights.shape(name))
            .map(|shape| shape.iter().map(|&dim| dim as u64).product::<u64>())
            .sum();
        Ok(Self {
            format,
            hash,
            expected_hash: None,
            parameters,
            expected_parameters: None,
            differences: weights.differences(&tensors, &ignored(&weights)),
            other: Vec::new(),
        })
    }

    /// Everything that differs, a line each; empty when the checkpoint is what it should be.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(expected) = &self.expected_hash
            && *expected != self.hash
        {
            lines.push(format!("sha-256     {}, expected {expected}", self.hash));
        }
        if let Some(expected) = self.expected_parameters
            && expected != self.parameters
        {
            lines.push(format!(
                "parameters  {}, expected {expected}",
                self.parameters
            ));
        }
        lines.extend(self.differences.iter().map(Difference::to_string));
        lines.extend(self.other.iter().cloned());
        lines
    }
}
