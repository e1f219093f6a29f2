//! Objectives other than one label of two: numbers, several labels, labels in an order, and losses of labels.

use burn::tensor::Device;
use totune_adapt::{
    Adaptation, ClassLoss, ClassWeights, Full, Objective, Select, Stop, StopRule, Switch, TaskData,
    Training, evaluate, fit,
};
use totune_data::Target;

use crate::common::{eight, encoder, final_score, retarget, run, training};

/// The same sentences with a number to learn for each.
fn scored() -> TaskData {
    let mut task = eight();
    task.objective = Objective::Score {};
    task.metrics = vec!["pearson".into()];
    for examples in [&mut task.train, &mut task.test] {
        let values = (0..8).map(|i| Target::Value(f64::from(i * 5 % 8) / 2.0));
        retarget(examples, values);
    }
    task
}

#[test]
fn a_regression_is_learned_by_heart() {
    let mut settings = training(Adaptation::Full(Full::new(3e-3)));
    settings.epochs = 120;
    let outcome = run(&scored(), &settings, 3);
    assert!(final_score(&outcome, "test", "pearson") > 0.99);
    assert!(final_score(&outcome, "test", "mse") < 0.05);
    let prediction = &outcome.predictions[3];
    assert_eq!(prediction.gold, Target::Value(3.5));
    let Target::Value(found) = prediction.predicted else {
        panic!("expected a number, found {:?}", prediction.predicted);
    };
    assert_eq!(prediction.scores, [found as f32]);
}

#[test]
fn standardised_scores_are_learned_alike_on_every_scale() {
    let mut settings = training(Adaptation::Full(Full::new(3e-3)));
    (settings.epochs, settings.standardise_scores) = (10, Switch::On);
    let mut shifted = scored();
    for examples in [&mut shifted.train, &mut shifted.test] {
        let values = (0..8).map(|i| Target::Value(50.0 + 20.0 * f64::from(i * 5 % 8) / 2.0));
        retarget(examples, values);
    }
    let [plain, shifted] = [scored(), shifted].map(|task| run(&task, &settings, 3));
    let [pearson, of_shifted] =
        [&plain, &shifted].map(|outcome| final_score(outcome, "test", "pearson"));
    assert!(
        (pearson - of_shifted).abs() < 1e-4,
        "{pearson} {of_shifted}"
    );
    let [mse, of_shifted] = [&plain, &shifted].map(|outcome| final_score(outcome, "test", "mse"));
    assert!((of_shifted / mse - 400.0).abs() < 1.0, "{mse} {of_shifted}");
    let gold = shifted.predictions.iter().map(|one| one.gold.clone());
    assert!(
        gold.zip([50.0, 100.0])
            .all(|(found, expected)| found == Target::Value(expected))
    );
    // The last layer gives the scores themselves.
    for outcome in [plain, shifted] {
        let task = scored();
        let model = burn::module::Module::valid(&outcome.model);
        let bare = evaluate(&model, &task.objective, &task.test, 8, None);
        for (found, expected) in bare
            .expect("scored")
            .predicted
            .iter()
            .zip(&outcome.predictions)
        {
            let [found, expected] =
                [found, &expected.predicted].map(|one| one.value().expect("a score"));
            assert!((found - expected).abs() < 1e-3, "{found} {expected}");
        }
    }
}

#[test]
fn a_score_that_is_not_defined_on_dev_is_no_rise() {
    let mut task = scored();
    let mut dev = task.test.clone();
    retarget(&mut dev, (0..8).map(|_| Target::Value(1.0))); // no correlation with anything
    task.dev = Some(dev);
    let mut settings = training(Adaptation::Full(Full::new(1e-3)));
    settings.epochs = 4;
    settings.select = Select::BestDev;
    settings.stop = StopRule::EarlyStopping {
        patience: 2,
        threshold: 0.0,
        metric: None,
    };
    let outcome = run(&task, &settings, 3);
    assert!(final_score(&outcome, "test", "mse").is_finite());
    assert_eq!((outcome.stop, outcome.epochs), (Stop::EarlyStopping, 2));
}

#[test]
fn several_labels_and_labels_in_an_order_are_learned_by_heart() {
    let labels = ["a", "b", "c"].map(String::from).to_vec();
    let several = |i: usize| {
        let applies = |label: &usize| (i * 5 + label * 3).is_multiple_of(label + 2);
        Target::Labels((0..3).filter(applies).collect())
    };
    let several: &dyn Fn(usize) -> Target = &several;
    let step: &dyn Fn(usize) -> Target = &|i| Target::Class(i * 5 % 8 / 3);
    let balanced = ClassLoss {
        class_weights: ClassWeights::Balanced,
        ..ClassLoss::PLAIN
    };
    for (objective, target, metric, loss) in [
        (
            Objective::Labels {
                labels: labels.clone(),
            },
            several,
            "exact-match",
            ClassLoss::PLAIN,
        ),
        (
            Objective::Labels {
                labels: labels.clone(),
            },
            several,
            "map",
            balanced,
        ),
        (
            Objective::Ordinal { labels },
            step,
            "quadratic-kappa",
            ClassLoss::PLAIN,
        ),
    ] {
        let mut task = eight();
        task.objective = objective;
        task.metrics = vec![metric.into()];
        for examples in [&mut task.train, &mut task.test] {
            retarget(examples, (0..8).map(target));
        }
        let mut settings = training(Adaptation::Full(Full::new(3e-3)));
        (settings.epochs, settings.loss) = (120, loss);
        let outcome = run(&task, &settings, 3);
        assert_eq!(final_score(&outcome, "test", metric), 1.0, "{metric}");
        assert!(final_score(&outcome, "test", "loss") < 0.2, "{metric}");
        for prediction in &outcome.predictions {
            assert_eq!(prediction.predicted, prediction.gold, "{metric}");
            assert_eq!(prediction.scores.len(), 3, "{metric}");
        }
    }
}

#[test]
fn label_smoothing_keeps_probabilities_away_from_one() {
    let mut settings = training(Adaptation::Full(Full::new(3e-3)));
    settings.epochs = 60;
    let surest = |settings: &Training| {
        let outcome = run(&eight(), settings, 3);
        assert_eq!(final_score(&outcome, "test", "accuracy"), 1.0);
        let scores = outcome.predictions.iter().flat_map(|said| &said.scores);
        scores.fold(0.0, |most: f32, &score| most.max(score))
    };
    assert!(surest(&settings) > 0.99);
    settings.loss.label_smoothing = 0.2;
    // The loss is least where the label has 1 - ε + ε / 2 = 0.9.
    let smoothed = surest(&settings);
    assert!((0.85..0.95).contains(&smoothed), "{smoothed}");
}

#[test]
fn a_loss_of_labels_is_refused_for_other_tasks() {
    let mut settings = training(Adaptation::Full(Full::new(3e-3)));
    settings.loss.label_smoothing = 0.2;
    let error = fit(
        encoder(1, &Device::flex()),
        &scored(),
        &settings,
        3,
        &mut (),
    );
    assert_eq!(
        error.map(|_| ()).expect_err("no labels").to_string(),
        "loss.label-smoothing: found 0.2, which is for classification; expected 0, since the task is regression"
    );
}
