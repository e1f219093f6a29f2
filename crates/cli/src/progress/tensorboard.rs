//! Curves for TensorBoard: a folder for each run, with its losses and scores by training step.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use totune_adapt::{EpochScores, StepEvent};
use totune_sweep::{CheckpointEvent, Ended, PlannedRun, Position, Progress};

use super::event_file::EventFile;

/// Prefix of the names of event files.
const BEGINNING: &str = "events.out.tfevents.";

/// Writes the curves of runs that have the machine to themselves.
pub struct TensorBoard {
    folder: PathBuf,
    current: Mutex<Option<Curve>>,
}

/// The file of the current run.
struct Curve {
    file: EventFile<BufWriter<File>>,
    /// Files of earlier attempts, which go with the first value, unless the run resumes from where they end.
    earlier: Vec<PathBuf>,
}

impl TensorBoard {
    /// Writer below `folder`, which is created.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(folder: &Path) -> Result<Self> {
        let cannot = || format!("--tensorboard: {}: cannot be made", folder.display());
        fs::create_dir_all(folder).with_context(cannot)?;
        Ok(Self {
            folder: folder.to_path_buf(),
            current: Mutex::default(),
        })
    }

    fn current(&self) -> MutexGuard<'_, Option<Curve>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a new file for a run.
    fn open(&self, run: &PlannedRun) -> std::io::Result<Curve> {
        let folder = self.folder.join(name(run));
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{BEGINNING}{}.totune", now() as u64));
        let mut earlier = Vec::new();
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let is_ours = entry.file_name().to_string_lossy().starts_with(BEGINNING);
            if is_ours && entry.path() != path {
                earlier.push(entry.path());
            }
        }
        let file = EventFile::new(BufWriter::new(File::create(path)?), now())?;
        Ok(Curve { file, earlier })
    }

    /// Writes values of the current run. If that fails, the curves are given up and the run continues.
    fn write(&self, values: impl IntoIterator<Item = (String, usize, f64)>, is_epoch: bool) {
        let mut current = self.current();
        let Some(Curve { file, earlier }) = current.as_mut() else {
            return;
        };
        let mut written = earlier.drain(..).try_for_each(fs::remove_file);
        for (tag, step, value) in values {
            written = written.and_then(|()| file.scalar(&tag, step as u64, value, now()));
        }
        if is_epoch {
            written = written.and_then(|()| file.flush());
        }
        if let Err(error) = written {
            eprintln!("--tensorboard: {}: {error}", self.folder.display());
            *current = None;
        }
    }
}

impl Progress for TensorBoard {
    fn started(&self, _: Position, run: &PlannedRun) {
        if run.spec.runs_in_parallel() {
            return;
        }
        *self.current() = match self.open(run) {
            Ok(file) => Some(file),
            Err(error) => {
                eprintln!("--tensorboard: {}: {error}", self.folder.display());
                None
            }
        };
    }

    fn checkpoint(&self, event: &CheckpointEvent) {
        if let (CheckpointEvent::Resumed { .. }, Some(curve)) = (event, self.current().as_mut()) {
            curve.earlier.clear();
        }
    }

    fn step(&self, event: &StepEvent) {
        let values = [
            ("step/loss", event.loss),
            ("step/lr", event.lr),
            ("step/gradient-norm", event.gradient_norm),
        ];
        let values = values.map(|(tag, value)| (tag.to_string(), event.step, value));
        self.write(values, false);
    }

    fn epoch(&self, event: &EpochScores) {
        let scores = event.scores.iter();
        let values = scores.map(|score| {
            (
                format!("{}/{}", score.split, score.metric),
                score.step,
                score.value,
            )
        });
        self.write(values, true);
    }

    fn finished(&self, _: Position, run: &PlannedRun, _: &Ended) {
        self.stopped(run);
    }

    fn stopped(&self, run: &PlannedRun) {
        if !run.spec.runs_in_parallel() {
            self.write([], true);
            *self.current() = None;
        }
    }
}

/// The folder of a run: its paper, its experiment, and the rest of its label with the beginning of its id.
fn name(run: &PlannedRun) -> PathBuf {
    let spec = &run.spec;
    let rest = run.label.strip_prefix(&spec.experiment);
    let rest = rest.unwrap_or(&run.label);
    let id = &run.id[..run.id.len().min(8)];
    let plain = |text: &str| {
        let words = text.split(|c: char| !c.is_alphanumeric() && !"._@+-".contains(c));
        let words = words.filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join("-")
    };
    let parts = [&spec.paper, &spec.experiment, &format!("{rest} {id}")];
    let parts = parts.map(|part| plain(part));
    parts.iter().filter(|part| !part.is_empty()).collect()
}

/// Seconds since 1970.
fn now() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}
