//! Runs of several phases, and checkpoint selection, checked in parameters, rates and rows.
//!
//! A run that selects its best epoch also allows checks in the middle of training: a dev split labelled with the
//! predictions after an epoch, which differ from those before, makes that epoch the best one.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use burn::tensor::Device;
use rand::Rng;
use totune_adapt::{
    Adaptation, Cache, Frozen, Full, GradualUnfreezing, Optimizer, Outcome, Plateau, Schedule,
    Score, Select, StackAndFinetune, StepEvent, Stop, StopRule, StoredDtype, Switch, TaskData,
    TestScores, Training, Watch, evaluate, fit, schedule,
};
use totune_data::{Target, stream};
use totune_model::{Bert, Classifier};

use crate::common::{
    self, eight, encoded, encoder, fast_devices, parameters, retarget, run, run_on, training,
};

type Parameters = BTreeMap<String, Vec<u32>>;

/// The eight sentences with these labels on dev.
fn with_dev(labels: &[usize]) -> TaskData {
    let mut task = eight();
    let mut dev = task.test.clone();
    retarget(&mut dev, labels.iter().map(|&label| Target::Class(label)));
    task.dev = Some(dev);
    task
}

/// Predictions of the model for each sentence after each epoch.
fn answers(device: &Device, settings: &Training, seed: u64) -> Vec<Vec<usize>> {
    let mut answers = Vec::new();
    for example in 0..8 {
        let mut task = with_dev(&[1; 8]);
        let dev = task.dev.as_mut().expect("a dev split");
        *dev = dev.part(&[example]);
        let outcome = run_on(device, &task, settings, seed);
        let scores = outcome.scores.iter();
        let said = scores.filter(|s| s.split == "dev" && s.metric == "accuracy");
        for (epoch, score) in said.enumerate() {
            if answers.len() <= epoch {
                answers.push(Vec::new());
            }
            answers[epoch].push(score.value as usize);
        }
    }
    answers
}

/// Finds a seed whose model's predictions differ after each epoch, and returns these predictions.
fn telling_seed(device: &Device, settings: &Training) -> (u64, Vec<Vec<usize>>) {
    let mut found = (0..40).map(|seed| (seed, answers(device, settings, seed)));
    found
        .find(|(_, answers)| answers.iter().collect::<BTreeSet<_>>().len() == answers.len())
        .expect("one of forty seeds")
}

/// Runs that select each epoch in turn.
fn each_epoch(device: &Device, settings: &Training) -> (u64, Vec<(TaskData, Outcome<Bert>)>) {
    let (seed, answers) = telling_seed(device, settings);
    let mut settings = settings.clone();
    settings.select = Select::BestDev;
    let runs = answers.iter().map(|labels| {
        let task = with_dev(labels);
        let outcome = run_on(device, &task, &settings, seed);
        (task, outcome)
    });
    (seed, runs.collect())
}

/// The parameters before the first step and after each epoch.
fn over_time(device: &Device, settings: &Training) -> Vec<Parameters> {
    let (seed, runs) = each_epoch(device, settings);
    let head_seed = stream(seed, "head", 0).next_u64();
    let before = Classifier::new(encoder(1, device), &settings.head, 2, head_seed, device);
    let before = parameters(&before.expect("a head that fits"));
    let after = runs.iter().map(|(_, outcome)| parameters(&outcome.model));
    [before].into_iter().chain(after).collect()
}

/// Parts of the model, `head` and so on, of which anything changed.
fn moved(before: &Parameters, after: &Parameters) -> Vec<String> {
    let changed = before
        .iter()
        .filter(|(path, values)| after[*path] != **values);
    let part = |path: &String| {
        let path = path.strip_prefix("encoder.").unwrap_or(path);
        let names: Vec<&str> = path.split('.').collect();
        match names[0] {
            "layers" => names[..2].join("."),
            part => part.to_string(),
        }
    };
    let parts: BTreeSet<String> = changed.map(|(path, _)| part(path)).collect();
    parts.into_iter().collect()
}

/// Settings with one step per epoch, at a rate that changes predictions.
fn one_step(adaptation: Adaptation, epochs: usize) -> Training {
    let mut settings = training(adaptation);
    (settings.batch_size, settings.epochs) = (8, epochs);
    if let Optimizer::AdamW(adam) = &mut settings.optimizer {
        adam.weight_decay = 0.0;
    }
    settings
}

fn unfreezing() -> Training {
    let settings = GradualUnfreezing::new(5e-2, 0.5);
    one_step(Adaptation::GradualUnfreezing(settings), 5)
}

