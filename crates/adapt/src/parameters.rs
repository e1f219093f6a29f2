//! Parameters by path: names, sizes, values and gradients.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Device, Tensor, TensorData};
use totune_model::{PathMapper, PathVisitor, map_by_path, visit_by_path};

/// The number of elements of every parameter, by path.
pub fn sizes<M: Module>(module: &M) -> BTreeMap<String, usize> {
    visit_by_path(module, Sizes::default()).0
}

/// Returns the device of a module, without autodiff.
pub(crate) fn device_of<M: Module>(module: &M) -> Result<Device> {
    let device = module.devices().into_iter().next();
    Ok(device.context("the encoder has no parameters")?.inner())
}

/// Requires gradients of the parameters for which `trainable` returns true, and of no others.
pub fn require_gradients<M: Module>(module: M, trainable: &dyn Fn(&str) -> bool) -> M {
    map_by_path(module, &mut RequireGradients { trainable })
}

/// Returns the module with a copy of every number of its own.
///
/// Clones of a module share their parameters, and the fused optimiser changes parameters in place: without a copy, a
/// second run would start where the first one ended.
pub fn deep_copy<M: Module>(module: &M) -> M {
    module.clone().map(&mut DeepCopy)
}

/// Depth of a graph that is freed as a whole; that of 24 layers is a quarter of it.
const DEPTH: usize = 2048;

/// Frees what the graph of a step holds that ended in a panic, such as for want of memory.
///
/// burn keeps the nodes of a graph without a backward pass, with the tensors they saved. Of those that nobody can reach
/// any more it frees the ones without parents after each backward pass of any other graph, so there are as many passes
/// as a graph is deep.
pub fn release_graphs(device: &Device) {
    let device = device.clone().autodiff();
    for _ in 0..DEPTH {
        let leaf: Tensor<1> = Tensor::from_data([1f32], &device);
        (leaf.require_grad() * 2.0).backward();
    }
}

/// Values of parameters by path, outside the device: no step of an optimiser that works in place reaches them.
pub type Values = BTreeMap<String, TensorData>;

/// Copies the values of the parameters for whose path `wanted` returns true.
pub fn copy<M: Module>(module: &M, wanted: &dyn Fn(&str) -> bool) -> Values {
    let copy = Copy {
        wanted,
        values: BTreeMap::new(),
    };
    visit_by_path(module, copy).values
}

/// Returns the module with these values for these parameters.
pub(crate) fn restore<M: Module>(module: M, values: Values) -> M {
    map_by_path(module, &mut Restore { values })
}

struct Copy<'a> {
    wanted: &'a dyn Fn(&str) -> bool,
    values: Values,
}

impl PathVisitor for Copy<'_> {
    fn visit<const D: usize>(&mut self, path: &str, param: &Param<Tensor<D>>) {
        if (self.wanted)(path) {
            // Converting gives the bytes a place of their own, where `into_data` may share those of the tensor.
            let data = param.val().into_data();
            self.values.insert(
                path.to_string(),
                TensorData::from_bytes_vec(
                    data.as_bytes().to_vec(),
                    data.shape().clone(),
                    data.dtype(),
                ),
            );
        }
    }
}

struct DeepCopy;

impl ModuleMapper for DeepCopy {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|value| Tensor::from_data(value.to_data(), &value.device()))
    }
}

struct Restore {
    values: Values,
}

impl PathMapper for Restore {
    fn map<const D: usize>(&mut self, path: &str, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some(data) = self.values.remove(path) else {
            return param;
        };
        param.map(|value| {
            let required = value.is_require_grad();
            let restored = Tensor::from_data(data, &value.inner().device());
            Tensor::from_inner(restored).set_require_grad(required)
        })
    }
}

#[derive(Default)]
struct Sizes(BTreeMap<String, usize>);

impl PathVisitor for Sizes {
    fn visit<const D: usize>(&mut self, path: &str, param: &Param<Tensor<D>>) {
        let size = param.lazy_shape().num_elements();
        self.0.insert(path.to_string(), size);
    }
}

struct RequireGradients<'a> {
    trainable: &'a dyn Fn(&str) -> bool,
}

impl PathMapper for RequireGradients<'_> {
    fn map<const D: usize>(&mut self, path: &str, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let trainable = (self.trainable)(path);
        param.set_require_grad(trainable)
    }
}
