//! Clipping in a few calls over all gradients, on devices of LibTorch with a memory of their own.

use burn::backend::LibTorch;
use burn::backend::libtorch::TchTensor;
use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;

use super::GradientNorm;
use crate::fused::libtorch::{owns, owns_in_main_memory, raw};
use crate::fused::shim::clipped;

/// `None` where other ways are taken; nothing has changed then.
pub fn clip<M: Module>(
    module: &M,
    grads: &mut GradientsParams,
    max: Option<f64>,
) -> Option<GradientNorm> {
    let mut read = Read {
        grads: &*grads,
        found: Vec::new(),
        all_elsewhere: true,
    };
    module.visit(&mut read);
    let Read {
        found,
        all_elsewhere,
        ..
    } = read;
    if found.is_empty() || !all_elsewhere {
        return None;
    }
    let (norm, scaled) = clipped(&found, max);
    if max.is_some() {
        let scaled = scaled.into_iter();
        module.visit(&mut Write { grads, scaled });
    }
    let norm = Tensor::from_primitive::<LibTorch>(TchTensor::new(norm));
    Some(GradientNorm(Some(norm)))
}

struct Read<'a> {
    grads: &'a GradientsParams,
    found: Vec<tch::Tensor>,
    all_elsewhere: bool,
}

impl ModuleVisitor for Read<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(grad) = self.grads.get::<D>(param.id) {
            let device = grad.device();
            if owns(&device) && !owns_in_main_memory(&device) {
                self.found.push(raw(&grad));
            } else {
                self.all_elsewhere = false;
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
