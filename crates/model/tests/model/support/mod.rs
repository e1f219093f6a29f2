//! Helpers of tests against stored references.

// Each test is a program of its own, and uses a part of this.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use burn::module::{Module, Param};
use burn::tensor::{Device, Gradients, Tensor};
use safetensors::SafeTensors;
use totune_model::{PathVisitor, Spelling, visit_by_path};

/// A path in the repository.
pub fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// Every device of the machine.
pub fn devices() -> Vec<Device> {
    let mut devices = vec![
        #[cfg(feature = "tch")]
        #[allow(deprecated)]
        Device::libtorch(),
        Device::flex(),
    ];
    devices.extend(totune_model::fused::cuda_devices());
    devices
}

/// The same without flex, where there is LibTorch, which is several times as fast: for tests that train.
pub fn fast_devices() -> Vec<Device> {
    let mut devices = devices();
    if cfg!(feature = "tch") {
        devices.retain(|device| *device != Device::flex());
    }
    devices
}

/// The share by which values of a device may differ from stored ones of a CPU. cuDNN's LSTM, in f32 throughout, differed by
/// up to 3e-5 on an H100; the products of TF32 have errors of 5e-4.
pub fn tolerance(device: &Device) -> f32 {
    if format!("{device:?}").contains("Cuda") {
        1e-4
    } else {
        1e-5
    }
}

/// The numbers of a tensor.
pub fn flat<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec().expect("f32")
}

/// The tensors of a committed safetensors file.
pub struct Stored(Vec<u8>);

impl Stored {
    pub fn read(path: &str) -> Self {
        Self(std::fs::read(project(path)).expect("a committed file"))
    }

    pub fn floats(&self, name: &str) -> Vec<f32> {
        let file = SafeTensors::deserialize(&self.0).expect("safetensors");
        let view = file.tensor(name).expect("a stored tensor");
        let numbers = view.data().chunks_exact(4);
        numbers
            .map(|b| f32::from_le_bytes(b.try_into().expect("four bytes")))
            .collect()
    }

    pub fn integers(&self, name: &str) -> (Vec<i64>, [usize; 2]) {
        let file = SafeTensors::deserialize(&self.0).expect("safetensors");
        let view = file.tensor(name).expect("a stored tensor");
        let numbers = view.data().chunks_exact(8);
        let values = numbers.map(|b| i64::from_le_bytes(b.try_into().expect("eight bytes")));
        let shape = view.shape().try_into().expect("two dimensions");
        (values.collect(), shape)
    }
}

/// A word as ELMo reads it; `totune_data::characters` has tests of its own.
pub fn spell(word: &str) -> Spelling {
    let mut ids = [261; 50];
    let bytes = &word.as_bytes()[..word.len().min(48)];
    ids[0] = 259;
    for (id, &byte) in ids[1..].iter_mut().zip(bytes) {
        *id = u16::from(byte) + 1;
    }
    ids[1 + bytes.len()] = 260;
    ids
}

/// The gradient of every parameter of `module` by its path; each has one.
pub fn gradients(module: &impl Module, grads: &Gradients) -> BTreeMap<String, Vec<f32>> {
    let visitor = Visitor {
        grads,
        found: BTreeMap::new(),
    };
    visit_by_path(module, visitor).found
}

struct Visitor<'a> {
    grads: &'a Gradients,
    found: BTreeMap<String, Vec<f32>>,
}

impl PathVisitor for Visitor<'_> {
    fn visit<const D: usize>(&mut self, path: &str, param: &Param<Tensor<D>>) {
        let grad = param.val().grad(self.grads);
        let grad = grad.expect("every parameter has a gradient");
        self.found.insert(path.to_string(), flat(grad));
    }
}
