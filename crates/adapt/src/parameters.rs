//! Parameters by path: their names, their number, and which of them ask for a gradient.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::Tensor;

/// The number of elements of every parameter, by path.
pub fn sizes<M: Module>(module: &M) -> BTreeMap<String, usize> {
    let mut visitor = Sizes::default();
    module.visit(&mut visitor);
    visitor.sizes
}

/// The module with gradients asked for where `trainable` says so, and nowhere else.
pub(crate) fn require_gradients<M: Module>(module: M, trainable: &dyn Fn(&str) -> bool) -> M {
    let mut mapper = RequireGradients {
        path: Vec::new(),
        trainable,
    };
    module.map(&mut mapper)
}

#[derive(Default)]
struct Sizes {
    path: Vec<String>,
    sizes: BTreeMap<String, usize>,
}

impl ModuleVisitor for Sizes {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.into());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let size = param.lazy_shape().num_elements();
        self.sizes.insert(self.path.join("."), size);
    }
}

struct RequireGradients<'a> {
    path: Vec<String>,
    trainable: &'a dyn Fn(&str) -> bool,
}

impl ModuleMapper for RequireGradients<'_> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.into());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let trainable = (self.trainable)(&self.path.join("."));
        param.set_require_grad(trainable)
    }
}
