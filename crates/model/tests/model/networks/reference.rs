//! Stored cases, made by `fixtures/make/networks.py`, as inputs and weights of a network.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, Gradients, Tensor, TensorData};
use serde::Deserialize;
use totune_model::{Segment, Weights, WordPlaces};

/// A tensor as it is stored.
#[derive(Debug, Clone, Deserialize)]
pub struct Stored {
    pub shape: Vec<usize>,
    pub values: Vec<f32>,
}

impl Stored {
    pub fn tensor<const D: usize>(&self, device: &Device) -> Tensor<D> {
        Tensor::from_data(
            TensorData::new(self.values.clone(), self.shape.clone()),
            device,
        )
    }
}

/// Settings, weights, inputs, and PyTorch's outputs and gradients for them.
#[derive(Debug, Clone, Deserialize)]
pub struct Case<S> {
    pub spec: S,
    pub width: usize,
    pub outputs: usize,
    pub weights: BTreeMap<String, Stored>,
    inputs: BTreeMap<String, Stored>,
    constants: BTreeMap<String, Stored>,
    pub output: Stored,
    pub gradients: BTreeMap<String, Stored>,
}

#[derive(Deserialize)]
struct File<S> {
    cases: Vec<Case<S>>,
}

/// The cases of `fixtures/model/<name>.json`.
pub fn cases<S: for<'a> Deserialize<'a>>(name: &str) -> Vec<Case<S>> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../fixtures/model/{name}.json"));
    let text = std::fs::read_to_string(&path).expect("a committed file");
    let file: File<S> = serde_json::from_str(&text).expect("cases");
    assert!(!file.cases.is_empty(), "{name}");
    file.cases
}

impl<S> Case<S> {
    /// The inputs as leaves of a graph.
    pub fn inputs(&self, device: &Device) -> Inputs {
        let leaf = |stored: &Stored| stored.tensor(device).require_grad();
        Inputs {
            states: self
                .inputs
                .iter()
                .map(|(name, x)| (name.clone(), leaf(x)))
                .collect(),
            constants: self.constants.clone(),
            device: device.clone(),
        }
    }

    /// The weights, each to be taken once.
    pub fn given(&self) -> ReferenceWeights {
        ReferenceWeights {
            weights: self.weights.clone(),
            taken: HashSet::new(),
        }
    }
}

/// Inputs of a network.
pub struct Inputs {
    /// `[batch, seq, width]`, or one vector per example.
    pub states: BTreeMap<String, Tensor<3>>,
    constants: BTreeMap<String, Stored>,
    device: Device,
}

impl Inputs {
    pub fn segment(&self, name: &str) -> Segment {
        Segment {
            states: self.states[name].clone(),
            mask: self.constants[&format!("{name}_mask")].tensor(&self.device),
        }
    }

    pub fn words(&self) -> WordPlaces {
        let places = |name: &str| self.constants[name].tensor::<2>(&self.device).int();
        let starts = places("starts");
        WordPlaces {
            mask: Tensor::ones(starts.dims(), &self.device),
            starts,
            ends: places("ends"),
        }
    }

    /// The same with `n` more positions of padding in every text.
    pub fn padded(mut self, n: usize) -> Self {
        for x in self.states.values_mut() {
            let [batch, _, width] = x.dims();
            let padding = Tensor::full([batch, n, width], -7.0, &self.device);
            *x = Tensor::cat(vec![x.clone(), padding], 1);
        }
        for (_, mask) in self
            .constants
            .iter_mut()
            .filter(|(name, _)| name.ends_with("_mask"))
        {
            let seq = mask.shape[1];
            let rows = mask
                .values
                .chunks(seq)
                .map(|row| [row, &vec![0.0; n]].concat());
            mask.values = rows.flatten().collect();
            mask.shape[1] = seq + n;
        }
        self
    }
}

/// The weights of a case.
pub struct ReferenceWeights {
    weights: BTreeMap<String, Stored>,
    taken: HashSet<String>,
}

impl ReferenceWeights {
    /// Asserts that the network took every weight.
    pub fn are_used(&self) {
        let left: Vec<_> = self
            .weights
            .keys()
            .filter(|name| !self.taken.contains(*name))
            .collect();
        assert!(left.is_empty(), "left over: {left:?}");
    }
}

impl Weights for ReferenceWeights {
    fn take(&mut self, name: &str, shape: &[usize]) -> Result<TensorData> {
        let stored = self
            .weights
            .get(name)
            .with_context(|| format!("no {name}"))?;
        ensure!(
            stored.shape == shape,
            "{name}: {:?}, expected {shape:?}",
            stored.shape
        );
        ensure!(self.taken.insert(name.to_string()), "{name} is taken twice");
        Ok(TensorData::new(stored.values.clone(), shape.to_vec()))
    }
}

pub fn flat<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec().expect("f32")
}

#[track_caller]
pub fn near(found: &[f32], expected: &[f32], tolerance: f32, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        let scale = b.abs().max(1.0);
        assert!(
            (a - b).abs() <= tolerance * scale,
            "{what}[{i}]: {a}, expected {b}"
        );
    }
}

/// Compares the gradient of every parameter of `module` with the stored one. A parameter is identified by its values,
/// which no two weights of a case share, so that names are those of the file and not of the module.
pub fn check_gradients<M: Module, S>(
    module: &M,
    gradients: &Gradients,
    case: &Case<S>,
    tolerance: f32,
    what: &str,
) {
    let mut visitor = Parameters {
        gradients,
        weights: &case.weights,
        expected: &case.gradients,
        seen: HashSet::new(),
        tolerance,
        what,
    };
    module.visit(&mut visitor);
    assert_eq!(
        visitor.seen.len(),
        case.weights.len(),
        "{what}: parameters that were compared"
    );
}

struct Parameters<'a> {
    gradients: &'a Gradients,
    weights: &'a BTreeMap<String, Stored>,
    expected: &'a BTreeMap<String, Stored>,
    seen: HashSet<String>,
    tolerance: f32,
    what: &'a str,
}

impl ModuleVisitor for Parameters<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let values = flat(param.val());
        let (name, _) = self
            .weights
            .iter()
            .find(|(_, stored)| stored.values == values)
            .expect("every parameter is one of the case's weights");
        let what = format!("{}: gradient of {name}", self.what);
        let found = param
            .val()
            .grad(self.gradients)
            .unwrap_or_else(|| panic!("no {what}"));
        near(
            &flat(found),
            &self.expected[name].values,
            self.tolerance,
            &what,
        );
        assert!(self.seen.insert(name.clone()), "{name} twice");
    }
}
