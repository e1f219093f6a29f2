//! Weights as safetensors: written from a form, and loaded into a model.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use burn::module::Param;
use burn::tensor::{Device, Tensor, TensorData};
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use totune_checkpoint::Checkpoint;
use totune_model::{AnyEncoder, Classifier, Encoder, PathMapper, Weights, map_by_path};

use crate::form::{Form, PASSING, floats};
use crate::manifest::Manifest;
use crate::names::{WEIGHTS, place};

/// A tensor in its stored form.
pub(crate) struct Stored {
    name: String,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Stored {
    /// `data` as 32-bit floats under this name.
    pub fn new(name: String, data: &TensorData) -> Result<Self> {
        let bytes = floats(data)?.into_iter().flat_map(f32::to_le_bytes);
        Ok(Self {
            name,
            shape: data.shape().to_vec(),
            bytes: bytes.collect(),
        })
    }
}

/// Writes `tensors` as the file `path`; returns its SHA-256.
pub(crate) fn write_file(tensors: Vec<Stored>, path: &Path) -> Result<String> {
    let views = tensors.iter().map(|tensor| {
        let view = TensorView::new(Dtype::F32, tensor.shape.clone(), &tensor.bytes)?;
        Ok((&tensor.name, view))
    });
    let views: Vec<(&String, TensorView)> = views.collect::<Result<_>>()?;
    // Metadata that transformers requires.
    let metadata = HashMap::from([("format".to_string(), "pt".to_string())]);
    safetensors::serialize_to_file(views, Some(metadata), path)
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    // The library creates a file that only its owner may read; weights are for whoever may read the folder.
    #[cfg(unix)]
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .with_context(|| format!("{}: cannot be opened to others", path.display()))?;
    Ok(Checkpoint::open(path)?.hash())
}

/// Writes the weights of `form` into `dir`; returns the SHA-256 of each file.
pub(crate) fn write(form: &Form, dir: &Path) -> Result<BTreeMap<String, String>> {
    let mut files: BTreeMap<&str, Vec<Stored>> = BTreeMap::new();
    for (path, data) in &form.values {
        let (file, name) = place(&form.architecture, &form.saved_as, path);
        let tensor = Stored::new(name, data)?;
        files.entry(file).or_default().push(tensor);
    }
    for (name, data) in &form.passing {
        let tensor = Stored::new(name.clone(), data)?;
        files.entry(WEIGHTS).or_default().push(tensor);
    }
    let written = files.into_iter().map(|(file, tensors)| {
        let hash = write_file(tensors, &dir.join(file))?;
        Ok((file.to_string(), hash))
    });
    written.collect()
}

/// A model of the manifest's shape with the weights in `dir`.
///
/// # Errors
/// When a file differs from the one that was written, or a tensor is missing, left over or of another shape.
pub(crate) fn read(
    manifest: &Manifest,
    dir: &Path,
    device: &Device,
) -> Result<Classifier<AnyEncoder>> {
    let mut files = BTreeMap::new();
    for (name, expected) in &manifest.weights {
        // A manifest is an external file: it may only name files of its own folder.
        ensure!(
            Path::new(name)
                .file_name()
                .is_some_and(|only| only == name.as_str()),
            "{}: weights: found `{name}`, expected the name of a file in the folder",
            dir.display()
        );
        let path = dir.join(name);
        let checkpoint = Checkpoint::open(&path)?;
        let found = checkpoint.hash();
        ensure!(
            &found == expected,
            "{}: sha-256 is {found}, expected {expected}, that of the file that was saved",
            path.display()
        );
        files.insert(name.as_str(), checkpoint);
    }
    let encoder = manifest.encoder.architecture.load(&mut Zeros, device)?;
    let plan = manifest.training.settings.plan(encoder.n_layers())?;
    let encoder = plan.restore_modules(encoder)?;
    let n_outputs = manifest.objective().n_outputs();
    let model = Classifier::new(encoder, &manifest.head, n_outputs, 0, device)?;
    let mut fill = Fill {
        manifest,
        files: &files,
        device,
        taken: BTreeSet::new(),
        problem: None,
    };
    let model = map_by_path(model, &mut fill);
    if let Some(problem) = fill.problem {
        return Err(problem);
    }
    for (file, checkpoint) in &files {
        for tensor in checkpoint.tensors() {
            let place = (file.to_string(), tensor.name.to_string());
            if !fill.taken.contains(&place) && !PASSING.contains(&tensor.name) {
                bail!(
                    "{}: found a tensor `{}`, expected none of this name",
                    dir.join(file).display(),
                    tensor.name
                );
            }
        }
    }
    Ok(model)
}

/// Zeros in place of weights that are about to be replaced.
struct Zeros;

impl Weights for Zeros {
    fn take(&mut self, _: &str, shape: &[usize]) -> Result<TensorData> {
        let n = shape.iter().product();
        Ok(TensorData::new(vec![0f32; n], shape.to_vec()))
    }
}

/// Loads stored values into a model.
struct Fill<'a> {
    manifest: &'a Manifest,
    files: &'a BTreeMap<&'a str, Checkpoint>,
    device: &'a Device,
    /// Tensors that were used, by file and name.
    taken: BTreeSet<(String, String)>,
    problem: Option<anyhow::Error>,
}

impl Fill<'_> {
    fn value(&mut self, path: &str, shape: &[usize]) -> Result<TensorData> {
        let (architecture, saved_as) =
            (&self.manifest.encoder.architecture, &self.manifest.saved_as);
        let (file, name) = place(architecture, saved_as, path);
        let checkpoint = self.files.get(file);
        let checkpoint =
            checkpoint.with_context(|| format!("weights: found no `{file}`, expected one"))?;
        let tensor = checkpoint.tensor(&name)?;
        ensure!(
            tensor.shape == shape,
            "{}: tensor `{name}` has shape {:?}, expected {shape:?}",
            checkpoint.path().display(),
            tensor.shape
        );
        self.taken.insert((file.to_string(), name));
        Ok(TensorData::new(tensor.values, tensor.shape))
    }
}

impl PathMapper for Fill<'_> {
    fn map<const D: usize>(&mut self, path: &str, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        if self.problem.is_some() {
            return param;
        }
        match self.value(path, &param.dims()) {
            Ok(data) => param.map(|_| Tensor::from_data(data, self.device)),
            Err(problem) => {
                self.problem = Some(problem);
                param
            }
        }
    }
}
