//! Strategies in a comparison: the usual ones, their recipes, their numbers of epochs, and those that learn late.

use std::ops::RangeInclusive;

use totune_adapt::{HeadChoice, Recipe, Strategy};
use totune_data::{Dataset, Pairs, Task};
use totune_model::Architecture;

/// The end of the name of a strategy that reads each text of a pair by itself.
pub const SEPARATE: &str = " with separate texts";

/// A strategy on an encoder, and how it reads pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entrant {
    /// Its place among the encoders of the runner.
    pub encoder: usize,
    pub strategy: Strategy,
    /// Encoding of the two texts of a pair.
    pub pairs: Pairs,
}

/// The strategies that are compared on an encoder by default; the last of them is dropped first when time is short.
pub fn usual_strategies(encoder: &Architecture) -> Vec<Strategy> {
    let mut strategies = vec![
        Strategy::Frozen,
        Strategy::Full,
        // The top third.
        Strategy::LastK(encoder.n_layers().div_ceil(3)),
        Strategy::TwoPhase,
        Strategy::Lora,
        Strategy::Gradual,
        Strategy::BitFit,
    ];
    strategies.retain(|strategy| match strategy {
        Strategy::LastK(_) | Strategy::Gradual => !encoder.shares_layers(),
        Strategy::Lora => encoder.is_transformer(),
        Strategy::BitFit => encoder.has_biases(),
        _ => true,
    });
    strategies
}

/// The usual strategies on a dataset, each with its encoding of pairs. Where there are pairs, LP-FT reads each text by
/// itself: it starts from a regression on vectors of both, where a small encoder that reads them as one input learns
/// nothing from few pairs.
pub fn usual_entrants(encoder: &Architecture, train: &Dataset) -> Vec<(Strategy, Pairs)> {
    let usual = usual_strategies(encoder).into_iter();
    let mut entrants: Vec<(Strategy, Pairs)> = usual.map(|one| (one, Pairs::Joint)).collect();
    if suits_regression_on_pairs(train) {
        // Among the leading ones, after the frozen encoder.
        entrants.insert(1, (Strategy::LpFt, usual_pairs(Strategy::LpFt, train)));
    }
    entrants
}

/// The encoding of pairs with which a strategy is compared, unless another one is asked for.
pub(crate) fn usual_pairs(strategy: Strategy, train: &Dataset) -> Pairs {
    if strategy == Strategy::LpFt && suits_regression_on_pairs(train) {
        Pairs::Separate
    } else {
        Pairs::Joint
    }
}

/// Returns whether these are pairs with a score each, or with a label such that small samples have every one.
fn suits_regression_on_pairs(train: &Dataset) -> bool {
    let n = train.examples.len();
    train.is_of_pairs()
        && match train.task {
            Task::Regression => true,
            Task::Classification => train.counts().iter().all(|of_label| 10 * of_label >= n),
            Task::MultiLabel | Task::Ordinal | Task::Tagging => false,
        }
}

/// The recipe of a strategy in a comparison: on a frozen encoder a linear head would be little more than the floor of
/// its vectors.
pub(crate) fn recipe(strategy: Strategy, lr: f64, epochs: usize) -> Recipe {
    Recipe {
        head: match strategy {
            Strategy::Frozen => HeadChoice::TaskSpecific,
            _ => HeadChoice::Simple,
        },
        lr: Some(lr),
        epochs: Some(epochs),
        ..Recipe::new(strategy)
    }
}

/// Returns whether a strategy learns slowly at first, so that it is given twice the time before its learning rates are
/// compared: LoRA, BitFit, adapters and prefixes stay near the majority class for an epoch in which full fine-tuning is nearly done.
pub(crate) fn learns_late(strategy: Strategy) -> bool {
    matches!(
        strategy,
        Strategy::Lora | Strategy::BitFit | Strategy::Adapters | Strategy::PrefixTuning
    )
}

/// Epochs of all phases together: the fewest that the phases need, and the most that are worth their time.
pub(crate) fn epochs(strategy: Strategy, n_layers: usize) -> RangeInclusive<usize> {
    match strategy {
        Strategy::Frozen => 1..=30,
        Strategy::Full => 1..=8,
        Strategy::LastK(_) => 1..=12,
        Strategy::TwoPhase => 2..=8,
        Strategy::AutoFreeze => 3..=8,
        Strategy::LpFt => 1..=8,
        Strategy::Lora | Strategy::BitFit | Strategy::Adapters | Strategy::PrefixTuning => 1..=16,
        Strategy::Gradual => n_layers + 1..=n_layers + 5,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use totune_adapt::DataFacts;
    use totune_data::{Input, Target};
    use totune_model::EncoderCatalogue;

    use super::*;
    use crate::test_support::dataset;

    #[test]
    fn pairs_are_also_read_separately_where_every_label_is_frequent() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../encoders");
        let cards = EncoderCatalogue::read(&folder).unwrap();
        let architecture = &cards.find("totune-bert-mini").unwrap().architecture;
        let separate = |train: &Dataset| {
            let entrants = usual_entrants(architecture, train).into_iter();
            let separate = entrants.filter(|(_, pairs)| !pairs.is_joint());
            separate.map(|(strategy, _)| strategy).collect::<Vec<_>>()
        };
        let single = dataset(40);
        assert_eq!(separate(&single), []);
        let mut pairs = single.clone();
        for example in &mut pairs.examples {
            example.input = Input::Pair("a".into(), "b".into());
        }
        assert_eq!(separate(&pairs), [Strategy::LpFt]);
        let mut rare = pairs.clone();
        for example in &mut rare.examples[3..] {
            example.target = Target::Class(0);
        }
        assert_eq!(separate(&rare), []);
    }

    #[test]
    fn every_strategy_is_valid_with_its_fewest_and_its_most_epochs() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../encoders");
        let cards = EncoderCatalogue::read(&folder).unwrap();
        for encoder in [
            "fixture-bert",
            "totune-bert-mini",
            "roberta-base",
            "modernbert-base",
            "deberta-v3-small",
            "albert-base-v2",
            "elmo-small",
        ] {
            let encoder = cards.find(encoder).unwrap();
            let n_layers = encoder.architecture.n_layers();
            for strategy in usual_strategies(&encoder.architecture) {
                let range = epochs(strategy, n_layers);
                for n in [*range.start(), *range.end()] {
                    for (lr, task) in strategy
                        .learning_rates(encoder)
                        .into_iter()
                        .zip([Task::Classification, Task::Tagging])
                    {
                        let data = DataFacts {
                            task,
                            loss: totune_data::ClassLoss::PLAIN,
                            n_train: 100,
                            has_dev: true,
                            length: 30,
                        };
                        let training = recipe(strategy, lr, n).training(encoder, &data).unwrap();
                        let plan = training.plan(n_layers).unwrap();
                        let all: usize = plan.phases.iter().map(|phase| phase.epochs).sum();
                        assert_eq!(all, n, "{strategy}");
                        assert_eq!(training.adaptation.lr(), lr);
                    }
                }
            }
        }
    }
}
