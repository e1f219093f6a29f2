//! The training loop from outside: it learns, it is repeatable, and it reports what happened.

use burn::tensor::Device;
use totune_adapt::{
    Adam, Adaptation, Adapters, AutoFreeze, BitFit, Examples, Frozen, Full, GradualUnfreezing,
    InputEncoding, LastK, Lora, LpFt, Objective, Optimizer, Prediction, PrefixTuning, Reader,
    Schedule, StackAndFinetune, Stop, StopRule, Switch, TaskData, Training, evaluate, fit,
    schedule,
};
use totune_data::{Example, Input, Pairs, Target};
use totune_model::{Architecture, Pooling};

use super::{first, rows};
use crate::common::{
    self, devices, eight, encoder, fast_devices, final_score, linear, retarget, run, run_on, shape,
    training,
};

#[test]
fn every_strategy_learns_eight_examples_by_heart() {
    let mut stacking = StackAndFinetune::new(1e-2, 10, 5e-3);
    stacking.head_stop = StopRule::Epochs {};
    for (adaptation, pooling) in [
        (Adaptation::Full(Full::new(5e-3)), Pooling::Pooler),
        (Adaptation::LastK(LastK::new(1, 1e-2)), Pooling::Pooler),
        (
            Adaptation::GradualUnfreezing(GradualUnfreezing::new(5e-3, 0.9)),
            Pooling::Pooler,
        ),
        (Adaptation::StackAndFinetune(stacking), Pooling::Pooler),
        (Adaptation::BitFit(BitFit::new(1e-2)), Pooling::Pooler),
        (Adaptation::Lora(Lora::new(4, 1e-2)), Pooling::Pooler),
        (
            Adaptation::Adapters(Adapters::new(8, 1e-2)),
            Pooling::Pooler,
        ),
        (
            Adaptation::PrefixTuning(PrefixTuning::new(4, 1e-2)),
            Pooling::Pooler,
        ),
        (
            Adaptation::LpFt(LpFt {
                probe: common::probe(),
                ..LpFt::new(5e-3)
            }),
            Pooling::Pooler,
        ),
        (
            Adaptation::AutoFreeze(AutoFreeze::new(5e-3)),
            Pooling::Pooler,
        ),
        // 16 fixed features and 8 examples: a linear layer on them suffices.
        (Adaptation::Frozen(Frozen::new(1e-1)), Pooling::First),
    ] {
        let mut settings = training(adaptation);
        linear(&mut settings).pooling = pooling;
        settings.epochs = 120;
        let outcome = run(&eight(), &settings, 3);
        let label = settings.adaptation.label();
        assert_eq!(final_score(&outcome, "test", "accuracy"), 1.0, "{label}");
        let loss = final_score(&outcome, "test", "loss");
        assert!(loss < 0.1, "{label}: {loss}");
    }
}

#[test]
fn bert_adam_and_its_schedule_learn_too() {
    let mut settings = training(Adaptation::Full(Full::new(5e-3)));
    settings.optimizer = Optimizer::BertAdam(Adam {
        epsilon: 1e-6,
        ..settings.optimizer.adam().clone()
    });
    settings.schedule = Schedule::Bert(schedule::Bert { warmup: 0.1 });
    settings.epochs = 60;
    let outcome = run(&eight(), &settings, 3);
    assert_eq!(final_score(&outcome, "test", "accuracy"), 1.0);
}

#[test]
fn the_same_seed_gives_the_same_rows_and_another_seed_others() {
    for adaptation in [
        Adaptation::Full(Full::new(1e-3)),
        Adaptation::LastK(LastK::new(1, 1e-3)),
        Adaptation::Frozen(Frozen::new(1e-3)),
    ] {
        let mut settings = training(adaptation);
        settings.dropout = 0.1;
        linear(&mut settings).dropout = 0.1;
        settings.bucketing = Switch::On;
        for device in fast_devices() {
            let run = |seed| rows(run_on(&device, &eight(), &settings, seed));
            let first = run(11);
            assert_eq!(first, run(11));
            assert_ne!(first, run(12));
        }
    }
}

