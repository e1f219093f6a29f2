//! Losses of a batch that are no mean of the losses of its examples, which micro-batches would change.

use anyhow::{Result, ensure};
use totune_data::{ClassWeights, Task};
use totune_model::{HeadSpec, TagOutput};

use super::Training;

impl Training {
    /// Divisor of the loss of a batch in place of its number of examples, on a dataset of this task; none where the gradient
    /// of a batch is the mean of those of its parts.
    pub fn divides_by(&self, task: Task) -> Option<&'static str> {
        if self.loss.class_weights == ClassWeights::Balanced {
            return Some("the weights of its examples");
        }
        if self.head.reads().layers().normalised() {
            return Some("the variance of its words, by which layers are normalised");
        }
        match (&self.head, task) {
            (_, Task::Ordinal) => Some("the number of steps that its examples reach"),
            (HeadSpec::Tagger(tagger), _) if tagger.output == TagOutput::Softmax => {
                Some("the number of its words")
            }
            _ => None,
        }
    }

    /// Refuses micro-batches that would change the loss on a dataset of this task.
    ///
    /// # Errors
    /// Says what the loss is divided by.
    pub fn check_micro_batches(&self, task: Task) -> Result<()> {
        let size = self.micro_batch_size;
        if let Some(divisor) = self.divides_by(task) {
            ensure!(
                size == 0,
                "micro-batch-size: found {size}, expected 0: the loss of a batch is divided by {divisor}"
            );
        }
        Ok(())
    }
}
