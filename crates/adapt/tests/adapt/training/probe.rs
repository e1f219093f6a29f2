//! Linear probing: the head that fine-tuning starts from is the optimum on frozen features.

use burn::tensor::Device;
use totune_adapt::{
    Adaptation, EntryLayer, FrozenPass, LpFt, Objective, StoredDtype, Switch, TaskData, Training,
    fit,
};
use totune_data::{Encoded, Pairs, Target};
use totune_model::{HeadInput, HeadSpec, Layers, PooledInput, Pooling, SiameseSpec};
use totune_stats::{Matrix, Scaler, Solver, logistic_cv, ridge_cv};

use crate::common::{self, devices, eight, encoder, linear, run_on, training};

/// Settings whose fine-tuning changes nothing that would show.
fn settings() -> Training {
    let mut settings = training(Adaptation::LpFt(LpFt {
        probe: common::probe(),
        ..LpFt::new(1e-12)
    }));
    linear(&mut settings).pooling = Pooling::Mean;
    settings.epochs = 1;
    settings
}

/// The features of the training examples, from the frozen encoder.
fn features(task: &TaskData, settings: &Training, device: &Device) -> Matrix<f32> {
    let HeadInput::Vector(read) = settings.head.reads() else {
        panic!("a linear head reads a vector");
    };
    let rows: Vec<_> = task
        .train
        .rows
        .iter()
        .map(|row| row.encoded.clone())
        .collect();
    let vectors = FrozenPass::new(
        &encoder(1, device),
        &rows,
        EntryLayer::Pooled(read),
        StoredDtype::F32,
        3,
    )
    .compute();
    Matrix::new(vectors.expect("a device that works").vectors(), 16)
}

#[track_caller]
fn check(found: Vec<f32>, expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        let difference = (f64::from(*found) - expected).abs();
        assert!(difference < 1e-4, "{what}: {found}, expected {expected}");
    }
}

#[test]
fn the_probabilities_are_those_of_a_logistic_regression_on_frozen_features() {
    for n_labels in [2, 3] {
        let (mut task, settings) = (eight(), settings());
        let labels = ["a", "b", "c"].map(String::from);
        task.objective = Objective::Class {
            labels: labels[..n_labels].to_vec(),
            positive: None,
        };
        for part in [&mut task.train, &mut task.test] {
            for (i, row) in part.rows.iter_mut().enumerate() {
                row.target = Target::Class(i % n_labels);
            }
        }
        let classes: Vec<usize> = (0..8).map(|i| i % n_labels).collect();
        for device in devices() {
            let x = features(&task, &settings, &device);
            let logistic = common::probe().logistic(Solver::Lbfgs);
            let expected = logistic_cv(&x, (&classes, n_labels), &logistic, &[1.0], 2);
            let expected = expected.model.probabilities(&x.view());
            let outcome = run_on(&device, &task, &settings, 1);
            let predictions = outcome.predictions.iter();
            let found = predictions.flat_map(|prediction| prediction.scores.clone());
            check(found.collect(), &expected, &format!("{n_labels} labels"));
            assert!(outcome.cache_seconds > 0.0, "the probe takes time");
            assert!(outcome.train_seconds > outcome.cache_seconds);
        }
    }
}

#[test]
fn the_probabilities_of_a_standardised_probe_are_those_of_a_regression_on_scaled_features() {
    let (mut task, mut settings) = (eight(), settings());
    settings.adaptation = Adaptation::LpFt(LpFt {
        probe: common::probe(),
        standardise: Switch::On,
        ..LpFt::new(1e-12)
    });
    task.objective = Objective::Class {
        labels: ["a", "b"].map(String::from).to_vec(),
        positive: None,
    };
    let classes: Vec<usize> = (0..8).map(|i| i % 2).collect();
    for part in [&mut task.train, &mut task.test] {
        for (row, class) in part.rows.iter_mut().zip(&classes) {
            row.target = Target::Class(*class);
        }
    }
    for device in devices() {
        let x = features(&task, &settings, &device);
        let scaled = Scaler::fit(&x).apply(&x);
        let logistic = common::probe().logistic(Solver::Lbfgs);
        let of = |x: &Matrix<f32>| {
            let chosen = logistic_cv(x, (&classes, 2), &logistic, &[1.0], 2);
            chosen.model.probabilities(&x.view())
        };
        let (expected, unscaled) = (of(&scaled), of(&x));
        let differences = expected.iter().zip(&unscaled).map(|(a, b)| (a - b).abs());
        assert!(differences.fold(0.0, f64::max) > 1e-2, "scaling matters");
        let outcome = run_on(&device, &task, &settings, 1);
        let predictions = outcome.predictions.iter();
        let found = predictions.flat_map(|prediction| prediction.scores.clone());
        check(found.collect(), &expected, "standardised");
    }
}