#[test]
fn unfreezing_moves_exactly_the_layers_that_are_open() {
    for device in fast_devices() {
        let times = over_time(&device, &unfreezing());
        let open = [
            &["head", "pooler"][..],
            &["head", "layers.1", "pooler"],
            &["head", "layers.0", "layers.1", "pooler"],
            &["embeddings", "head", "layers.0", "layers.1", "pooler"],
            &["embeddings", "head", "layers.0", "layers.1", "pooler"],
        ];
        let steps = times.windows(2).map(|pair| moved(&pair[0], &pair[1]));
        assert_eq!(steps.collect::<Vec<_>>(), open, "{device:?}");
    }
}

/// Distances that the values of the parameters below `part` moved, in units of `rate`.
fn distances(before: &Parameters, after: &Parameters, part: &str, rate: f32) -> Vec<f32> {
    let below = before.iter().filter(|(path, _)| path.starts_with(part));
    let pairs = below.flat_map(|(path, values)| values.iter().zip(&after[path]));
    pairs
        .map(|(a, b)| (f32::from_bits(*a) - f32::from_bits(*b)).abs() / rate)
        .collect()
}

/// Returns true if every value moved by the whole rate, as in Adam's first step, whatever its gradient; a later one
/// does not.
fn is_first_step(distances: &[f32]) -> bool {
    assert!(!distances.is_empty());
    let whole = distances.iter().filter(|d| (**d - 1.0).abs() < 0.01);
    whole.count() * 10 > distances.len() * 9
}

#[test]
fn moments_go_on_through_unfreezing_and_begin_with_each_layer() {
    for device in fast_devices() {
        let times = over_time(&device, &unfreezing());
        let first = |epoch: usize, part, rate| {
            is_first_step(&distances(&times[epoch - 1], &times[epoch], part, rate))
        };
        let (head, top, low) = ("head.", "encoder.layers.1.", "encoder.layers.0.");
        assert!(first(1, head, 5e-2));
        assert!(!first(2, head, 5e-2), "the head's moments are kept");
        assert!(first(2, top, 5e-2));
        assert!(!first(3, top, 5e-2));
        assert!(first(3, low, 2.5e-2), "at half the rate");
    }
}

#[test]
fn fine_tuning_after_stacking_begins_with_a_fresh_optimiser() {
    let mut stack = StackAndFinetune::new(5e-2, 2, 2e-2);
    stack.head_stop = StopRule::Epochs {};
    let settings = one_step(Adaptation::StackAndFinetune(stack), 2);
    for device in fast_devices() {
        let times = over_time(&device, &settings);
        assert_eq!(times.len(), 5);
        assert_eq!(moved(&times[0], &times[2]), ["head"]);
        assert_eq!(
            moved(&times[2], &times[3]),
            ["embeddings", "head", "layers.0", "layers.1", "pooler"]
        );
        let first = |epoch: usize, rate| {
            is_first_step(&distances(&times[epoch - 1], &times[epoch], "head.", rate))
        };
        assert_eq!(
            [
                first(1, 5e-2),
                first(2, 5e-2),
                first(3, 2e-2),
                first(4, 2e-2)
            ],
            [true, false, true, false]
        );
    }
}

#[test]
fn the_best_epoch_gives_the_model_the_scores_and_the_predictions() {
    let settings = one_step(Adaptation::Full(Full::new(2e-2)), 4);
    for device in fast_devices() {
        let (_, runs) = each_epoch(&device, &settings);
        for (i, (task, outcome)) in runs.iter().enumerate() {
            assert_eq!(
                (outcome.epochs, outcome.scores.len()),
                (4, runs[0].1.scores.len())
            );
            let finals: Vec<_> = outcome.scores.iter().filter(|s| s.is_final).collect();
            assert!(
                finals.iter().all(|score| score.epoch == i + 1),
                "{finals:?}"
            );
            let dev = task.dev.as_ref().expect("a dev split");
            let model = burn::module::Module::valid(&outcome.model);
            let again = evaluate(&model, &task.objective, dev, 8, None);
            let again = again.expect("a device that works");
            let loss = finals
                .iter()
                .find(|s| s.split == "dev" && s.metric == "loss");
            assert_eq!(again.loss, loss.expect("a loss").value);
            let said = outcome.predictions.iter().filter(|p| p.split == "dev");
            let said: Vec<_> = said.map(|p| p.scores.clone()).collect();
            assert_eq!(again.scores, said);
            // The labels of dev are the predictions of this epoch.
            let expected = dev.rows.iter().map(|row| row.target.clone());
            assert_eq!(again.predicted, expected.collect::<Vec<_>>());
        }
    }
}

