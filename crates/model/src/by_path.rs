//! Visits of a module's parameters with the path of each.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::Tensor;

/// Reads parameters, given the path of each, such as `encoder.layers.0.attention.query.weight`.
pub trait PathVisitor {
    /// Reads one parameter.
    fn visit<const D: usize>(&mut self, path: &str, param: &Param<Tensor<D>>);
}

/// Replaces parameters, given the path of each.
pub trait PathMapper {
    /// Returns what takes the place of one parameter.
    fn map<const D: usize>(&mut self, path: &str, param: Param<Tensor<D>>) -> Param<Tensor<D>>;
}

/// Shows every parameter of `module` to `visitor`, which is returned with what it found.
pub fn visit_by_path<M: Module, V: PathVisitor>(module: &M, visitor: V) -> V {
    let mut walk = ByPath::new(visitor);
    module.visit(&mut walk);
    walk.of
}

/// Returns the module with every parameter replaced by what `mapper` returns for it.
pub fn map_by_path<M: Module>(module: M, mapper: &mut impl PathMapper) -> M {
    module.map(&mut ByPath::new(mapper))
}

/// A walk through a module that knows where it is.
struct ByPath<V> {
    /// Names of the modules around this place, the outermost first.
    names: Vec<String>,
    of: V,
}

impl<V> ByPath<V> {
    fn new(of: V) -> Self {
        Self {
            names: Vec::new(),
            of,
        }
    }

    fn path(&self) -> String {
        self.names.join(".")
    }
}

impl<V: PathVisitor> ModuleVisitor for ByPath<V> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.names.push(name.into());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.names.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let path = self.path();
        self.of.visit(&path, param);
    }
}

impl<V: PathMapper> ModuleMapper for ByPath<&mut V> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.names.push(name.into());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.names.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let path = self.path();
        self.of.map(&path, param)
    }
}
