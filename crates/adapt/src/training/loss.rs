//! Losses of a batch that are no mean of the losses of its examples, which micro-batches would change.

use anyhow::{Result, ensure};
use totune_data::{ClassWeights, Task};
use totune_model::{HeadSpec, TagOutput};

use super::Training;

impl Training {
    /// Reason why the gradient of a batch is not the mean of those of its parts, on a dataset of this task; none where it is.
    pub fn indivisible(&self, task: Task) -> Option<String> {
        if !self.state.is_reset() {
            return Some("an example goes on from the states of the batch before".to_string());
        }
        // Of several labels the loss is a plain mean whatever their weights.
        let is_weighted = self.loss.class_weights == ClassWeights::Balanced;
        let divisor = if is_weighted && task != Task::MultiLabel {
            "the weights of its examples"
        } else if self.head.reads().layers().normalised() {
            "the variance of its words, by which layers are normalised"
        } else {
            match (&self.head, task) {
                (_, Task::Ordinal) => "the number of steps that its examples reach",
                (HeadSpec::Tagger(tagger), _) if tagger.output == TagOutput::Softmax => {
                    "the number of its words"
                }
                _ => return None,
            }
        };
        Some(format!("the loss of a batch is divided by {divisor}"))
    }

    /// Refuses micro-batches that would change the loss on a dataset of this task.
    ///
    /// # Errors
    /// Says why.
    pub fn check_micro_batches(&self, task: Task) -> Result<()> {
        let size = self.micro_batch_size;
        if let Some(why) = self.indivisible(task) {
            ensure!(
                size == 0,
                "micro-batch-size: found {size}, expected 0: {why}"
            );
        }
        Ok(())
    }
}
