//! Comparison of a checkpoint with its expected contents, without loading it.

use std::path::Path;

use anyhow::Result;
use totune_checkpoint::{Checkpoint, Difference, Format, Published};

use crate::Architecture;

/// A checkpoint compared with its card, or with the configuration next to it.
#[derive(Debug, Clone)]
pub struct CardCheck {
    /// Storage format of the weights.
    pub format: Format,
    /// Hash of the weights.
    pub hash: String,
    /// Expected hash of this format, if known.
    pub expected_hash: Option<String>,
    /// Number of parameters in the tensors of the network.
    pub parameters: u64,
    /// Expected number of parameters, if known.
    pub expected_parameters: Option<u64>,
    /// Tensors that are missing, misshapen or left over.
    pub differences: Vec<Difference>,
    /// Anything else that differs.
    pub other: Vec<String>,
}

impl CardCheck {
    /// Compares the checkpoint `file` with the tensors of a network; `ignored` lists the tensors that may be left over.
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

    /// All differences, a line each; empty if the checkpoint is as expected.
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
