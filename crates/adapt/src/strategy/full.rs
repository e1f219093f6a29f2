//! Fine-tuning of everything.

use serde::{Deserialize, Serialize};

use super::{Part, Trained};
use crate::phase::Plan;
use crate::training::Training;

/// The head and all layers learn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Full {
    /// Peak learning rate.
    pub lr: f64,
    /// The tanh layer over `[CLS]`.
    pub pooler: Part,
    /// Word, position and type vectors and their layer norm.
    pub embeddings: Part,
}

impl Full {
    /// As the papers have it: every parameter moves.
    pub fn new(lr: f64) -> Self {
        Self {
            lr,
            pooler: Part::Trainable,
            embeddings: Part::Trainable,
        }
    }

    /// One phase.
    pub(super) fn plan(&self, training: &Training, n_layers: usize) -> Plan {
        let trained = Trained {
            lr: self.lr,
            pooler: self.pooler,
            layers: 0..n_layers,
            embeddings: self.embeddings,
        };
        Plan {
            phases: vec![trained.phase(training)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::Adaptation;
    use crate::test_support::check_plan;

    #[test]
    fn everything_moves() {
        check_plan(
            Adaptation::Full(Full::new(2e-5)),
            2,
            0,
            &[
                r"^head\.",
                r"^encoder\.pooler\.",
                r"^encoder\.layers\.1\.",
                r"^encoder\.layers\.0\.",
                r"^encoder\.embeddings\.",
            ],
        );
    }

    #[test]
    fn fixed_embeddings_leave_the_layers_moving() {
        let mut settings = Full::new(2e-5);
        settings.embeddings = Part::Frozen;
        settings.pooler = Part::Frozen;
        check_plan(
            Adaptation::Full(settings),
            2,
            1,
            &[
                r"^head\.",
                r"^encoder\.layers\.1\.",
                r"^encoder\.layers\.0\.",
            ],
        );
    }
}
