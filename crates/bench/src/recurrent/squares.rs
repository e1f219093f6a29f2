//! Sums of squares of gradients, by which sides are compared.

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Gradients, Tensor};

/// Values that sides of training are compared by: the loss, and the sums of squares of the gradients of the input and of all
/// weights. The sums are those of the first step, so that no later one pays for them.
#[derive(Default)]
pub struct Values {
    squares: Option<[f64; 2]>,
}

impl Values {
    /// The values of a step; `squares` gives those of input and weights.
    pub fn of(&mut self, loss: f32, squares: impl FnOnce() -> [f64; 2]) -> Vec<f64> {
        let [input, weights] = *self.squares.get_or_insert_with(squares);
        vec![loss.into(), input, weights]
    }
}

/// The sum of squares of a tensor's gradient; not a number where it has none.
pub fn square<const D: usize>(tensor: &Tensor<D>, gradients: &Gradients) -> f64 {
    tensor.grad(gradients).map_or(f64::NAN, |gradient| {
        f64::from(gradient.powi_scalar(2).sum().into_scalar::<f32>())
    })
}

/// The sum of squares of the gradients of all weights of a module.
pub fn squares<M: Module>(module: &M, gradients: &Gradients) -> f64 {
    struct Sum<'a> {
        gradients: &'a Gradients,
        sum: f64,
    }

    impl ModuleVisitor for Sum<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            self.sum += square(&param.val(), self.gradients);
        }
    }

    let mut sum = Sum {
        gradients,
        sum: 0.0,
    };
    module.visit(&mut sum);
    sum.sum
}
