//! A dataset for tests, and predictions for it.

use totune_data::{Dataset, Example, Input, Target};

use crate::predictions::Predictions;
use crate::trial::{Size, TrialResult};

/// `n` texts, every third of class 1.
pub(crate) fn dataset(n: usize) -> Dataset {
    let example = |at: usize| Example {
        id: at.to_string(),
        input: Input::Text(format!("text {at}")),
        target: Target::Class(usize::from(at.is_multiple_of(3))),
        group: None,
    };
    Dataset {
        name: "own".into(),
        loss: totune_data::ClassLoss::PLAIN,
        task: totune_data::Task::Classification,
        hash: "00".into(),
        labels: vec!["a".into(), "b".into()],
        positive: None,
        examples: (0..n).map(example).collect(),
        metrics: vec!["accuracy".into()],
        tagging: None,
    }
}

/// Predictions for `n` texts, of which those at these places are wrong.
pub(crate) fn predictions(n: usize, is_wrong: impl Fn(usize) -> bool) -> Predictions {
    let gold = dataset(n).examples.into_iter().map(|one| one.target);
    let gold: Vec<Target> = gold.collect();
    let predicted = |(at, target): (usize, &Target)| match target {
        Target::Class(class) if is_wrong(at) => Target::Class(1 - class),
        other => other.clone(),
    };
    Predictions {
        predicted: gold.iter().enumerate().map(predicted).collect(),
        gold,
        probabilities: Vec::new(),
        of_labels: Vec::new(),
    }
}

/// A trial that ended with this dev score.
pub(crate) fn trial(dev: f64, size: Size) -> TrialResult {
    TrialResult {
        dev: Some(dev),
        on_dev: None,
        on_test: None,
        learning: Vec::new(),
        size,
        train_seconds: 1.0,
        cache_seconds: 0.0,
        eval_seconds: 0.0,
        epoch_seconds: 1.0,
        seconds: 1.0,
        n_dev: 100,
        params_trained: 1,
        params_total: 1,
        diverged: false,
        model: None,
    }
}
