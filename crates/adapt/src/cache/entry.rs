//! The layer at which passes enter the model when outputs of frozen layers are cached.

use serde::{Deserialize, Serialize};
use totune_model::{HeadInput, Layers, PooledInput};

use crate::phase::Assignment;

/// Layer at which a pass enters the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryLayer {
    /// Output of block `i`, that is `layers[i - 1]`.
    Block(usize),
    /// Pooled input of the head for each example.
    Pooled(PooledInput),
    /// Input of the head for each token.
    Tokens(Layers),
}

impl EntryLayer {
    /// Entry layer of a phase, for an encoder of `n_layers` layers whose head reads `reads`; `None` if nothing that
    /// costs time is frozen. Ignores dropout in frozen layers.
    pub(crate) fn of(phase: &Assignment, reads: HeadInput, n_layers: usize) -> Option<Self> {
        if phase.frozen_below > n_layers && !phase.trains_pooler() {
            return Some(match reads {
                HeadInput::Vector(pooled) => Self::Pooled(pooled),
                HeadInput::Tokens(layers) => Self::Tokens(layers),
            });
        }
        // A head may read more than the top layer.
        let highest = n_layers.checked_sub(reads.depth(n_layers))?;
        let block = phase.frozen_below.checked_sub(1)?.min(highest);
        (block > 0).then_some(Self::Block(block))
    }
}

impl std::fmt::Display for EntryLayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Block(block) => write!(f, "block {block}"),
            Self::Tokens(Layers::Top) => write!(f, "the top layer"),
            Self::Tokens(Layers::Mix { .. }) => write!(f, "all layers"),
            Self::Pooled(PooledInput { pooling, layers }) => match layers {
                Layers::Top => write!(f, "{pooling:?} pooling"),
                Layers::Mix { .. } => write!(f, "{pooling:?} pooling of all layers"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::{Adaptation, Frozen, Full, LastK, Trainable};
    use crate::test_support::{assigned, linear, training};
    use crate::training::Training;
    use totune_model::{Pooling, Switch};

    #[test]
    fn a_run_begins_above_what_is_fixed_and_below_what_its_head_reads() {
        let mut tuned_pooler = Frozen::new(1.0);
        tuned_pooler.pooler = Trainable::Yes;
        let frozen = || Adaptation::Frozen(Frozen::new(1.0));
        let pooled = |pooling| {
            Some(EntryLayer::Pooled(PooledInput {
                pooling,
                layers: Layers::Top,
            }))
        };
        let last = |k| Adaptation::LastK(LastK::new(k, 1.0));
        for (adaptation, pooling, expected) in [
            (frozen(), Pooling::Mean, pooled(Pooling::Mean)),
            (frozen(), Pooling::Pooler, pooled(Pooling::Pooler)),
            (
                Adaptation::Frozen(tuned_pooler),
                Pooling::Pooler,
                Some(EntryLayer::Block(6)),
            ),
            (last(1), Pooling::Mean, Some(EntryLayer::Block(5))),
            (last(2), Pooling::First, Some(EntryLayer::Block(4))),
            (last(2), Pooling::Concat4, Some(EntryLayer::Block(3))),
            (last(5), Pooling::Concat4, Some(EntryLayer::Block(1))),
            (last(6), Pooling::Mean, None), // only the embeddings are fixed
            (Adaptation::Full(Full::new(1.0)), Pooling::Mean, None),
        ] {
            let mut settings = training(adaptation);
            linear(&mut settings).pooling = pooling;
            settings.frozen_dropout = Switch::Off;
            let start = |settings: &Training| settings.entry_layer(&assigned(settings, 6), 6);
            let label = settings.adaptation.label();
            assert_eq!(start(&settings), expected, "{label} {pooling:?}");
            settings.frozen_dropout = Switch::On;
            assert_eq!(start(&settings), None, "{label}: dropout in what is fixed");
            settings.dropout = 0.0;
            assert_eq!(start(&settings), expected, "{label}: no dropout at all");
        }
    }

    #[test]
    fn a_mix_of_all_layers_leaves_nothing_to_begin_with_unless_all_of_them_are_fixed() {
        let layers = Layers::mix(true);
        let start = |adaptation| {
            let mut settings = training(adaptation);
            linear(&mut settings).pooling = Pooling::Mean;
            linear(&mut settings).layers = layers;
            settings.frozen_dropout = Switch::Off;
            settings.entry_layer(&assigned(&settings, 6), 6)
        };
        let pooling = Pooling::Mean;
        assert_eq!(
            start(Adaptation::Frozen(Frozen::new(1.0))),
            Some(EntryLayer::Pooled(PooledInput { pooling, layers }))
        );
        assert_eq!(start(Adaptation::LastK(LastK::new(1, 1.0))), None);
    }
}
