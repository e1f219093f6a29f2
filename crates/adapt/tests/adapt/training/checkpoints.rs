//! A run that is interrupted and resumes is the run that is not interrupted, bit for bit.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use burn::tensor::Device;
use totune_adapt::{
    Adaptation, Adapters, AutoFreeze, Cache, Checkpoints, Frozen, FrozenPass, Full,
    GradualUnfreezing, Lora, LpFt, LstmState, Objective, Outcome, Plateau, PrefixTuning, Schedule,
    Score, Select, StackAndFinetune, StepEvent, Stop, StopRule, StoredDtype, Switch, TaskData,
    TensorFile, TestScores, Training, TrainingState, Watch, fit_resumable, schedule,
};
use totune_data::Target;
use totune_model::{Encoder, Pooling};

use crate::common::{
    self, eight, elmo, encoded, encoder, fast_devices, linear, parameters, probe, retarget,
    spelled, with_kept,
};

/// The bytes of the checkpoint that an interrupted run leaves.
#[derive(Default)]
struct OnInterruption(Option<Vec<u8>>);

impl Checkpoints for OnInterruption {
    fn resume(&mut self) -> Option<TrainingState> {
        let bytes = self.0.take()?;
        let file = TensorFile::from_bytes(&bytes).expect("whole");
        Some(TrainingState::read(file).expect("whole"))
    }

    fn is_due(&mut self, interrupted: bool) -> bool {
        interrupted
    }

    fn save(&mut self, state: TrainingState) {
        let mut file = TensorFile::default();
        state.write(&mut file).expect("numbers");
        self.0 = Some(file.to_bytes().expect("numbers"));
    }
}

/// Interrupts a run after so many steps and batches of evaluations, each of which takes this long.
struct Limit {
    steps: usize,
    taken: usize,
    pause: Duration,
}

impl Limit {
    fn new(steps: usize) -> Self {
        Self {
            steps,
            taken: 0,
            pause: Duration::ZERO,
        }
    }
}

