//! Checks of the loss of labels.

use anyhow::{Result, ensure};
use totune_data::{ClassLoss, ClassWeights};

/// Refuses a loss that is out of range, or that micro-batches would change.
pub(super) fn validate(loss: &ClassLoss, micro_batch_size: usize) -> Result<()> {
    loss.check()?;
    ensure!(
        loss.class_weights == ClassWeights::Equal || micro_batch_size == 0,
        "loss.class-weights: found \"balanced\" with micro-batch-size = {micro_batch_size}, expected 0: the loss of a batch is \
         divided by the weights of its examples"
    );
    Ok(())
}
