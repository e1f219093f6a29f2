//! Epochs that are timed: of every phase as many, each with its seconds and processor seconds.

use crate::common;

use std::ops::ControlFlow;

use crate::common::{eight, encoder, run, training};
use burn::tensor::Device;
use totune_adapt::{
    Adaptation, Frozen, Full, GradualUnfreezing, Plateau, Schedule, Select, StackAndFinetune,
    StepEvent, TimedPart, Watch, time_phases,
};

const TWO: TimedPart = TimedPart {
    epochs: 2,
    batches: None,
};

#[test]
fn every_phase_has_as_many_epochs_whatever_would_end_it() {
    let dev = common::eight().test;
    let mut task = eight();
    task.dev = Some(dev);
    for (adaptation, phases) in [
        (Adaptation::Frozen(Frozen::new(1e-3)), 1),
        // A rate that no training survives.
        (Adaptation::Full(Full::new(10.0)), 1),
        (
            Adaptation::StackAndFinetune(StackAndFinetune::new(1e-3, 3, 1e-3)),
            2,
        ),
        (
            Adaptation::GradualUnfreezing(GradualUnfreezing::new(1e-3, 0.5)),
            4,
        ),
    ] {
        let mut settings = training(adaptation);
        (settings.epochs, settings.select) = (9, Select::BestDev);
        settings.schedule = Schedule::Plateau(Plateau {
            factor: 0.5,
            patience: 1,
            metric: None,
        });
        let label = settings.adaptation.label();
        let encoder = encoder(1, &Device::flex());
        let found = time_phases(encoder, &task, (&settings, 3), TWO, &mut ());
        let found = found.expect("valid settings").expect("nobody ended it");
        assert_eq!(found.len(), phases, "{label}");
        for phase in found {
            assert_eq!(
                (phase.epochs.len(), phase.cache_seconds),
                (2, 0.0),
                "{label}"
            );
            for epoch in phase.epochs {
                assert!(epoch.seconds > 0.0, "{label}: {epoch:?}");
                assert!(
                    epoch.cpu_seconds.is_some_and(|s| s > 0.0),
                    "{label}: {epoch:?}"
                );
            }
        }
    }
}

#[test]
fn a_run_says_what_its_phases_took() {
    let mut stacking = StackAndFinetune::new(1e-3, 2, 1e-3);
    stacking.head_stop = totune_adapt::StopRule::Epochs {};
    let mut settings = training(Adaptation::StackAndFinetune(stacking));
    settings.epochs = 3;
    let outcome = run(&eight(), &settings, 3);
    let epochs: Vec<usize> = outcome.phases.iter().map(|p| p.epochs.len()).collect();
    assert_eq!(epochs, [2, 3]);
    let all = || outcome.phases.iter().flat_map(|phase| &phase.epochs);
    let seconds: f64 = all().map(|epoch| epoch.seconds).sum();
    assert!((seconds - outcome.train_seconds).abs() < 1e-6);
    let cpu: Option<f64> = all().map(|epoch| epoch.cpu_seconds).sum();
    let difference = cpu.expect("known") - outcome.cpu_seconds.expect("known");
    assert!(difference.abs() < 1e-6, "{difference}");
}

#[test]
fn whoever_watches_can_end_it() {
    struct Once(usize);
    impl Watch for Once {
        fn step(&mut self, _: &StepEvent) -> ControlFlow<()> {
            self.0 += 1;
            ControlFlow::Break(())
        }
    }
    let settings = training(Adaptation::Full(Full::new(1e-3)));
    let mut watch = Once(0);
    let encoder = encoder(1, &Device::flex());
    let found = time_phases(encoder, &eight(), (&settings, 3), TWO, &mut watch);
    assert_eq!((found.expect("valid settings"), watch.0), (None, 1));
}

#[test]
fn epochs_of_some_batches_have_so_many_steps() {
    struct Count(usize);
    impl Watch for Count {
        fn step(&mut self, _: &StepEvent) -> ControlFlow<()> {
            self.0 += 1;
            ControlFlow::Continue(())
        }
    }
    let mut settings = training(Adaptation::Full(Full::new(1e-3)));
    settings.batch_size = 2;
    // Two epochs and the one that warms up; the examples make four batches.
    for (batches, steps) in [(None, 12), (Some(1), 3), (Some(3), 9), (Some(9), 12)] {
        let part = TimedPart { batches, ..TWO };
        let mut watch = Count(0);
        let encoder = encoder(1, &Device::flex());
        let found = time_phases(encoder, &eight(), (&settings, 3), part, &mut watch);
        let phases = found.expect("valid settings").expect("nobody ended it");
        assert_eq!(watch.0, steps, "{batches:?}");
        assert_eq!(phases[0].epochs.len(), 2, "{batches:?}");
    }
}
