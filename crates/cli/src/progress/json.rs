//! Progress of runs for programs: one JSON object per line, on stderr.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};
use totune_adapt::{EpochScores, StepEvent};
use totune_sweep::{CachingEvent, CheckpointEvent, Ended, Plan, PlannedRun, Position, Progress};

use super::tracker::Tracker;
use crate::print::{Level, event};

/// Listener that writes the events of a sweep.
pub struct Lines {
    device: String,
    tracker: Mutex<Tracker>,
}

impl Lines {
    /// Listener for runs on `device`.
    pub fn new(device: &str) -> Self {
        Self {
            device: device.to_string(),
            tracker: Mutex::default(),
        }
    }

    fn tracker(&self) -> MutexGuard<'_, Tracker> {
        self.tracker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for Lines {
    fn begin(&self, plan: &Plan) {
        let mut tracker = self.tracker();
        tracker.begin(plan);
        let of = tracker.of();
        let fields = json!({ "runs": of, "of": plan.runs.len(), "device": self.device });
        event(Level::Info, "sweep-started", None, fields);
    }

    fn preparing(&self, what: &str) {
        event(Level::Info, "preparing", None, json!({ "message": what }));
    }

    fn started(&self, position: Position, run: &PlannedRun) {
        let mut tracker = self.tracker();
        tracker.started(position, run);
        let fields = json!({
            "number": tracker.number(position),
            "of": tracker.of(),
            "label": run.label,
            "experiment": run.spec.experiment,
            "arm": run.spec.arm,
            "dataset": run.spec.dataset,
            "encoder": run.spec.encoder(),
            "seed": run.spec.seed,
        });
        event(Level::Info, "run-started", Some(&run.id), fields);
    }

    fn caching(&self, caching: &CachingEvent) {
        let mut tracker = self.tracker();
        if tracker.is_due() {
            let fields = json!({ "examples": caching.examples, "of": caching.of });
            event(Level::Info, "caching", tracker.id(), fields);
        }
    }

    fn step(&self, step: &StepEvent) {
        let moment = self.tracker().step(step);
        let Some(moment) = moment.filter(|moment| moment.is_due) else {
            return;
        };
        let fields = json!({
            "epoch": step.epoch,
            "epochs": step.epochs,
            "step": step.step,
            "steps": step.steps,
            "loss": step.loss,
            "lr": step.lr,
            "examples-per-second": moment.speed,
            "run-seconds-left": moment.run_left.as_secs_f64(),
            "seconds-left": moment.all_left.map(|left| left.as_secs_f64()),
        });
        event(Level::Info, "step", Some(&moment.id), fields);
    }

    fn epoch(&self, epoch: &EpochScores) {
        let mut scores: Map<String, Value> = Map::new();
        for score in epoch.scores {
            let of_split = scores.entry(score.split).or_insert_with(|| json!({}));
            of_split[&score.metric] = score.value.into();
        }
        let fields = json!({ "epoch": epoch.epoch, "epochs": epoch.epochs, "scores": scores });
        event(Level::Info, "epoch", self.tracker().id(), fields);
    }

    fn checkpoint(&self, checkpoint: &CheckpointEvent) {
        let (level, name, mut fields) = match checkpoint {
            CheckpointEvent::Saved { step, bytes, took } => {
                let fields = json!({ "step": step, "bytes": bytes, "seconds": took.as_secs_f64() });
                (Level::Info, "checkpoint-saved", fields)
            }
            CheckpointEvent::Failed { .. } => (Level::Warning, "checkpoint-failed", json!({})),
            CheckpointEvent::Resumed { step } => {
                (Level::Info, "run-resumed", json!({ "step": step }))
            }
            CheckpointEvent::Ignored { .. } => (Level::Warning, "checkpoint-ignored", json!({})),
            CheckpointEvent::Halved { micro_batch_size } => {
                let fields = json!({ "micro-batch-size": micro_batch_size });
                (Level::Warning, "micro-batch-halved", fields)
            }
        };
        fields["message"] = json!(checkpoint.to_string());
        event(level, name, self.tracker().id(), fields);
    }

    fn finished(&self, _: Position, run: &PlannedRun, ended: &Ended) {
        let left = self.tracker().finished(run, ended.took);
        let level = match ended.status.as_str() {
            "ok" => Level::Info,
            "diverged" => Level::Warning,
            _ => Level::Error,
        };
        let mut fields = json!({
            "status": ended.status,
            "seconds": ended.took.as_secs_f64(),
            "seconds-left": left.map(|left| left.as_secs_f64()),
        });
        if let Some(score) = &ended.score {
            fields["split"] = json!(score.split);
            fields["metric"] = json!(score.metric);
            fields["value"] = json!(score.value);
        }
        if !ended.error.is_empty() {
            fields["message"] = json!(ended.error);
        }
        event(level, "run-ended", Some(&run.id), fields);
    }

    fn skipped(&self, run: &PlannedRun) {
        self.tracker().skipped(run);
    }

    fn stopped(&self, run: &PlannedRun) {
        event(Level::Warning, "run-interrupted", Some(&run.id), json!({}));
    }

    fn end(&self) {
        event(Level::Info, "sweep-ended", None, json!({}));
    }
}
