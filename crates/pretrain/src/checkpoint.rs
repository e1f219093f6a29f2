//! Checkpoints of a run: weights, optimizer state and the step, in one safetensors file that is written atomically.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use burn::tensor::TensorData;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use totune_adapt::TensorFile;
use totune_disk::create_folder;
use totune_model::Weights;
use totune_model::fused::ParameterMoments;
use totune_record::Versions;

/// Key of [`About`] in the file's metadata.
const ABOUT: &str = "totune.pretraining";

/// The state of a run after some step.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// Metadata of the checkpoint.
    pub about: About,
    /// Parameters by published name.
    pub weights: BTreeMap<String, TensorData>,
    /// Optimizer state of each parameter, by published name.
    pub moments: BTreeMap<String, ParameterMoments>,
}

/// Metadata of a checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct About {
    /// Number of steps taken.
    pub step: usize,
    /// The settings of the run, as its file has them.
    pub settings: Value,
    /// SHA-256 of the vocabulary.
    pub vocabulary: String,
    /// SHA-256 of the encoded text.
    pub corpus: String,
    /// Seconds of training so far.
    pub seconds: f64,
    /// Commits of the code that trained it, in order, each with `+` after it if the checkout had changes.
    pub commits: Vec<String>,
    /// Devices that trained it, in order.
    pub devices: Vec<String>,
    /// Name of the matrix products; older checkpoints have none.
    #[serde(default)]
    pub products: Option<String>,
}

/// The folder of a run.
#[derive(Debug, Clone)]
pub struct Folder {
    /// Path of the folder.
    pub path: PathBuf,
}

/// Holds a folder for one process that trains in it.
#[derive(Debug)]
pub struct FolderLock {
    _file: fs::File,
}

impl Folder {
    /// Opens the folder `path`, and creates it if it does not exist.
    pub fn open(path: &Path) -> Result<Self> {
        create_folder(path)?;
        Ok(Self {
            path: path.to_path_buf(),
        })
    }

    /// Writes a checkpoint, and removes those that are older than the one before it.
    ///
    /// # Errors
    /// When it cannot be written completely, such as on a full disk; earlier checkpoints are kept.
    pub fn save(&self, checkpoint: Checkpoint) -> Result<PathBuf> {
        let step = checkpoint.about.step;
        self.versions().write(step, &checkpoint.into_bytes()?)
    }

    /// Reads the newest checkpoint; none if there is none.
    ///
    /// # Errors
    /// When it cannot be read. The error names the one before it, which can be used by removing the newest.
    pub fn latest(&self) -> Result<Option<Checkpoint>> {
        let checkpoints = self.versions().list()?;
        let Some((_, path)) = checkpoints.last() else {
            return Ok(None);
        };
        let read = Checkpoint::read(path);
        let before = checkpoints.iter().rev().nth(1);
        read.map(Some).with_context(|| match before {
            Some((step, _)) => {
                format!("the newest checkpoint is damaged; remove it to go on from step {step}")
            }
            None => "the only checkpoint is damaged; remove it to begin again".to_string(),
        })
    }

    /// Returns true if there is a checkpoint.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn has_checkpoint(&self) -> Result<bool> {
        Ok(!self.versions().list()?.is_empty())
    }

    /// Keeps other processes from training in the folder for as long as the lock lives. Where the file system knows no locks,
    /// nobody is kept away.
    ///
    /// # Errors
    /// When another process trains in it, or the file cannot be made.
    pub fn lock(&self) -> Result<FolderLock> {
        let path = self.path.join("lock");
        let mut options = fs::File::options();
        let file = options.create(true).truncate(false).write(true).open(&path);
        let file = file.with_context(|| format!("{}: cannot be opened", path.display()))?;
        ensure!(
            !matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)),
            "{}: another process is training in it",
            self.path.display()
        );
        Ok(FolderLock { _file: file })
    }

    /// Its checkpoints, by step.
    fn versions(&self) -> Versions {
        Versions::new(&self.path, "step")
    }
}

