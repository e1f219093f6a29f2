//! Checkpoints of a run in its folder: the newest two, each with what has to be the same where the run resumes.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use totune_adapt::{Checkpoints, TensorFile, TrainingState};
use totune_record::{RunRow, Versions};

use crate::Progress;
use crate::progress::CheckpointEvent;
use crate::provenance;
use crate::store::{Claim, checkpoints_in};

/// Schema of checkpoints. One of another schema is not read, so a state that has gained a part needs a new number.
const SCHEMA: u64 = 1;

/// Key of [`About`] in a file's texts.
const ABOUT: &str = "totune.run";

/// Folder and interval of the checkpoints of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CheckpointPlace<'a> {
    /// The claim on the run and its folder.
    pub claim: &'a Claim,
    /// Time between two checkpoints.
    pub every: Duration,
}

/// Checkpoints of one run.
pub(crate) struct RunCheckpoints<'a> {
    claim: &'a Claim,
    versions: Versions,
    every: Duration,
    about: About,
    progress: &'a dyn Progress,
    saved: Instant,
    /// Number of the next checkpoint.
    next: usize,
    resumed: Option<TrainingState>,
}

/// Metadata of a checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct About {
    schema: u64,
    #[serde(flatten)]
    same: Same,
    /// Start of the run, seconds since 1970.
    started: u64,
    /// Peak memory so far, in bytes.
    peak_memory: u64,
    /// Examples that pass through the model at once, if the device ran out of memory with more of them.
    micro_batch_size: Option<usize>,
}

/// Facts that have to be the same where a run resumes. A run with any other would not be the undisturbed one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Same {
    run: String,
    dataset: String,
    weights: String,
    tokenizer: String,
    /// SHA-256 of the facts from the cards; older checkpoints have none.
    #[serde(default)]
    cards: String,
    device: String,
    threads: u32,
    /// SHA-256 of the program; empty until a checkpoint is there to be read or written.
    program: String,
}

impl<'a> RunCheckpoints<'a> {
    /// The checkpoints of the run of `row`. The newest one that is whole and of the same run, inputs, machine and
    /// program is the state to resume from; others are ignored with a message.
    ///
    /// # Errors
    /// When the folder or the program cannot be read.
    pub fn open(
        place: CheckpointPlace<'a>,
        row: &RunRow,
        progress: &'a dyn Progress,
    ) -> Result<RunCheckpoints<'a>> {
        let mut checkpoints = Self {
            claim: place.claim,
            versions: checkpoints_in(place.claim.folder()),
            every: place.every,
            about: About {
                schema: SCHEMA,
                same: Same {
                    run: row.run_id.clone(),
                    dataset: row.dataset_hash.clone(),
                    weights: row.checkpoint_hash.clone(),
                    tokenizer: row.tokenizer_hash.clone(),
                    cards: place.claim.cards_hash()?,
                    device: row.device.clone(),
                    threads: row.threads,
                    program: String::new(),
                },
                started: row.started,
                peak_memory: 0,
                micro_batch_size: None,
            },
            progress,
            saved: Instant::now(),
            next: 1,
            resumed: None,
        };
        let found = checkpoints.versions.list()?;
        if let Some((newest, _)) = found.last() {
            checkpoints.next = newest + 1;
            checkpoints.about.same.program = program()?;
        }
        for (_, path) in found.iter().rev() {
            match read(path, &checkpoints.about.same) {
                Ok((about, state)) => {
                    progress.checkpoint(&CheckpointEvent::Resumed { step: state.step() });
                    checkpoints.about = about;
                    checkpoints.resumed = Some(state);
                    break;
                }
                Err(error) => {
                    let why = format!("{error:#}");
                    progress.checkpoint(&CheckpointEvent::Ignored { why });
                }
            }
        }
        Ok(checkpoints)
    }

    /// Start of the run and peak memory so far, with the parts before this one.
    pub fn add_to(&self, row: &mut RunRow) {
        row.started = self.about.started;
        row.peak_memory = self.about.peak_memory;
    }

    /// Examples that pass through the model at once, where those of the settings did not fit: `known` by this process, or
    /// by the one before.
    pub fn micro_batch_size(&mut self, known: Option<usize>) -> Option<usize> {
        self.about.micro_batch_size = known.or(self.about.micro_batch_size);
        self.about.micro_batch_size
    }

    fn write(&mut self, state: TrainingState) -> Result<u64> {
        // An owner that was stopped and continues must not replace the checkpoints of the next one by older states.
        ensure!(
            self.claim.is_ours()?,
            "another process has taken the run over"
        );
        self.about.same.program = program()?;
        self.about.peak_memory = self.about.peak_memory.max(provenance::peak_memory());
        let mut file = TensorFile::default();
        let about = serde_json::to_string(&self.about)?;
        file.texts.insert(ABOUT.to_string(), about);
        state.write(&mut file)?;
        let bytes = file.to_bytes()?;
        self.versions.write(self.next, &bytes)?;
        self.next += 1;
        Ok(bytes.len() as u64)
    }
}

