//! Checkpoints of a run: weights, optimizer state and the step, in one safetensors file that is written atomically.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use burn::tensor::TensorData;
use safetensors::{Dtype, SafeTensors, View};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use totune_model::Weights;
use totune_model::fused::ParameterMoments;
use totune_record::write_atomically;

/// Number of checkpoints kept: the newest, and the one before it.
const KEPT: usize = 2;

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
}

/// The folder of a run.
#[derive(Debug, Clone)]
pub struct Folder {
    /// Path of the folder.
    pub path: PathBuf,
}

impl Folder {
    /// Opens the folder `path`, and creates it if it does not exist.
    pub fn open(path: &Path) -> Result<Self> {
        fs::create_dir_all(path).with_context(|| format!("{}: cannot be made", path.display()))?;
        Ok(Self {
            path: path.to_path_buf(),
        })
    }

    /// Writes a checkpoint, and removes those that are older than the one before it.
    ///
    /// # Errors
    /// When it cannot be written completely, such as on a full disk; earlier checkpoints are kept.
    pub fn save(&self, checkpoint: &Checkpoint) -> Result<PathBuf> {
        let name = format!("step-{:08}.safetensors", checkpoint.about.step);
        let path = self.path.join(name);
        write_atomically(&path, &checkpoint.to_bytes()?)?;
        for (_, old) in self.checkpoints()?.iter().rev().skip(KEPT) {
            fs::remove_file(old)
                .with_context(|| format!("{}: cannot be removed", old.display()))?;
        }
        Ok(path)
    }

    /// Reads the newest checkpoint; none if there is none.
    ///
    /// # Errors
    /// When it cannot be read. The error names the one before it, which can be used by removing the newest.
    pub fn latest(&self) -> Result<Option<Checkpoint>> {
        let checkpoints = self.checkpoints()?;
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

    /// Lists steps and files of all checkpoints, the oldest first.
    fn checkpoints(&self) -> Result<Vec<(usize, PathBuf)>> {
        let shown = self.path.display();
        let entries =
            fs::read_dir(&self.path).with_context(|| format!("{shown}: cannot be listed"))?;
        let mut checkpoints = Vec::new();
        for entry in entries {
            let path = entry
                .with_context(|| format!("{shown}: cannot be listed"))?
                .path();
            let name = path.file_name().and_then(|name| name.to_str());
            let step = name
                .and_then(|name| name.strip_prefix("step-")?.strip_suffix(".safetensors"))
                .and_then(|step| step.parse().ok());
            if let Some(step) = step {
                checkpoints.push((step, path));
            }
        }
        checkpoints.sort();
        Ok(checkpoints)
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

    fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut tensors: Vec<(String, Float<'_>)> = Vec::new();
        for (name, weights) in &self.weights {
            tensors.push((format!("weights/{name}"), Float(weights)));
        }
        let mut steps = BTreeMap::new();
        for (name, moments) in &self.moments {
            tensors.push((format!("first/{name}"), Float(&moments.first)));
            tensors.push((format!("second/{name}"), Float(&moments.second)));
            steps.insert(name, moments.steps);
        }
        let metadata = HashMap::from([
            (ABOUT.to_string(), serde_json::to_string(&self.about)?),
            ("steps".to_string(), serde_json::to_string(&steps)?),
        ]);
        safetensors::serialize(tensors, Some(metadata)).context("a checkpoint as bytes")
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (_, header) = SafeTensors::read_metadata(bytes).context("not a safetensors file")?;
        let metadata = header.metadata().clone().unwrap_or_default();
        let entry = |key: &str| {
            metadata
                .get(key)
                .with_context(|| format!("not a checkpoint of a pre-training run: no `{key}`"))
        };
        let about = serde_json::from_str(entry(ABOUT)?).context(ABOUT)?;
        let mut steps: BTreeMap<String, i32> =
            serde_json::from_str(entry("steps")?).context("steps")?;
        let file = SafeTensors::deserialize(bytes).context("not a whole safetensors file")?;
        let (mut weights, mut firsts, mut seconds) =
            (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for (name, tensor) in file.iter() {
            ensure!(
                tensor.dtype() == Dtype::F32,
                "tensor `{name}`: found {:?}, expected F32",
                tensor.dtype()
            );
            let floats = tensor.data().chunks_exact(4);
            let values: Vec<f32> = floats
                .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
                .collect();
            let data = TensorData::new(values, tensor.shape().to_vec());
            let Some((part, name)) = name.split_once('/') else {
                bail!("tensor `{name}`: unexpected");
            };
            let to = match part {
                "weights" => &mut weights,
                "first" => &mut firsts,
                "second" => &mut seconds,
                _ => bail!("tensor `{part}/{name}`: unexpected"),
            };
            to.insert(name.to_string(), data);
        }
        let mut moments = BTreeMap::new();
        for (name, first) in firsts {
            let missing = || format!("optimizer state of `{name}` is not whole");
            let second = seconds.remove(&name).with_context(missing)?;
            let steps = steps.remove(&name).with_context(missing)?;
            let whole = ParameterMoments {
                first,
                second,
                steps,
            };
            moments.insert(name, whole);
        }
        Ok(Self {
            about,
            weights,
            moments,
        })
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

/// A tensor of f32 on its way into a file.
struct Float<'a>(&'a TensorData);

impl View for Float<'_> {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        self.0.shape().as_slice()
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(self.0.as_bytes())
    }

    fn data_len(&self) -> usize {
        self.0.as_bytes().len()
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
            folder.save(&checkpoint(step)).expect("room on the disk");
        }
        assert_eq!(folder.latest().expect("readable"), Some(checkpoint(15)));
        let steps: Vec<usize> = folder
            .checkpoints()
            .expect("a list")
            .into_iter()
            .map(|(step, _)| step)
            .collect();
        assert_eq!(steps, [10, 15]);
    }

    #[test]
    fn a_damaged_checkpoint_is_named_with_the_one_before_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(dir.path()).expect("a folder");
        folder.save(&checkpoint(5)).expect("room on the disk");
        let path = folder.save(&checkpoint(10)).expect("room on the disk");
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
        let none: Vec<(String, Float)> = Vec::new();
        fs::write(&path, safetensors::serialize(none, None).expect("empty")).expect("written");
        let message = format!("{:#}", Checkpoint::read(&path).expect_err("not ours"));
        assert!(message.contains("not a checkpoint"), "{message}");
    }
}
