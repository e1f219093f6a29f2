//! Scaled dot-product attention with dropout on the probabilities, as in BERT.

use burn::tensor::Tensor;
use burn::tensor::activation::softmax;

use super::{Dropout, dropout};

/// `dropout(softmax(q kᵀ / sqrt(head_dim) + bias)) v`.
///
/// `q` and the result are `[batch, heads, seq, head_dim]`, `k` and `v` `[batch, heads, keys, head_dim]`; `bias` is
/// `[batch, 1, 1, keys]` or `[batch, 1, seq, keys]`, zero for keys that are seen and very negative for others. It gets no
/// gradient.
pub fn attention(
    [q, k, v]: [Tensor<4>; 3],
    bias: Option<Tensor<4>>,
    probabilities: Dropout,
) -> Tensor<4> {
    #[cfg(feature = "tch")]
    if super::libtorch::owns(&q.device()) {
        let Dropout { rate, seed } = probabilities;
        let bias = bias.map(|bias| kernel::shared(&bias));
        let inputs = [q.into(), k.into(), v.into()];
        return if rate == 0.0 && kernel::on_cpu(&inputs) {
            super::libtorch::apply(kernel::Flash { bias }, inputs)
        } else {
            super::libtorch::apply(kernel::Dropped { bias, rate, seed }, inputs)
        };
    }
    plain([q, k, v], bias, probabilities)
}

fn plain(
    [q, k, v]: [Tensor<4>; 3],
    bias: Option<Tensor<4>>,
    Dropout { rate, seed }: Dropout,
) -> Tensor<4> {
    let [.., head_dim] = q.dims();
    let mut scores = q.matmul(k.swap_dims(2, 3)) * (head_dim as f64).powf(-0.5); // [batch, heads, seq, keys]
    if let Some(bias) = bias {
        scores = scores + bias;
    }
    let p = softmax(scores, 3);
    let p = if rate == 0.0 {
        p
    } else {
        dropout::plain(p, rate, seed)
    };
    p.matmul(v)
}

#[cfg(feature = "tch")]
mod kernel {
    use burn::backend::libtorch::TchTensor;
    use burn::tensor::Tensor as BurnTensor;
    use tch::{Kind, Tensor};

    use crate::fused::dropout::dropped;
    use crate::fused::libtorch::{Input, Kernel, raw};

    /// Returns true if the flash kernels for CPU can run; CUDA takes the explicit products.
    pub fn on_cpu(inputs: &[Input; 3]) -> bool {
        inputs[0].on_cpu()
    }

    pub fn shared(bias: &BurnTensor<4>) -> TchTensor {
        TchTensor::new(raw(bias))
    }

    /// Attention without dropout: LibTorch's flash kernels on CPU.
    #[derive(Debug, Clone)]
    pub struct Flash {
        pub bias: Option<TchTensor>,
    }

    impl Flash {
        /// The bias for every query, as the kernel wants it: `[batch, 1, seq, keys]`, a view.
        fn mask(&self, q: &Tensor, k: &Tensor) -> Option<Tensor> {
            let (batch, seq, keys) = (q.size()[0], q.size()[2], k.size()[2]);
            self.bias
                .as_ref()
                .map(|bias| bias.tensor.expand([batch, 1, seq, keys], false))
        }
    }

    impl Kernel<3> for Flash {
        /// q, k, v, the result and the log of each row's normaliser.
        type Saved = [TchTensor; 5];

        fn forward(&self, [q, k, v]: [TchTensor; 3]) -> (TchTensor, Self::Saved) {
            let mask = self.mask(&q.tensor, &k.tensor);
            let (out, log_sum) = Tensor::internal_scaled_dot_product_flash_attention_for_cpu(
                &q.tensor, &k.tensor, &v.tensor, 0.0, false, mask, None,
            );
            let out = TchTensor::new(out);
            (out.clone(), [q, k, v, out, TchTensor::new(log_sum)])
        }

        fn backward(
            &self,
            [q, k, v, out, log_sum]: Self::Saved,
            grad: TchTensor,
            _: [bool; 3],
        ) -> [Option<TchTensor>; 3] {
            let mask = self.mask(&q.tensor, &k.tensor);
            let (dq, dk, dv) = Tensor::internal_scaled_dot_product_flash_attention_for_cpu_backward(
                &grad.tensor,
                &q.tensor,
                &k.tensor,
                &v.tensor,
                &out.tensor,
                &log_sum.tensor,
                0.0,
                false,
                mask,
                None,
            );
            [dq, dk, dv].map(|grad| Some(TchTensor::new(grad)))
        }
    }

    /// Attention with dropout (or on CUDA): the probabilities are stored, the mask is recomputed from its seed.
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
            [q, k, v, p]: Self::Saved,
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
                    super::super::attention(inputs, padded.then(|| bias(device)), probabilities)
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
}
