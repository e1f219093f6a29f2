//! Losses and predictions of each objective.

use burn::tensor::{Device, TensorData};

use super::*;
use crate::examples::Row;
use crate::training::ClassLoss;

/// An example without tokens.
fn row(id: &str, target: Target) -> Row {
    Row {
        id: id.to_string(),
        encoded: totune_data::Encoded::default(),
        target,
        words: None,
    }
}

#[test]
fn the_first_of_equal_scores_is_predicted() {
    assert_eq!(largest(&[0.1, 0.7, 0.2]), 1);
    assert_eq!(largest(&[0.5, 0.5]), 0);
}

#[test]
fn a_score_is_learned_by_its_squared_error() {
    let device = Device::flex();
    let outputs = Tensor::<2>::from_data([[1.0], [4.0], [9.0]], &device);
    let targets = [Target::Value(2.0), Target::Value(0.0), Target::Value(2.0)];
    let objective = Objective::Score {};
    let two = Output::Labels(outputs.clone().narrow(0, 0, 2));
    let loss = objective
        .wanted(&[&targets[2], &targets[0]], None, &device)
        .loss(two);
    assert_eq!(loss.into_scalar::<f32>(), 2.5); // ((1 - 2)² + (4 - 2)²) / 2
    let Predicted {
        loss,
        predicted,
        scores,
    } = objective.prediction(&[9.0], &targets[1]);
    assert_eq!(
        (loss, predicted, scores),
        (81.0, Target::Value(9.0), vec![9.0])
    );
}

#[test]
fn the_loss_of_tags_is_the_mean_over_words_and_padding_has_none() {
    let device = Device::flex();
    // Two rows of 2 and 1 words, 2 tags.
    let emissions = Tensor::<3>::from_data(
        [[[0.0, 0.0], [0.0, 3.0]], [[2.0, 0.0], [9.0, -9.0]]],
        &device,
    );
    let mask = Tensor::from_data([[1.0, 1.0], [1.0, 0.0]], &device);
    let targets = [Target::Tags(vec![0, 1]), Target::Tags(vec![1])];
    let objective = Objective::Tags {
        labels: vec!["O".into(), "B-A".into()],
    };
    let output = || {
        Output::Tags(Tags {
            emissions: emissions.clone(),
            mask: mask.clone(),
            crf: None,
        })
    };
    let nll = |right: f64, wrong: f64| (1.0 + (wrong - right).exp()).ln();
    let expected = [nll(0.0, 0.0), nll(3.0, 0.0), nll(0.0, 2.0)];
    let loss = objective
        .wanted(&targets.each_ref(), None, &device)
        .loss(output());
    let loss = f64::from(loss.into_scalar::<f32>());
    assert!(
        (loss - expected.iter().sum::<f64>() / 3.0).abs() < 1e-6,
        "{loss}"
    );
    let answers = objective
        .predictions(output(), &targets.each_ref())
        .expect("answers");
    assert_eq!(answers[0].predicted, Target::Tags(vec![0, 1]));
    assert_eq!(answers[1].predicted, Target::Tags(vec![0]));
    assert!((answers[1].loss - expected[2]).abs() < 1e-6);
    // Without gold tags, as in a split that is only predicted, they are the same.
    let unknown = objective
        .predictions(output(), &[&Target::Unknown, &Target::Unknown])
        .expect("answers");
    for (found, expected) in unknown.iter().zip(&answers) {
        assert_eq!(found.predicted, expected.predicted);
        assert_eq!(found.loss, 0.0);
    }
}

#[test]
fn a_field_is_learned_and_answered_by_paths() {
    let device = Device::flex();
    let crf = totune_model::Crf {
        transitions: burn::module::Param::from_tensor(Tensor::from_data(
            [[0.0, 0.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]],
            &device,
        )),
        start: None,
        end: None,
    };
    // `O I-A` would be best word by word, but no path goes there; `B-A I-A` has 1 + 3 + 2, `O O` has 1.5.
    let emissions = Tensor::<3>::from_data([[[1.5, 1.0, 0.0], [0.0, 0.0, 3.0]]], &device);
    let output = || {
        Output::Tags(Tags {
            emissions: emissions.clone(),
            mask: Tensor::ones([1, 2], &device),
            crf: Some(crf.clone()),
        })
    };
    let objective = Objective::Tags {
        labels: ["O", "B-A", "I-A"].map(String::from).to_vec(),
    };
    let targets = [Target::Tags(vec![1, 2])];
    let answers = objective
        .predictions(output(), &targets.each_ref())
        .expect("answers");
    assert_eq!(answers[0].predicted, Target::Tags(vec![1, 2]));
    let loss = objective
        .wanted(&targets.each_ref(), None, &device)
        .loss(output());
    let loss = f64::from(loss.into_scalar::<f32>());
    assert!((loss - answers[0].loss).abs() < 1e-6);
    // All nine paths, by hand: emissions, and 2 for B-A before I-A.
    let first = [1.5f64, 1.0, 0.0];
    let second = [0.0, 0.0, 3.0];
    let mut total = 0.0;
    for (i, a) in first.iter().enumerate() {
        for (j, b) in second.iter().enumerate() {
            total += (a + b + if (i, j) == (1, 2) { 2.0 } else { 0.0 }).exp();
        }
    }
    assert!((loss - (total.ln() - 6.0)).abs() < 1e-5, "{loss}");
}

