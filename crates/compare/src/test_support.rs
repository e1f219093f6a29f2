//! A dataset for tests.

use totune_data::{Dataset, Example, Input, Target};

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