impl Limit {
    fn event(&mut self) -> ControlFlow<()> {
        std::thread::sleep(self.pause);
        self.taken += 1;
        if self.taken == self.steps {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

impl Watch for Limit {
    fn step(&mut self, _: &StepEvent) -> ControlFlow<()> {
        self.event()
    }

    fn scoring(&mut self) -> ControlFlow<()> {
        self.event()
    }
}

/// A run that can be executed again and again.
struct Case<'a, E> {
    encoder: &'a dyn Fn() -> E,
    task: &'a TaskData,
    training: &'a Training,
}

impl<E: Encoder> Case<'_, E> {
    fn part(&self, limit: &mut Limit, checkpoints: &mut OnInterruption) -> Outcome<E> {
        let run = (self.training, 7);
        fit_resumable((self.encoder)(), self.task, run, limit, checkpoints).expect("a run")
    }

    /// The outcome of a run that is interrupted after each of these numbers of steps, counted from the resumption.
    fn in_parts(&self, parts: &[usize]) -> Outcome<E> {
        let mut checkpoints = OnInterruption::default();
        for &steps in parts {
            let outcome = self.part(&mut Limit::new(steps), &mut checkpoints);
            assert_eq!(outcome.stop, Stop::Interrupted);
            assert!(checkpoints.0.is_some(), "a checkpoint");
        }
        self.part(&mut Limit::new(usize::MAX), &mut checkpoints)
    }
}

/// Everything of an outcome but its clocks, as text with every bit of each number.
fn trace<E: Encoder>(outcome: &Outcome<E>) -> Vec<String> {
    let score = |score: &Score| {
        let value = score.value.to_bits();
        let without_clock = Score {
            train_seconds: 0.0,
            ..score.clone()
        };
        format!("{value:x} {without_clock:?}")
    };
    let mut trace: Vec<String> = outcome.scores.iter().map(score).collect();
    let predictions = outcome.predictions.iter();
    trace.extend(predictions.map(|prediction| {
        let bits: Vec<u32> = prediction.scores.iter().map(|s| s.to_bits()).collect();
        format!("{bits:?} {prediction:?}")
    }));
    let epochs: Vec<usize> = outcome.phases.iter().map(|p| p.epochs.len()).collect();
    let Outcome {
        epochs: all,
        steps,
        restarts,
        params_total,
        params_trainable,
        ..
    } = outcome;
    trace.push(format!(
        "{:?} {all} {steps} {restarts} {params_total} {params_trainable} {epochs:?}",
        outcome.stop
    ));
    let parameters = parameters(&outcome.model).into_iter();
    trace.extend(parameters.map(|(path, bits)| format!("{path} {bits:?}")));
    trace
}

/// Checks that the outcome does not depend on interruptions: one at any step or batch of an evaluation, one every
/// three of these (an evaluation has at most two), two.
#[track_caller]
fn check<E: Encoder>(what: &str, case: Case<E>) {
    let mut limit = Limit::new(usize::MAX);
    let straight = case.part(&mut limit, &mut OnInterruption::default());
    assert!(straight.stop.is_an_end(), "{what}: {:?}", straight.stop);
    let (steps, straight) = (limit.taken, trace(&straight));
    assert!(steps >= 4, "{what}: {steps} steps");
    let once = (1..=steps).map(|step| vec![step]);
    let others = [vec![3; steps / 3], vec![steps / 2, steps / 4]];
    for parts in once.chain(others) {
        let resumed = trace(&case.in_parts(&parts));
        for (straight, resumed) in straight.iter().zip(&resumed) {
            assert_eq!(straight, resumed, "{what}, interrupted after {parts:?}");
        }
        assert_eq!(straight.len(), resumed.len(), "{what}, {parts:?}");
    }
}

/// The eight sentences with other labels on dev, so that scores there move.
fn task() -> TaskData {
    let mut task = eight();
    let mut dev = task.test.part(&[0, 1, 2, 3, 4]);
    retarget(&mut dev, [1, 1, 1, 0, 0].map(Target::Class));
    task.dev = Some(dev);
    task
}

/// Settings with dropout everywhere and batches of three, of which the last one of an epoch is smaller.
fn training(adaptation: Adaptation) -> Training {
    let mut settings = common::training(adaptation);
    settings.batch_size = 3;
    settings.dropout = 0.2;
    linear(&mut settings).dropout = 0.1;
    settings.schedule = Schedule::SlantedTriangular(schedule::SlantedTriangular {
        cut_frac: 0.3,
        ratio: 32.0,
    });
    settings
}

/// Checks a run of the tiny BERT on every device.
#[track_caller]
fn check_bert(what: &str, task: &TaskData, training: &Training) {
    for device in fast_devices() {
        let encoder = || encoder(1, &device);
        let case = Case {
            encoder: &encoder,
            task,
            training,
        };
        check(&format!("{what} on {device:?}"), case);
    }
}

#[test]
fn a_head_on_cached_activations() {
    let mut settings = training(Adaptation::Frozen(Frozen::new(1e-2)));
    settings.frozen_dropout = Switch::Off;
    settings.cache = Cache::On {
        dtype: StoredDtype::F32,
    };
    for device in fast_devices() {
        let start = settings.entry_layers(&encoder(1, &device));
        let start = start.expect("valid settings")[0];
        let rows = encoded(&eight().train);
        let kept =
            FrozenPass::new(&encoder(1, &device), &rows, start, StoredDtype::F32, 3).compute();
        let task = with_kept(&eight(), Arc::new(kept.expect("activations")));
        let case = Case {
            encoder: &|| encoder(1, &device),
            task: &task,
            training: &settings,
        };
        check("frozen", case);
    }
}

#[test]
fn a_phase_for_each_layer_with_moments_that_are_carried_along() {
    let gradual = GradualUnfreezing::new(1e-2, 0.4);
    let mut settings = training(Adaptation::GradualUnfreezing(gradual));
    settings.epochs = 4;
    check_bert("gradual unfreezing", &task(), &settings);
}

#[test]
fn two_phases_of_which_the_second_begins_with_new_moments() {
    let stack = StackAndFinetune::new(1e-2, 2, 5e-3);
    check_bert(
        "stack and finetune",
        &task(),
        &training(Adaptation::StackAndFinetune(stack)),
    );
}

#[test]
fn early_stopping_with_the_best_weights_and_a_falling_rate() {
    let mut settings = training(Adaptation::Full(Full::new(2e-2)));
    settings.epochs = 6;
    settings.select = Select::BestDev;
    settings.test_scores = TestScores::Final;
    settings.stop = StopRule::EarlyStopping {
        patience: 3,
        threshold: 0.0,
        metric: None,
    };
    settings.schedule = Schedule::Plateau(Plateau {
        factor: 0.5,
        patience: 0,
        metric: None,
    });
    check_bert("early stopping", &task(), &settings);
}

#[test]
fn low_rank_updates_adapters_prefixes_and_a_penalty_on_the_distance() {
    let mut lora = Lora::new(2, 1e-2);
    lora.dropout = 0.2;
    check_bert("lora", &task(), &training(Adaptation::Lora(lora)));
    let adapters = Adaptation::Adapters(Adapters::new(2, 1e-2));
    check_bert("adapters", &task(), &training(adapters));
    let prefixes = Adaptation::PrefixTuning(PrefixTuning::new(2, 1e-2));
    check_bert("prefix-tuning", &task(), &training(prefixes));
    let mut penalised = training(Adaptation::Full(Full::new(1e-2)));
    (penalised.l2_sp, penalised.micro_batch_size) = (0.1, 2);
    check_bert("l2-sp in micro-batches", &task(), &penalised);
}

#[test]
fn layers_that_freeze_as_their_gradients_settle() {
    let auto = Adaptation::AutoFreeze(AutoFreeze {
        share: 1.0,
        ..AutoFreeze::new(5e-3)
    });
    let mut settings = training(auto);
    settings.epochs = 4;
    check_bert("auto-freeze", &task(), &settings);
}

#[test]
fn a_head_from_a_linear_probe() {
    let mut settings = training(Adaptation::LpFt(LpFt {
        probe: probe(),
        ..LpFt::new(5e-3)
    }));
    linear(&mut settings).pooling = Pooling::Mean;
    check_bert("lp-ft", &task(), &settings);
}

#[test]
fn attempts_that_did_not_learn() {
    let mut settings = training(Adaptation::Full(Full::new(1e-3)));
    (settings.epochs, settings.restarts) = (1, 2);
    check_bert("restarts", &task(), &settings);
}

#[test]
fn a_gap_between_train_and_dev_of_scores() {
    let mut task = task();
    task.objective = Objective::Score {};
    task.metrics = vec!["pearson".into()];
    let values = [0.3, -1.5, 2.0, 0.0, 1.0, 0.7, -0.2, 1.0 / 3.0].map(Target::Value);
    for examples in [&mut task.train, &mut task.test] {
        retarget(examples, values.clone());
    }
    retarget(task.dev.as_mut().expect("dev"), values);
    let mut settings = training(Adaptation::Full(Full::new(1e-2)));
    settings.select = Select::BestDev;
    settings.stop = StopRule::GeneralisationGap {
        max_gap: 1e6,
        min_improvement: 0.0,
        metric: None,
    };
    settings.epochs = 3;
    check_bert("generalisation gap", &task, &settings);
}

#[test]
fn states_that_an_elmo_carries_from_batch_to_batch() {
    for device in fast_devices() {
        let mut settings = training(Adaptation::Full(Full::new(1e-2)));
        linear(&mut settings).pooling = Pooling::Mean;
        settings.state = LstmState::Carry;
        settings.evaluation_batch_size = 4;
        let case = Case {
            encoder: &|| elmo(&device),
            task: &spelled(),
            training: &settings,
        };
        check(&format!("elmo on {device:?}"), case);
    }
}

/// The clocks of a resumed run are those of all its parts.
#[test]
fn seconds_add_up() {
    let (task, mut settings) = (task(), training(Adaptation::Full(Full::new(1e-3))));
    settings.epochs = 2;
    let device = Device::flex();
    let case = Case {
        encoder: &|| encoder(1, &device),
        task: &task,
        training: &settings,
    };
    let pause = Duration::from_millis(40);
    let slowly = |steps| Limit {
        pause,
        ..Limit::new(steps)
    };
    let mut checkpoints = OnInterruption::default();
    for _ in 0..2 {
        case.part(&mut slowly(2), &mut checkpoints);
        // Time between the parts is nobody's.
        std::thread::sleep(Duration::from_millis(500));
    }
    let outcome = case.part(&mut slowly(usize::MAX), &mut checkpoints);
    assert_eq!(outcome.steps, 6);
    let least = 6.0 * pause.as_secs_f64();
    assert!(outcome.train_seconds >= least, "{}", outcome.train_seconds);
    assert!(
        outcome.train_seconds < least + 0.5,
        "{}",
        outcome.train_seconds
    );
    let epochs = outcome.phases.iter().flat_map(|phase| &phase.epochs);
    let sum: f64 = epochs.map(|epoch| epoch.seconds).sum();
    assert!((sum - outcome.train_seconds).abs() < 1e-6, "{sum}");
    let times = outcome.scores.iter().map(|score| score.train_seconds);
    let times: Vec<f64> = times.collect();
    assert!(times.is_sorted() && times[0] >= least / 2.0, "{times:?}");
}

#[test]
fn a_state_of_other_settings_is_refused() {
    let device = Device::flex();
    let run = |training: &Training, limit, checkpoints: &mut OnInterruption| {
        let encoder = encoder(1, &device);
        fit_resumable(
            encoder,
            &task(),
            (training, 7),
            &mut Limit::new(limit),
            checkpoints,
        )
    };
    let mut checkpoints = OnInterruption::default();
    let full = training(Adaptation::Full(Full::new(1e-3)));
    run(&full, 1, &mut checkpoints).expect("a step");
    let lora = training(Adaptation::Lora(Lora::new(2, 1e-3)));
    let error = run(&lora, usize::MAX, &mut checkpoints).expect_err("another run");
    assert_eq!(
        error.to_string(),
        "the weights of the checkpoint are not those that this run trains"
    );
}