#[test]
fn parts_of_a_sentence_are_scored_as_one() {
    let objective = Objective::Tags {
        labels: vec!["O".into(), "B-A".into(), "I-A".into()],
    };
    let rows = |tags: [&[usize]; 3]| tags.map(|tags| Target::Tags(tags.to_vec())).to_vec();
    let gold = rows([&[0, 1], &[2], &[1]]);
    let examples = Examples {
        rows: ["a", "a", "b"]
            .into_iter()
            .zip(gold)
            .map(|(id, target)| row(id, target))
            .collect(),
        ..Examples::default()
    };
    let f1 = |predicted: [&[usize]; 3]| {
        let predicted = rows(predicted);
        let found = Found {
            predicted: &predicted,
            scores: &[],
        };
        objective.scores(&examples, found, &[])[0].clone()
    };
    assert_eq!(f1([&[0, 1], &[2], &[1]]), ("span-f1".to_string(), 1.0));
    assert_eq!(f1([&[0, 1], &[0], &[1]]), ("span-f1".to_string(), 0.5));
}

#[test]
fn a_target_of_another_kind_names_the_example() {
    let classes = Objective::Class {
        labels: vec!["no".into(), "yes".into()],
        positive: None,
    };
    for (objective, target, expected) in [
        (
            &classes,
            Target::Value(1.0),
            "example `a` of the dev split has no label, expected one",
        ),
        (
            &classes,
            Target::Unknown,
            "example `a` of the dev split has no label, expected one",
        ),
        (
            &classes,
            Target::Class(2),
            "example `a` of the dev split has the label 2, expected less than 2, the number of labels",
        ),
        (
            &Objective::Score {},
            Target::Class(0),
            "example `a` of the dev split has no score, expected one",
        ),
        (
            &Objective::Score {},
            Target::Value(f64::NAN),
            "example `a` of the dev split has the score NaN, expected a finite number",
        ),
    ] {
        let examples = Examples {
            rows: vec![row("a", target)],
            ..Examples::default()
        };
        let error = objective.check("dev", &examples).expect_err(expected);
        assert_eq!(error.to_string(), expected);
    }
}

/// Compares with PyTorch and scikit-learn, on vectors made by `fixtures/make/class_loss.py`.
#[test]
fn label_smoothing_and_class_weights_are_those_of_pytorch() {
    #[derive(serde::Deserialize)]
    struct Reference {
        train: Vec<usize>,
        targets: Vec<usize>,
        logits: Vec<f32>,
        cases: Vec<Case>,
    }
    #[derive(serde::Deserialize)]
    struct Case {
        #[serde(flatten)]
        settings: ClassLoss,
        loss: f32,
        gradient: Vec<f32>,
    }
    let text = include_str!("../../../../fixtures/adapt/class-loss.json");
    let reference: Reference = serde_json::from_str(text).expect("the committed vectors");
    let classes = |labels: &[usize]| labels.iter().map(|&label| Target::Class(label)).collect();
    let (train, targets): (Vec<Target>, Vec<Target>) =
        (classes(&reference.train), classes(&reference.targets));
    let train = Examples {
        rows: train.into_iter().map(|target| row("a", target)).collect(),
        ..Examples::default()
    };
    let objective = Objective::Class {
        labels: ["a", "b", "c"].map(String::from).to_vec(),
        positive: None,
    };
    let device = Device::flex().autodiff();
    for case in reference.cases {
        let weighting = Weighting::of(&case.settings, &objective, &train);
        assert!(weighting.is_some());
        let data = TensorData::new(reference.logits.clone(), [targets.len(), 3]);
        let logits = Tensor::<2>::from_data(data, &device).require_grad();
        let (output, targets) = (Output::Labels(logits.clone()), targets.iter());
        let targets: Vec<&Target> = targets.collect();
        let loss = objective
            .wanted(&targets, weighting.as_ref(), &device)
            .loss(output);
        let found = loss.clone().into_scalar::<f32>();
        assert!((found - case.loss).abs() < 1e-6, "{found} {}", case.loss);
        let gradient = logits.grad(&loss.backward()).expect("a gradient");
        let gradient: Vec<f32> = gradient.into_data().try_to_vec().expect("f32");
        for (found, expected) in gradient.iter().zip(&case.gradient) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
    }
    assert_eq!(
        Weighting::of(&ClassLoss::default(), &objective, &train),
        None
    );
}

