//! A tiny network with new modules, and what another library computes with them.

use std::collections::BTreeMap;

use burn::module::{Module, Param};
use burn::tensor::{Device, Gradients, Tensor, TensorData};
use totune_checkpoint::{Naming, Published};
use totune_model::{
    Bert, BertConfig, Encoder, Pass, PathMapper, PathVisitor, Shape, TokenBatch, map_by_path,
    visit_by_path,
};

use crate::support::{Stored, flat, project};

/// Largest difference to the reference, for gradients as a share of the largest of their tensor.
const TOLERANCE: f32 = 1e-5;

/// Reference computed by another library.
pub struct Reference {
    stored: Stored,
    /// The part of their paths by which new parameters are known.
    marker: &'static str,
}

impl Reference {
    pub fn read(path: &str, marker: &'static str) -> Self {
        let stored = Stored::read(path);
        Self { stored, marker }
    }

    pub fn batch(&self, device: &Device) -> TokenBatch {
        let (ids, shape) = self.stored.integers("ids");
        let (types, _) = self.stored.integers("types");
        let (mask, _) = self.stored.integers("mask");
        let mask: Vec<bool> = mask.into_iter().map(|m| m == 1).collect();
        TokenBatch::new(ids, types, &mask, shape, device)
    }

    /// Gives the new parameters their stored values, and requires gradients only of these.
    pub fn fill<E: Encoder>(&self, encoder: E, n_new: usize) -> E {
        let mut fill = Fill {
            reference: self,
            filled: 0,
        };
        let encoder = map_by_path(encoder.train(), &mut fill);
        assert_eq!(fill.filled, n_new);
        encoder
    }

    #[track_caller]
    pub fn check_states<E: Encoder>(&self, encoder: &E, device: &Device, pass: &Pass) {
        let states = encoder.encode(&self.batch(device), pass);
        let (mask, _) = self.stored.integers("mask");
        // Nothing reads the states of padding.
        let real = |states: Vec<f32>| -> Vec<f32> {
            let rows = states.chunks(states.len() / mask.len()).zip(&mask);
            let rows = rows.filter(|(_, real)| **real == 1);
            rows.flat_map(|(row, _)| row.to_vec()).collect()
        };
        for (i, hidden) in states.hidden.into_iter().enumerate() {
            let expected = self.stored.floats(&format!("hidden.{i}"));
            let (worst, _) = worst(&real(flat(hidden)), &real(expected));
            assert!(worst <= TOLERANCE, "layer {i} differs by {worst}");
        }
        if let Some(pooled) = states.pooled {
            let (worst, _) = worst(&flat(pooled), &self.stored.floats("pooled"));
            assert!(worst <= TOLERANCE, "pooled differs by {worst}");
        }
    }

    /// Compares the gradients of the new parameters for the stored weights of the top layer; others have none.
    #[track_caller]
    pub fn check_gradients<E: Encoder>(&self, encoder: &E, device: &Device, n_new: usize) {
        let states = encoder.encode(&self.batch(device), &Pass::training(1));
        let top = states.top();
        let weights = TensorData::new(self.stored.floats("weights"), top.dims().to_vec());
        let loss = (top * Tensor::from_inner(Tensor::<3>::from_data(weights, device))).sum();
        let collect = Collect {
            gradients: &loss.backward(),
            reference: self,
            found: BTreeMap::new(),
        };
        let found = visit_by_path(encoder, collect).found;
        assert_eq!(found.len(), n_new);
        for (name, found) in found {
            let expected = self.stored.floats(&format!("grad.{name}"));
            let (worst, scale) = worst(&found, &expected);
            assert!(
                worst <= TOLERANCE * scale.max(1.0),
                "{name} differs by {worst} where the largest is {scale}, {device:?}"
            );
        }
    }

    /// The stored name of a new parameter: `1.attention.query.a` for `layers.1.attention.query.lora.a`.
    fn stored_name(&self, path: &str) -> Option<String> {
        let rest = path.strip_prefix("layers.")?;
        let is_new = rest.contains(self.marker);
        is_new.then(|| rest.replace(self.marker, "."))
    }
}

/// The network of the references without new modules.
pub fn odd(device: &Device) -> Bert {
    let text = std::fs::read_to_string(project("fixtures/model/odd.json")).expect("a shape");
    let config: BertConfig = serde_json::from_str(&text).expect("a shape");
    let path = project("fixtures/model/odd.f32.safetensors");
    let mut checkpoint = Published::open(&path, Naming::Bert).expect("a checkpoint");
    let bert = config.load(&mut checkpoint, device);
    bert.expect("a whole checkpoint").with_dropout(0.0)
}

/// The largest difference, and the largest expected value.
pub fn worst(found: &[f32], expected: &[f32]) -> (f32, f32) {
    assert_eq!(found.len(), expected.len());
    let pairs = found.iter().zip(expected);
    let worst = pairs.fold(0f32, |m, (a, b)| m.max((a - b).abs()));
    (worst, expected.iter().fold(0f32, |m, x| m.max(x.abs())))
}

/// The values of all parameters, by their paths.
pub fn values(module: &impl Module) -> BTreeMap<String, Vec<f32>> {
    visit_by_path(module, Values(BTreeMap::new())).0
}

struct Fill<'a> {
    reference: &'a Reference,
    filled: usize,
}

impl PathMapper for Fill<'_> {
    fn map<const D: usize>(&mut self, path: &str, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some(name) = self.reference.stored_name(path) else {
            return param.set_require_grad(false);
        };
        self.filled += 1;
        let values = self.reference.stored.floats(&name);
        param.map(|value| {
            let shape = value.dims().to_vec();
            let plain = Tensor::from_data(TensorData::new(values, shape), &value.inner().device());
            Tensor::from_inner(plain).require_grad()
        })
    }
}

struct Collect<'a> {
    gradients: &'a Gradients,
    reference: &'a Reference,
    found: BTreeMap<String, Vec<f32>>,
}

impl PathVisitor for Collect<'_> {
    fn visit<const D: usize>(&mut self, path: &str, param: &Param<Tensor<D>>) {
        let gradient = param.val().grad(self.gradients);
        match self.reference.stored_name(path) {
            Some(name) => {
                let gradient = gradient.expect("a new parameter has a gradient");
                self.found.insert(name, flat(gradient));
            }
            None => assert!(gradient.is_none(), "{}", path),
        }
    }
}

struct Values(BTreeMap<String, Vec<f32>>);

impl PathVisitor for Values {
    fn visit<const D: usize>(&mut self, path: &str, param: &Param<Tensor<D>>) {
        self.0.insert(path.to_string(), flat(param.val()));
    }
}