#[test]
fn of_several_best_epochs_the_first_counts_and_without_dev_there_is_none() {
    let mut settings = training(Adaptation::Frozen(Frozen::new(1e-9)));
    (settings.epochs, settings.select) = (3, Select::BestDev);
    let outcome = run(&with_dev(&[1; 8]), &settings, 3);
    let finals = outcome.scores.iter().filter(|score| score.is_final);
    assert!(finals.clone().count() > 0 && finals.clone().all(|score| score.epoch == 1));
    assert_eq!(
        refused(&eight(), &settings),
        "select: the epoch with the best accuracy on dev is to stand for the run, but there is no dev split with such a \
         score"
    );
}

#[test]
fn test_scored_only_at_the_end_has_the_scores_of_the_selected_epoch() {
    for device in fast_devices() {
        let settings = one_step(Adaptation::Full(Full::new(1e-3)), 3);
        let (seed, runs) = each_epoch(&device, &settings);
        let only_final = Training {
            select: Select::BestDev,
            test_scores: TestScores::Final,
            ..settings
        };
        for (task, each_epoch) in runs {
            let outcome = run_on(&device, &task, &only_final, seed);
            assert_eq!(outcome.predictions, each_epoch.predictions);
            let on_test = |outcome: &Outcome<Bert>, finals: bool| -> Vec<Score> {
                let scores = outcome.scores.iter().cloned();
                let wanted =
                    scores.filter(|score| score.split == "test" && (score.is_final || !finals));
                let unclocked = |score| Score {
                    train_seconds: 0.0,
                    ..score
                };
                wanted.map(unclocked).collect()
            };
            assert_eq!(on_test(&outcome, false), on_test(&each_epoch, true));
        }
    }
}

fn refused(task: &TaskData, settings: &Training) -> String {
    let device = Device::flex();
    let outcome = fit(encoder(1, &device), task, settings, 3, &mut ());
    outcome.map(|_| ()).expect_err("refused").to_string()
}

#[derive(Default)]
struct Rates(Vec<f64>);

impl Watch for Rates {
    fn step(&mut self, event: &StepEvent) -> ControlFlow<()> {
        self.0.push(event.lr);
        ControlFlow::Continue(())
    }
}

fn rates(task: &TaskData, settings: &Training) -> Vec<f64> {
    let (device, mut rates) = (Device::flex(), Rates::default());
    fit(encoder(1, &device), task, settings, 3, &mut rates).expect("valid settings");
    rates.0
}

#[test]
fn the_rate_halves_after_each_epoch_that_does_not_rise_on_dev() {
    let mut settings = training(Adaptation::Frozen(Frozen::new(1e-9)));
    settings.epochs = 4;
    settings.schedule = Schedule::Plateau(Plateau {
        factor: 0.5,
        patience: 0,
        metric: None,
    });
    // Two steps per epoch; the score of the first epoch is a rise, and then nothing changes.
    let expected = [1e-9, 1e-9, 1e-9, 1e-9, 5e-10, 5e-10, 2.5e-10, 2.5e-10];
    assert_eq!(rates(&with_dev(&[1; 8]), &settings), expected);
    assert_eq!(
        refused(&eight(), &settings),
        "schedule: the rate is to fall where accuracy on dev no longer rises, but there is no dev split with such a score"
    );
}

#[test]
fn while_something_is_frozen_a_triangle_spans_one_epoch_and_then_all_that_are_left() {
    let mut settings = training(Adaptation::GradualUnfreezing(GradualUnfreezing::new(
        32e-3, 0.4,
    )));
    (settings.batch_size, settings.epochs) = (2, 5);
    let schedule = Schedule::SlantedTriangular(schedule::SlantedTriangular {
        cut_frac: 0.25,
        ratio: 32.0,
    });
    settings.schedule = schedule.clone();
    let triangle = |steps| (0..steps).map(move |step| (step, steps));
    let all = [4, 4, 4, 8].into_iter().flat_map(triangle);
    let expected: Vec<f64> = all
        .map(|(step, steps)| schedule.rate(32e-3, step, steps))
        .collect();
    let found = rates(&eight(), &settings);
    assert_eq!(found, expected);
    assert_eq!(
        found[..3],
        [1e-3, 32e-3, 32e-3 * (1.0 + 31.0 * 2.0 / 3.0) / 32.0]
    );
}