/// Vectors of `fixtures/make/binary_losses.py`.
#[derive(serde::Deserialize)]
struct BinaryReference {
    multi_label: Vec<BinaryCase>,
    ordinal: Vec<BinaryCase>,
}

/// A batch with its loss.
#[derive(serde::Deserialize)]
struct BinaryCase {
    n_labels: usize,
    /// Labels of the training examples, which weights follow from.
    #[serde(default)]
    train: Vec<Vec<usize>>,
    #[serde(default)]
    balanced: bool,
    /// Labels of each example, or its only one.
    targets: Vec<Vec<usize>>,
    logits: Vec<f32>,
    loss: f32,
    gradient: Vec<f32>,
    /// Loss of each example, with equal weights.
    losses: Vec<f64>,
    predicted: Vec<Vec<usize>>,
    probabilities: Vec<Vec<f32>>,
}

/// Compares with PyTorch's `BCEWithLogitsLoss` and the authors' `corn_loss`, on vectors made by
/// `fixtures/make/binary_losses.py`.
#[test]
fn several_labels_and_labels_in_an_order_are_learned_as_by_the_references() {
    let check = |objective: Objective, case: BinaryCase, target: &dyn Fn(&Vec<usize>) -> Target| {
        let targets: Vec<Target> = case.targets.iter().map(target).collect();
        let train = Examples {
            rows: case
                .train
                .iter()
                .map(|labels| row("a", target(labels)))
                .collect(),
            ..Examples::default()
        };
        let settings = ClassLoss {
            class_weights: if case.balanced {
                crate::training::ClassWeights::Balanced
            } else {
                crate::training::ClassWeights::Equal
            },
            ..ClassLoss::default()
        };
        let weighting = Weighting::of(&settings, &objective, &train);
        assert_eq!(weighting.is_some(), case.balanced);
        let device = Device::flex().autodiff();
        let shape = [targets.len(), objective.n_outputs()];
        let data = TensorData::new(case.logits.clone(), shape);
        let logits = Tensor::<2>::from_data(data, &device).require_grad();
        let output = || Output::Labels(logits.clone());
        let of: Vec<&Target> = targets.iter().collect();
        let loss = objective
            .wanted(&of, weighting.as_ref(), &device)
            .loss(output());
        let found = loss.clone().into_scalar::<f32>();
        let tolerance = 1e-6 * case.loss.max(1.0);
        assert!(
            (found - case.loss).abs() < tolerance,
            "{found} {}",
            case.loss
        );
        let gradient = logits.grad(&loss.backward()).expect("a gradient");
        let gradient: Vec<f32> = gradient.into_data().try_to_vec().expect("f32");
        assert_eq!(gradient.len(), case.gradient.len());
        for (found, expected) in gradient.iter().zip(&case.gradient) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
        let found = objective.predictions(output(), &of).expect("predictions");
        for (at, found) in found.iter().enumerate() {
            assert_eq!(found.predicted, target(&case.predicted[at]));
            assert!((found.loss - case.losses[at]).abs() < 1e-6 * found.loss.max(1.0));
            assert_eq!(found.scores.len(), case.n_labels);
            for (p, expected) in found.scores.iter().zip(&case.probabilities[at]) {
                assert!((p - expected).abs() < 1e-6, "{p} {expected}");
            }
        }
    };
    let text = include_str!("../../../../fixtures/adapt/binary-losses.json");
    let reference: BinaryReference = serde_json::from_str(text).expect("the committed vectors");
    let names = |n: usize| (0..n).map(|label| format!("l{label}")).collect();
    for case in reference.multi_label {
        let labels = names(case.n_labels);
        check(Objective::Labels { labels }, case, &|labels| {
            Target::Labels(labels.clone())
        });
    }
    for case in reference.ordinal {
        let labels = names(case.n_labels);
        check(Objective::Ordinal { labels }, case, &|labels| {
            Target::Class(labels[0])
        });
    }
}
