//! What is seen of a training.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use indicatif::ProgressBar;
use totune_adapt::{EpochScores, StepEvent, Watch};
use totune_sweep::Machine;

use crate::progress::{redraws, style};

/// A bar on a terminal, a line for each epoch elsewhere.
pub(super) struct Bar<'a> {
    machine: &'a Machine,
    bar: ProgressBar,
    quiet: bool,
}

impl<'a> Bar<'a> {
    pub(super) fn new(machine: &'a Machine, quiet: bool) -> Self {
        let bar = match redraws() && !quiet {
            true => ProgressBar::new(0),
            false => ProgressBar::hidden(),
        };
        bar.set_style(style("{eta} left {bar:20} {pos}/{len} steps {msg}"));
        Self {
            machine,
            bar,
            quiet,
        }
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Watch for Bar<'_> {
    fn step(&mut self, event: &StepEvent) -> ControlFlow<()> {
        self.bar.set_length(event.steps as u64);
        self.bar.set_position(event.step as u64);
        self.bar.set_message(format!("loss {:.4}", event.loss));
        match self.machine.stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn epoch(&mut self, event: &EpochScores) -> ControlFlow<()> {
        let main = event
            .scores
            .iter()
            .find(|score| matches!(score.split, "dev" | "test") && score.metric != "loss");
        if let (Some(score), false) = (main, self.quiet) {
            let line = format!(
                "epoch {}/{}: {} {} {:.4}",
                event.epoch, event.epochs, score.split, score.metric, score.value
            );
            match redraws() {
                true => self.bar.println(line),
                false => eprintln!("{line}"),
            }
        }
        ControlFlow::Continue(())
    }
}