#[test]
fn the_number_of_data_threads_does_not_show() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let words = [
        "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "fire", "in", "the", "park", "my",
        "heart", "is",
    ];
    std::fs::write(folder.path().join("vocab.txt"), words.join("\n")).expect("a vocabulary");
    let architecture = Architecture::Bert(shape());
    let reader = Reader::open(folder.path(), &architecture, true, 0).expect("a vocabulary");
    let encoding = InputEncoding::of_texts(12, Pairs::Joint);
    let texts = [
        "a fire in the park",
        "my heart is a park",
        "fire",
        "the heart",
        "fire in my heart",
        "a park is a park",
    ];
    let examples: Vec<Example> = texts
        .iter()
        .enumerate()
        .map(|(i, text)| Example {
            id: i.to_string(),
            input: Input::Text((*text).into()),
            target: Target::Class(i % 2),
            group: None,
        })
        .collect();
    let with_threads = |threads| {
        let encode = |examples: &[Example]| {
            let rows = reader.rows(examples, &encoding, threads);
            Examples {
                rows: rows.expect("plain text").all(examples),
                cached: Vec::new(),
            }
        };
        let task = TaskData {
            train: encode(&examples[..4]),
            dev: Some(encode(&examples[4..5])),
            test: encode(&examples[4..]),
            ..eight()
        };
        rows(run(&task, &training(Adaptation::Full(Full::new(1e-3))), 5))
    };
    assert_eq!(with_threads(1), with_threads(2));
}

#[test]
fn frozen_dropout_off_makes_the_frozen_blocks_deterministic() {
    let settings = |dropout, frozen_dropout| {
        let mut settings = training(Adaptation::Frozen(Frozen::new(1e-2)));
        settings.dropout = dropout;
        settings.frozen_dropout = frozen_dropout;
        rows(run(&eight(), &settings, 2))
    };
    let none = settings(0.0, Switch::On);
    assert_eq!(settings(0.5, Switch::Off), none);
    assert_ne!(settings(0.5, Switch::On), none);
}

#[test]
fn frozen_dropout_off_leaves_dropout_in_the_blocks_that_move() {
    let settings = |dropout, frozen_dropout| {
        let mut settings = training(Adaptation::LastK(LastK::new(1, 1e-2)));
        settings.dropout = dropout;
        settings.frozen_dropout = frozen_dropout;
        rows(run(&eight(), &settings, 2))
    };
    let (off, on) = (settings(0.5, Switch::Off), settings(0.5, Switch::On));
    assert_ne!(off, settings(0.0, Switch::Off));
    assert_ne!(off, on);
}

#[test]
fn scores_and_predictions_say_where_they_belong() {
    let mut task = eight();
    task.dev = Some(first(&task.train, 3));
    let mut settings = training(Adaptation::Full(Full::new(1e-3)));
    (settings.batch_size, settings.epochs) = (3, 2);
    let outcome = run(&task, &settings, 1);
    // Eight examples in threes: three steps per epoch.
    assert_eq!(
        (outcome.epochs, outcome.steps, &outcome.stop),
        (2, 6, &Stop::Epochs)
    );

    let losses: Vec<_> = outcome
        .scores
        .iter()
        .filter(|score| score.metric == "loss")
        .map(|score| {
            (
                score.epoch,
                score.step,
                score.split,
                score.n,
                score.is_final,
            )
        })
        .collect();
    let expected = [
        (1, 3, "train", 8, false),
        (1, 3, "dev", 3, false),
        (1, 3, "test", 8, false),
        (2, 6, "train", 8, true),
        (2, 6, "dev", 3, true),
        (2, 6, "test", 8, true),
    ];
    assert_eq!(losses, expected);
    assert!(
        outcome
            .scores
            .iter()
            .any(|score| score.metric == "f1-positive")
    );

    let seconds: Vec<f64> = outcome
        .scores
        .iter()
        .map(|score| score.train_seconds)
        .collect();
    assert!(seconds.is_sorted() && seconds[0] > 0.0, "{seconds:?}");
    assert_eq!(seconds.last(), Some(&outcome.train_seconds));
    assert!(outcome.eval_seconds > 0.0);

    let named: Vec<_> = outcome
        .predictions
        .iter()
        .map(|p| (p.split.as_str(), p.example_id.as_str()))
        .collect();
    assert_eq!(
        named[..4],
        [
            ("dev", "example-0"),
            ("dev", "example-1"),
            ("dev", "example-2"),
            ("test", "example-0")
        ]
    );
    assert_eq!(named.len(), 11);
    for prediction in &outcome.predictions {
        let sum: f32 = prediction.scores.iter().sum();
        assert!((sum - 1.0).abs() < 1e-6, "{prediction:?}");
        let class = prediction.predicted.class().expect("a label");
        assert!(
            prediction.scores[class] >= prediction.scores[1 - class],
            "{prediction:?}"
        );
    }
    let right = outcome
        .predictions
        .iter()
        .filter(|p| p.split == "test" && p.gold == p.predicted)
        .count();
    assert_eq!(
        right as f64 / 8.0,
        final_score(&outcome, "test", "accuracy")
    );
}