#[test]
fn stacking_ends_where_train_and_dev_part_and_fine_tuning_runs_its_epochs() {
    let stack = |gap, rise| {
        let mut stack = StackAndFinetune::new(1e-1, 30, 1e-3);
        stack.head_stop = StopRule::GeneralisationGap {
            max_gap: gap,
            min_improvement: rise,
            metric: None,
        };
        let mut settings = training(Adaptation::StackAndFinetune(stack));
        settings.epochs = 2;
        settings
    };
    // The labels of dev are the opposite of what is learned.
    let task = with_dev(&[1, 0, 0, 1, 0, 1, 1, 0]);
    let outcome = run(&task, &stack(0.3, 0.0), 3);
    assert_eq!(outcome.stop, Stop::Epochs, "of the second phase");
    let of = |split: &str, metric: &str| -> Vec<f64> {
        let scores = outcome.scores.iter();
        scores
            .filter(|s| (s.split, s.metric.as_str(), s.phase) == (split, metric, 0))
            .map(|s| s.value)
            .collect()
    };
    let (train, dev, gap) = (
        of("train", "accuracy"),
        of("dev", "accuracy"),
        of("train", "gap"),
    );
    assert_eq!(train.len(), outcome.epochs - 2);
    for i in 0..train.len() {
        assert_eq!(gap[i], train[i] - dev[i]);
        // All eight are drawn, and dev has the opposite labels.
        assert_eq!(train[i] + dev[i], 1.0);
    }
    let (last, before) = gap.split_last().expect("an epoch");
    assert!(before.len() < 29 && *last > 0.3, "{gap:?}");
    assert!(before.iter().all(|gap| *gap <= 0.3), "{gap:?}");
    // Without such a rule, no gap is measured.
    let asked = |s: &&totune_adapt::Score| s.split == "train" && s.metric != "loss";
    assert!(outcome.scores.iter().filter(asked).all(|s| s.phase == 0));

    let early = run(&task, &stack(9.0, 0.5), 3);
    assert_eq!(
        early.epochs,
        2 + 2,
        "the second epoch rises by less than half"
    );
    assert!(refused(&eight(), &stack(0.3, 0.0)).starts_with("stop: training is to end"));
}

#[test]
fn a_gap_may_end_a_run_of_one_phase_too() {
    let mut settings = training(Adaptation::Full(Full::new(1e-2)));
    settings.epochs = 50;
    settings.stop = StopRule::GeneralisationGap {
        max_gap: 0.6,
        min_improvement: 0.0,
        metric: Some("accuracy".into()),
    };
    let outcome = run(&with_dev(&[1, 0, 0, 1, 0, 1, 1, 0]), &settings, 3);
    assert_eq!(outcome.stop, Stop::GeneralisationGap);
    assert!(outcome.epochs < 50);
}

#[test]
fn each_phase_begins_at_the_states_its_own_frozen_part_gives() {
    use std::sync::Arc;
    use totune_adapt::{CachedActivations, FrozenPass};

    for adaptation in [
        Adaptation::GradualUnfreezing(GradualUnfreezing::new(1e-2, 0.5)),
        Adaptation::StackAndFinetune(StackAndFinetune::new(1e-2, 3, 1e-3)),
    ] {
        let mut settings = training(adaptation);
        common::linear(&mut settings).pooling = totune_model::Pooling::Mean;
        common::linear(&mut settings).dropout = 0.2;
        settings.dropout = 0.2;
        settings.frozen_dropout = Switch::Off;
        settings.epochs = 5;
        settings.cache = Cache::On {
            dtype: StoredDtype::F32,
        };
        for device in fast_devices() {
            let tokens = with_dev(&[1, 1, 1, 0, 1, 0, 0, 1]);
            let mut kept = tokens.clone();
            let parts = [
                Some(&mut kept.train),
                kept.dev.as_mut(),
                Some(&mut kept.test),
            ];
            for examples in parts.into_iter().flatten() {
                for start in settings
                    .entry_layers(&encoder(1, &device))
                    .expect("valid settings")
                {
                    let states = FrozenPass::new(
                        &encoder(1, &device),
                        &encoded(examples),
                        start,
                        StoredDtype::F32,
                        3,
                    )
                    .compute();
                    examples.cached.push(CachedActivations {
                        activations: Arc::new(states.expect("a device that works")),
                        places: (0..8).collect(),
                    });
                }
            }
            let (a, b) = (
                run_on(&device, &tokens, &settings, 7),
                run_on(&device, &kept, &settings, 7),
            );
            assert!(b.cache_seconds > 0.0 && a.cache_seconds == 0.0);
            assert_eq!(a.scores.len(), b.scores.len());
            for (a, b) in a.scores.iter().zip(&b.scores) {
                assert_eq!((a.phase, a.epoch, &a.metric), (b.phase, b.epoch, &b.metric));
                assert!((a.value - b.value).abs() < 1e-4, "{a:?} became {b:?}");
            }
        }
    }
}
