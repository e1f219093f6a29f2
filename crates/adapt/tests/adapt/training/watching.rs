//! Watchers: what they hear of a training, and how they end one.

use std::ops::ControlFlow;

use burn::tensor::Device;
use totune_adapt::{
    Adaptation, EpochScores, Full, Schedule, StepEvent, Stop, Watch, fit, schedule,
};

use super::rows;
use crate::common::{eight, encoder, fast_devices, run, training};

#[test]
fn a_watcher_hears_every_step_and_epoch_and_changes_nothing() {
    #[derive(Default)]
    struct Notes {
        lrs: Vec<f64>,
        steps: Vec<(usize, usize, usize)>,
        epochs: Vec<(usize, usize)>,
    }
    impl Watch for Notes {
        fn step(&mut self, event: &StepEvent) -> ControlFlow<()> {
            assert!(event.loss.is_finite() && event.gradient_norm > 0.0);
            assert_eq!((event.epochs, event.steps), (2, 6));
            self.lrs.push(event.lr);
            self.steps.push((event.epoch, event.step, event.examples));
            ControlFlow::Continue(())
        }
        fn epoch(&mut self, event: &EpochScores) -> ControlFlow<()> {
            self.epochs.push((event.epoch, event.scores.len()));
            ControlFlow::Continue(())
        }
    }
    let mut settings = training(Adaptation::Full(Full::new(1.0 / 1024.0)));
    settings.batch_size = 3;
    settings.schedule = Schedule::Bert(schedule::Bert { warmup: 0.34 });
    let mut notes = Notes::default();
    let watched = fit(
        encoder(1, &fast_devices()[0]),
        &eight(),
        &settings,
        1,
        &mut notes,
    )
    .expect("valid settings");
    assert_eq!(
        notes.steps,
        [
            (1, 1, 3),
            (1, 2, 3),
            (1, 3, 2),
            (2, 4, 3),
            (2, 5, 3),
            (2, 6, 2)
        ]
    );
    // Six steps, two of them warm-up: 0, 1/2, then 1 - t/6.
    let expected = [0.0, 1.0 / 2.0, 4.0 / 6.0, 3.0 / 6.0, 2.0 / 6.0, 1.0 / 6.0];
    for (lr, expected) in notes.lrs.iter().zip(expected) {
        assert!((lr * 1024.0 - expected).abs() < 1e-12, "{:?}", notes.lrs);
    }
    let per_epoch = watched.scores.len() / 2;
    assert_eq!(notes.epochs, [(1, per_epoch), (2, per_epoch)]);
    assert_eq!(rows(watched), rows(run(&eight(), &settings, 1)));
}

#[test]
fn a_watcher_ends_a_run_after_a_step_or_an_epoch() {
    /// Interrupts at the step or the epoch with this number.
    struct Breaks {
        step: usize,
        epoch: usize,
    }
    impl Watch for Breaks {
        fn step(&mut self, event: &StepEvent) -> ControlFlow<()> {
            if event.step == self.step {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        }
        fn epoch(&mut self, event: &EpochScores) -> ControlFlow<()> {
            if event.epoch == self.epoch {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        }
    }
    let mut settings = training(Adaptation::Full(Full::new(1e-3)));
    settings.epochs = 3; // of two steps
    let run = |step, epoch| {
        let mut watch = Breaks { step, epoch };
        let encoder = encoder(1, &Device::flex());
        fit(encoder, &eight(), &settings, 1, &mut watch).expect("an interruption is an outcome")
    };
    for (step, epoch, expected) in [(3, 0, (3, 1)), (0, 2, (4, 2)), (1, 0, (1, 0))] {
        let outcome = run(step, epoch);
        assert_eq!(outcome.stop, Stop::Interrupted);
        assert_eq!((outcome.steps, outcome.epochs), expected);
        assert!(outcome.predictions.is_empty());
        assert!(outcome.scores.iter().all(|score| !score.is_final));
        assert!(outcome.scores.iter().all(|score| score.epoch <= expected.1));
    }
}
