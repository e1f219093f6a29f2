//! Clipping in a few calls over all gradients, on devices of LibTorch.

use burn::backend::LibTorch;
use burn::backend::libtorch::TchTensor;
use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;

use super::{GradientNorm, Norm};
use crate::fused::libtorch::{in_main_memory, owns, raw};
use crate::fused::shim;

/// State of clipping once the norm is known.
// There is one in a step.
#[expect(clippy::large_enum_variant)]
pub enum Clipped {
    /// The gradients are scaled, where they have to be.
    Done(GradientNorm),
    /// The norm of gradients on the CPU, which are not scaled yet.
    Norm(f64),
}

/// `None` where there are no gradients, or not all are LibTorch's; nothing has changed then.
pub fn clip<M: Module>(
    module: &M,
    grads: &mut GradientsParams,
    max: Option<f64>,
) -> Option<Clipped> {
    let mut read = Read {
        grads: &*grads,
        found: Vec::new(),
        all_owned: true,
    };
    module.visit(&mut read);
    let Read {
        found, all_owned, ..
    } = read;
    if found.is_empty() || !all_owned {
        return None;
    }
    if found.iter().all(in_main_memory) {
        return Some(Clipped::Norm(shim::norm(&found)));
    }
    let (norm, scaled) = shim::clipped(&found, max);
    if max.is_some() {
        let scaled = scaled.into_iter();
        module.visit(&mut Write { grads, scaled });
    }
    let norm = Tensor::from_primitive::<LibTorch>(TchTensor::new(norm));
    Some(Clipped::Done(GradientNorm(Norm::OnDevice(norm))))
}

struct Read<'a> {
    grads: &'a GradientsParams,
    found: Vec<tch::Tensor>,
    all_owned: bool,
}

impl ModuleVisitor for Read<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(grad) = self.grads.get::<D>(param.id) {
            if owns(&grad.device()) {
                self.found.push(raw(&grad));
            } else {
                self.all_owned = false;
            }
        }
    }
}

struct Write<'a> {
    grads: &'a mut GradientsParams,
    /// In the order of the visit that read them.
    scaled: std::vec::IntoIter<tch::Tensor>,
}

impl ModuleVisitor for Write<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if self.grads.remove::<D>(param.id).is_some() {
            let scaled = self.scaled.next().expect("as many as were read");
            let scaled = Tensor::<D>::from_primitive::<LibTorch>(TchTensor::new(scaled));
            self.grads.register(param.id, scaled);
        }
    }
}