#[test]
fn the_scores_are_those_of_a_ridge_regression_on_frozen_features() {
    let (mut task, settings) = (eight(), settings());
    task.objective = Objective::Score {};
    task.metrics = vec!["mse".into()];
    let gold = [1.0, 2.5, 0.0, 4.0, 3.5, 2.0, 5.0, 1.5];
    for part in [&mut task.train, &mut task.test] {
        for (row, value) in part.rows.iter_mut().zip(gold) {
            row.target = Target::Value(value);
        }
    }
    for device in devices() {
        let x = features(&task, &settings, &device);
        let expected = ridge_cv(&x, &gold, &[1.0], 2);
        let expected = expected.model.predict(&x.view());
        let outcome = run_on(&device, &task, &settings, 1);
        let found = outcome
            .predictions
            .iter()
            .map(|prediction| prediction.scores[0]);
        check(found.collect(), &expected, "scores");
    }
}

#[test]
fn the_scores_of_separate_texts_are_those_of_a_ridge_regression_on_both_vectors() {
    let (mut task, mut settings) = (eight(), settings());
    settings.head = HeadSpec::Siamese(SiameseSpec {
        layers: Layers::Top,
        pooling: Pooling::First,
        dropout: 0.1,
    });
    settings.pairs = Pairs::Separate;
    task.objective = Objective::Score {};
    task.metrics = vec!["mse".into()];
    let gold = [1.0, 2.5, 0.0, 4.0, 3.5, 2.0, 5.0, 1.5];
    let alone = common::encoded(&task.train).into_iter().enumerate();
    // So short that two are no longer than the encoder reads.
    let alone = alone.map(|(at, text)| Encoded {
        ids: [&text.ids[..4 + at % 2], &[3]].concat(),
        type_ids: vec![0; 5 + at % 2],
        ..text
    });
    let alone: Vec<Encoded> = alone.collect();
    // Each text with the one three places further.
    let second = |at: usize| &alone[(at + 3) % alone.len()];
    for part in [&mut task.train, &mut task.test] {
        for (at, row) in part.rows.iter_mut().enumerate() {
            row.target = Target::Value(gold[at]);
            row.encoded = alone[at].clone();
            row.encoded.ids.extend(&second(at).ids);
            row.encoded.type_ids.extend(vec![1; second(at).ids.len()]);
            row.encoded.apart = true;
            row.encoded.second_opened = true;
        }
    }
    for device in devices() {
        let start = EntryLayer::Pooled(PooledInput {
            pooling: Pooling::First,
            layers: Layers::Top,
        });
        let of_texts =
            FrozenPass::new(&encoder(1, &device), &alone, start, StoredDtype::F32, 3).compute();
        let of_texts = of_texts.expect("a device that works").vectors();
        let vector = |at: usize| &of_texts[16 * (at % 8)..16 * (at % 8) + 16];
        let features = (0..8).flat_map(|at| {
            let (u, v) = (vector(at), vector(at + 3));
            let both = u.iter().zip(v);
            let distance = both.clone().map(|(u, v)| (u - v).abs());
            let product = both.map(|(u, v)| u * v);
            u.iter()
                .chain(v)
                .copied()
                .chain(distance)
                .chain(product)
                .collect::<Vec<f32>>()
        });
        let x = Matrix::new(features.collect(), 64);
        let expected = ridge_cv(&x, &gold, &[1.0], 2);
        let expected = expected.model.predict(&x.view());
        let outcome = run_on(&device, &task, &settings, 1);
        let predictions = outcome.predictions.iter();
        check(
            predictions.map(|one| one.scores[0]).collect(),
            &expected,
            "scores",
        );
    }
}

#[test]
fn a_label_without_an_example_and_too_few_examples_are_refused() {
    let (mut task, mut settings) = (eight(), settings());
    let refused = |task: &TaskData, settings: &Training| {
        let outcome = fit(encoder(1, &Device::flex()), task, settings, 1, &mut ());
        outcome.map(|_| ()).expect_err("refused").to_string()
    };
    task.objective = Objective::Class {
        labels: vec!["no".into(), "yes".into(), "maybe".into()],
        positive: None,
    };
    assert_eq!(
        refused(&task, &settings),
        "adaptation.kind: found `lp-ft`, but no training example has the label `maybe`, so its probe has no optimum"
    );
    if let Adaptation::LpFt(lp_ft) = &mut settings.adaptation {
        lp_ft.probe.folds = 9;
    }
    assert_eq!(
        refused(&eight(), &settings),
        "adaptation.probe.folds: found 9, expected at most 8, the number of training examples"
    );
}