#[test]
fn the_devices_agree_on_what_is_learned() {
    let mut settings = training(Adaptation::LastK(LastK::new(1, 1e-3)));
    settings.epochs = 3;
    let losses = devices().into_iter().map(|device| {
        let outcome = run_on(&device, &eight(), &settings, 4);
        final_score(&outcome, "test", "loss")
    });
    let losses: Vec<f64> = losses.collect();
    assert!(
        losses.iter().all(|loss| (loss - losses[0]).abs() < 1e-5),
        "{losses:?}"
    );
}

#[test]
fn the_batch_size_of_the_evaluation_shows_in_rounding_only() {
    let outcome = run(&eight(), &training(Adaptation::Full(Full::new(1e-3))), 1);
    let model = burn::module::Module::valid(&outcome.model);
    let task = eight();
    let score = |size| {
        let scored = evaluate(&model, &task.objective, &task.test, size, None);
        scored.expect("flex does not fail")
    };
    let (one, eight) = (score(1), score(8));
    assert!(
        (one.loss - eight.loss).abs() < 1e-5,
        "{} {}",
        one.loss,
        eight.loss
    );
    for (a, b) in one
        .scores
        .iter()
        .flatten()
        .zip(eight.scores.iter().flatten())
    {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
}

#[test]
fn settings_and_data_that_cannot_run_are_refused() {
    let refused = |task: &TaskData, settings: &Training| {
        let result = fit(encoder(1, &Device::flex()), task, settings, 1, &mut ());
        format!("{:#}", result.map(|_| ()).expect_err("refused"))
    };
    let full = training(Adaptation::Full(Full::new(1e-3)));
    assert_eq!(
        refused(&eight(), &training(Adaptation::LastK(LastK::new(3, 1e-3)))),
        "adaptation.k: found 3, expected from 1 to 2, the number of layers of the encoder"
    );
    let mut empty = eight();
    empty.train = Examples::default();
    assert_eq!(refused(&empty, &full), "the train split has no examples");
    let mut one_label = eight();
    if let Objective::Class { labels, .. } = &mut one_label.objective {
        labels.pop();
    }
    assert_eq!(
        refused(&one_label, &full),
        "example `example-1` of the train split has the label 1, expected less than 1, the number of labels"
    );
}

#[test]
fn training_ends_where_the_score_on_dev_no_longer_rises() {
    let mut task = eight();
    task.dev = Some(task.test.clone());
    let mut settings = training(Adaptation::Frozen(Frozen::new(1e-9)));
    settings.epochs = 30;
    settings.stop = StopRule::EarlyStopping {
        patience: 2,
        threshold: 0.001,
        metric: None,
    };
    let outcome = run(&task, &settings, 3);
    assert_eq!(
        (outcome.epochs, outcome.stop),
        (3, Stop::EarlyStopping),
        "the first, and two without a rise"
    );
    assert!(final_score(&run(&task, &settings, 3), "dev", "accuracy") > 0.0);
    task.dev = None;
    let error = fit(encoder(1, &Device::flex()), &task, &settings, 3, &mut ());
    let error = error
        .map(|_| ())
        .expect_err("there is no dev split")
        .to_string();
    assert_eq!(
        error,
        "stop: training is to end where accuracy on dev does, but there is no dev split with such a score"
    );
}

#[test]
fn a_batch_in_pieces_takes_the_steps_of_a_whole_one() {
    let mut settings = training(Adaptation::Full(Full::new(1e-3)));
    settings.epochs = 4;
    let whole = run(&eight(), &settings, 3);
    settings.micro_batch_size = 3; // of 4
    let pieces = run(&eight(), &settings, 3);
    assert_eq!(whole.steps, pieces.steps);
    for (a, b) in whole.scores.iter().zip(&pieces.scores) {
        assert!((a.value - b.value).abs() < 1e-4, "{a:?} became {b:?}");
    }
}

#[test]
fn what_nobody_knows_the_answer_to_is_answered_and_not_scored() {
    let mut task = eight();
    let mut unknown = first(&task.test, 3);
    retarget(&mut unknown, vec![Target::Unknown; 3]);
    task.predict = vec![("hidden".into(), unknown)];
    let outcome = run(&task, &training(Adaptation::Full(Full::new(1e-3))), 1);
    assert!(outcome.scores.iter().all(|score| score.split != "hidden"));
    let answers = outcome.predictions.iter().filter(|p| p.split == "hidden");
    let answers: Vec<&Prediction> = answers.collect();
    assert_eq!(answers.len(), 3);
    for (answer, known) in answers.iter().zip(&outcome.predictions) {
        assert_eq!(answer.gold, Target::Unknown);
        assert_eq!(
            (&answer.example_id, &answer.predicted),
            (&known.example_id, &known.predicted)
        );
    }
}