impl Checkpoint {
    /// Reads the file `path`.
    ///
    /// # Errors
    /// When it is not a checkpoint of this program, or damaged.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes =
            fs::read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
        Self::from_bytes(&bytes).with_context(|| path.display().to_string())
    }

    fn into_bytes(self) -> Result<Vec<u8>> {
        let mut file = TensorFile::default();
        let about = serde_json::to_string(&self.about)?;
        file.texts.insert(ABOUT.to_string(), about);
        file.insert("weights", self.weights);
        file.insert_moments(self.moments)?;
        file.to_bytes()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut file = TensorFile::from_bytes(bytes)?;
        let about = file.texts.get(ABOUT);
        let about = about
            .with_context(|| format!("not a checkpoint of a pre-training run: no `{ABOUT}`"))?;
        let read = Self {
            about: serde_json::from_str(about).context(ABOUT)?,
            weights: file.take("weights"),
            moments: file.take_moments()?,
        };
        file.expect_empty()?;
        Ok(read)
    }
}

/// Weights of the checkpoint under published names; they also stay in the checkpoint.
impl Weights for &Checkpoint {
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<TensorData> {
        let Some(data) = self.weights.get(name) else {
            bail!("the checkpoint has no `{name}`; it is of another model");
        };
        let found = data.shape().to_vec();
        ensure!(
            found == shape,
            "the checkpoint's `{name}` has shape {found:?}, expected {shape:?}; it is of another model"
        );
        Ok(data.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint(step: usize) -> Checkpoint {
        let data = |value: f32| TensorData::new(vec![value, -1.0], [2]);
        let name = "bert.bias".to_string();
        Checkpoint {
            about: About {
                step,
                settings: serde_json::json!({ "seed": 1 }),
                vocabulary: "v".into(),
                corpus: "c".into(),
                seconds: 1.5,
                commits: vec!["abc".into()],
                devices: vec!["cpu".into()],
                products: Some("f32 default, bf16 as-f32".into()),
            },
            weights: BTreeMap::from([(name.clone(), data(0.5))]),
            moments: BTreeMap::from([(
                name,
                ParameterMoments {
                    first: data(0.25),
                    second: data(0.125),
                    steps: step as i32,
                },
            )]),
        }
    }

    #[test]
    fn the_newest_is_read_back_and_two_are_kept() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(dir.path()).expect("a folder");
        assert_eq!(folder.latest().expect("an empty folder"), None);
        for step in [5, 10, 15] {
            folder.save(checkpoint(step)).expect("room on the disk");
        }
        assert_eq!(folder.latest().expect("readable"), Some(checkpoint(15)));
        let steps: Vec<usize> = folder
            .versions()
            .list()
            .expect("a list")
            .into_iter()
            .map(|(step, _)| step)
            .collect();
        assert_eq!(steps, [10, 15]);
    }

    #[test]
    fn one_process_trains_in_a_folder() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(dir.path()).expect("a folder");
        let lock = folder.lock().expect("nobody else");
        let error = folder.lock().expect_err("taken").to_string();
        assert!(
            error.contains("another process is training in it"),
            "{error}"
        );
        drop(lock);
        folder.lock().expect("free again");
    }

    #[test]
    fn a_damaged_checkpoint_is_named_with_the_one_before_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(dir.path()).expect("a folder");
        folder.save(checkpoint(5)).expect("room on the disk");
        let path = folder.save(checkpoint(10)).expect("room on the disk");
        let bytes = fs::read(&path).expect("just written");
        fs::write(&path, &bytes[..bytes.len() - 3]).expect("cut short");
        let message = format!("{:#}", folder.latest().expect_err("cut short"));
        assert!(message.contains("go on from step 5"), "{message}");
        assert!(message.contains("step-00000010"), "{message}");
    }

    #[test]
    fn another_file_is_no_checkpoint() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("step-00000001.safetensors");
        let empty = TensorFile::default().to_bytes().expect("nothing");
        fs::write(&path, empty).expect("written");
        let message = format!("{:#}", Checkpoint::read(&path).expect_err("not ours"));
        assert!(message.contains("not a checkpoint"), "{message}");
    }
}