impl Checkpoints for RunCheckpoints<'_> {
    fn resume(&mut self) -> Option<TrainingState> {
        self.resumed.take()
    }

    fn is_due(&mut self, interrupted: bool) -> bool {
        interrupted || self.saved.elapsed() >= self.every
    }

    fn save(&mut self, state: TrainingState) {
        let (clock, step) = (Instant::now(), state.step());
        let event = match self.write(state) {
            Ok(bytes) => CheckpointEvent::Saved {
                step,
                bytes,
                took: clock.elapsed(),
            },
            // The run is worth more than its checkpoint, and the one before is still there.
            Err(error) => CheckpointEvent::Failed {
                why: format!("{error:#}"),
            },
        };
        self.saved = Instant::now();
        self.progress.checkpoint(&event);
    }
}

/// Reads a checkpoint of the run, inputs, machine and program of `same`.
fn read(path: &Path, same: &Same) -> Result<(About, TrainingState)> {
    let bytes = fs::read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    read_bytes(&bytes, same).with_context(|| path.display().to_string())
}

fn read_bytes(bytes: &[u8], same: &Same) -> Result<(About, TrainingState)> {
    let file = TensorFile::from_bytes(bytes)?;
    let about = file.texts.get(ABOUT);
    let about = about.with_context(|| format!("not a checkpoint of a run: no `{ABOUT}`"))?;
    let about: Value = serde_json::from_str(about).context(ABOUT)?;
    ensure!(
        about["schema"] == SCHEMA,
        "found schema {}, expected {SCHEMA}",
        about["schema"]
    );
    let about: About = serde_json::from_value(about).context(ABOUT)?;
    if about.same != *same {
        let [found, expected] = [&about.same, same].map(serde_json::to_value);
        let (found, expected) = (found?, expected?);
        let keys = found.as_object().into_iter().flat_map(|keys| keys.keys());
        let mut different = keys.filter(|key| found[*key] != expected[*key]);
        let key = different.next().map_or("metadata", String::as_str);
        bail!("`{key}` was {}, found {}", found[key], expected[key]);
    }
    Ok((about, TrainingState::read(file)?))
}

/// SHA-256 of the program that runs, as 64 hexadecimal digits.
fn program() -> Result<String> {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    if let Some(known) = PROGRAM.get() {
        return Ok(known.clone());
    }
    let found = hash_of_program().context("the program cannot be read, which checkpoints name")?;
    Ok(PROGRAM.get_or_init(|| found).clone())
}

fn hash_of_program() -> Result<String> {
    // Linux shows the program that runs even after another one has taken its place.
    let running = File::open("/proc/self/exe");
    let mut file = match running {
        Ok(file) => file,
        Err(_) => File::open(std::env::current_exe()?)?,
    };
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            n => hash.update(&buffer[..n]),
        }
    }
    let digits = hash.finalize();
    Ok(digits.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same() -> Same {
        Same {
            run: "0123".into(),
            dataset: "d".into(),
            weights: "w".into(),
            tokenizer: "t".into(),
            cards: "c".into(),
            device: "cpu".into(),
            threads: 1,
            program: "p".into(),
        }
    }

    fn bytes(schema: u64, same: Same) -> Vec<u8> {
        let about = About {
            schema,
            same,
            started: 1,
            peak_memory: 2,
            micro_batch_size: None,
        };
        let about = serde_json::to_string(&about).expect("plain data");
        let mut file = TensorFile::default();
        file.texts.insert(ABOUT.into(), about);
        file.to_bytes().expect("no tensors")
    }

    #[track_caller]
    fn check(bytes: &[u8], expected: &str) {
        let message = format!("{:#}", read_bytes(bytes, &same()).expect_err("refused"));
        assert_eq!(message, expected);
    }

    #[test]
    fn a_checkpoint_of_another_run_machine_program_or_schema_is_refused_by_what_differs() {
        check(&bytes(2, same()), "found schema 2, expected 1");
        let mut other = same();
        other.threads = 2;
        check(&bytes(1, other), "`threads` was 2, found 1");
        let mut other = same();
        other.program = "q".into();
        check(&bytes(1, other), "`program` was \"q\", found \"p\"");
        // What is the same is read on; this one has no state.
        check(&bytes(1, same()), "no progress");
        let empty = TensorFile::default().to_bytes().expect("nothing");
        check(&empty, "not a checkpoint of a run: no `totune.run`");
    }

    #[test]
    fn the_program_has_a_hash() {
        assert_eq!(program().expect("it runs").len(), 64);
    }
}
