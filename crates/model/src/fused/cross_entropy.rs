//! Softmax cross-entropy, the mean over a batch.

use burn::tensor::activation::log_softmax;
use burn::tensor::{Int, Tensor};

/// `-mean(log softmax(logits)[target])` for `logits` `[batch, labels]` and `targets` `[batch]`; gives `[1]`.
pub fn cross_entropy(logits: Tensor<2>, targets: Tensor<1, Int>) -> Tensor<1> {
    #[cfg(feature = "tch")]
    if super::libtorch::owns(&logits.device()) {
        let targets = super::libtorch::held_int(&targets);
        return super::libtorch::apply(kernel::CrossEntropy { targets }, [logits.into()]);
    }
    plain(logits, targets)
}

fn plain(logits: Tensor<2>, targets: Tensor<1, Int>) -> Tensor<1> {
    let log_p = log_softmax(logits, 1); // [batch, labels]
    log_p.gather(1, targets.unsqueeze_dim(1)).mean().neg()
}

#[cfg(feature = "tch")]
mod kernel {
    use burn::backend::libtorch::TchTensor;
    use tch::Kind;

    use crate::fused::libtorch::Kernel;

    #[derive(Debug, Clone)]
    pub struct CrossEntropy {
        pub targets: TchTensor,
    }

    impl Kernel<1> for CrossEntropy {
        type Saved = TchTensor;

        fn forward(&self, [logits]: [TchTensor; 1]) -> (TchTensor, TchTensor) {
            let log_p = logits.tensor.log_softmax(1, None::<Kind>); // [batch, labels]
            let picked = log_p.gather(1, &self.targets.tensor.unsqueeze(1), false);
            let loss = -picked.mean(None::<Kind>).view([1]);
            (TchTensor::new(loss), TchTensor::new(log_p))
        }

        /// `(softmax(logits) - onehot(target)) / batch`.
        fn backward(
            &self,
            log_p: TchTensor,
            grad: TchTensor,
            _: [bool; 1],
        ) -> [Option<TchTensor>; 1] {
            let p = log_p.tensor.exp();
            let minus_one = -p.slice(1, 0, 1, 1).ones_like();
            let targets = self.targets.tensor.unsqueeze(1);
            let dlogits = p.scatter_add(1, &targets, &minus_one);
            let batch = log_p.tensor.size()[0] as f64;
            [Some(TchTensor::new(dlogits * (grad.tensor / batch)))]
        }
    }

    #[cfg(test)]
    mod tests {
        use burn::tensor::Tensor;

        use crate::fused::compare::check;

        #[test]
        fn libtorch_and_plain_agree() {
            check(&[vec![4, 3]], 1e-6, |inputs, device| {
                let targets = Tensor::from_data([0i64, 2, 1, 2], device);
                super::super::cross_entropy(inputs[0].clone().reshape([4, 3]), targets)
            });
        }
    }
}
