//! Attention with LibTorch: by its own operators, and with our dropout on the CPU.

use std::os::raw::{c_char, c_double, c_void};

use burn::backend::libtorch::TchTensor;
use tch::{Kind, Tensor};

use crate::fused::dropout::dropped;
use crate::fused::libtorch::Kernel;
use crate::fused::shim::{handle, handle_or_null, written};

type Tensors = *const *mut c_void;
type Out = *mut *mut c_void;

unsafe extern "C" {
    fn totune_attend(
        inputs: Tensors,
        bias: *mut c_void,
        rate: c_double,
        seed: u64,
        out: Out,
    ) -> *mut c_char;
    fn totune_attend_backward(
        inputs: Tensors,
        bias: *mut c_void,
        rate: c_double,
        seed: u64,
        out: Out,
    ) -> *mut c_char;
}

/// Attention by LibTorch's scaled-dot-product operators where the device has one (`attention.cpp`): with dropout on CUDA,
/// without on the CPU.
#[derive(Debug, Clone)]
pub struct Library {
    pub bias: Option<TchTensor>,
    pub rate: f64,
    pub seed: u64,
}

impl Kernel<3> for Library {
    /// q, k, v, the result, and what LibTorch keeps of the pass.
    type Saved = Vec<Option<TchTensor>>;

    fn forward(&self, inputs: [TchTensor; 3]) -> (TchTensor, Self::Saved) {
        let handles = inputs.each_ref().map(|input| handle(&input.tensor));
        let (handles, bias) = (handles.as_ptr(), handle_or_null(self.bias.as_ref()));
        // SAFETY: three live tensors and one or null; the callee writes new tensors or null into four places.
        let results: [_; 4] =
            unsafe { written(|out| totune_attend(handles, bias, self.rate, self.seed, out)) };
        let y = results[0].clone();
        let y = y.expect("a callee that does not fail gives a result");
        let saved = inputs.map(Some).into_iter().chain(results).collect();
        (y, saved)
    }

    fn backward(
        &self,
        saved: Self::Saved,
        grad: TchTensor,
        _: [bool; 3],
    ) -> [Option<TchTensor>; 3] {
        let saved = saved.iter().map(|saved| handle_or_null(saved.as_ref()));
        let handles: Vec<*mut c_void> = [handle(&grad.tensor)].into_iter().chain(saved).collect();
        let (handles, bias) = (handles.as_ptr(), handle_or_null(self.bias.as_ref()));
        // SAFETY: live tensors or null, as the forward pass left them; the callee writes three new tensors.
        unsafe { written(|out| totune_attend_backward(handles, bias, self.rate, self.seed, out)) }
    }
}

/// Attention on the CPU with dropout: the probabilities are stored, the mask is recomputed from its seed.
#[derive(Debug, Clone)]
pub struct Dropped {
    pub bias: Option<TchTensor>,
    pub rate: f64,
    pub seed: u64,
}

impl Kernel<3> for Dropped {
    /// q, k, v and the probabilities before dropout.
    type Saved = [TchTensor; 4];

    fn forward(&self, [q, k, v]: [TchTensor; 3]) -> (TchTensor, Self::Saved) {
        let scale = (q.tensor.size()[3] as f64).powf(-0.5);
        let mut scores = (&q.tensor * scale).matmul(&k.tensor.transpose(2, 3));
        if let Some(bias) = &self.bias {
            let _ = scores.g_add_(&bias.tensor);
        }
        let p = scores.softmax(3, None::<Kind>);
        let out = dropped(&p, self.rate, self.seed).matmul(&v.tensor);
        (TchTensor::new(out), [q, k, v, TchTensor::new(p)])
    }

    fn backward(
        &self,
        [q, k, v, p]: [TchTensor; 4],
        grad: TchTensor,
        _: [bool; 3],
    ) -> [Option<TchTensor>; 3] {
        let scale = (q.tensor.size()[3] as f64).powf(-0.5);
        let kept = dropped(&p.tensor, self.rate, self.seed);
        let dv = kept.transpose(2, 3).matmul(&grad.tensor);
        let dp = grad.tensor.matmul(&v.tensor.transpose(2, 3));
        let dp = dropped(&dp, self.rate, self.seed);
        let ds = Tensor::internal_softmax_backward_data(&dp, &p.tensor, 3, Kind::Float) * scale;
        let dq = ds.matmul(&k.tensor);
        let dk = ds.transpose(2, 3).matmul(&q.tensor);
        [dq, dk, dv].map(|grad| Some(TchTensor::new(grad)))
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, Tensor};

    use crate::fused::Dropout;
    use crate::fused::compare::check;

    /// Compares both for 5 keys, the last two of the first row masked if `padded`, and this number of queries.
    fn check_rate(rate: f64, padded: bool, n_queries: usize) {
        let (queries, keys) = ([2, 3, n_queries, 4], [2, 3, 5, 4]);
        let bias = |device: &Device| {
            let row = [0.0, 0.0, 0.0, -1e4, -1e4];
            let rows = Tensor::<2>::from_data([row, [0.0; 5]], &device.clone().inner());
            rows.reshape([2, 1, 1, 5])
        };
        check(
            &[queries.to_vec(), keys.to_vec(), keys.to_vec()],
            2e-5,
            |inputs, device| {
                let inputs = [(0, queries), (1, keys), (2, keys)]
                    .map(|(i, shape)| inputs[i].clone().reshape(shape));
                let probabilities = Dropout { rate, seed: 3 };
                crate::fused::attention(inputs, padded.then(|| bias(device)), probabilities)
            },
        );
    }

    #[test]
    fn libtorch_and_plain_agree_without_dropout() {
        check_rate(0.0, false, 5);
        check_rate(0.0, true, 5);
        check_rate(0.0, true, 3);
    }

    #[test]
    fn libtorch_and_plain_agree_with_dropout() {
        check_rate(0.2, false, 5);
        check_rate(0.2, true, 5);
        check_rate(0.2, true, 3);
    }
}
