//! L2-SP: a penalty on the distance from the pretrained weights (Li, Grandvalet and Davoine 2018, equation 2).

use std::collections::{BTreeMap, BTreeSet};

use burn::module::{Module, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor, TensorData};
use totune_model::{PathVisitor, visit_by_path};

use crate::parameters::copy;

/// Pretrained weights of an encoder, and the strength of the penalty.
pub(super) struct Pretrained {
    strength: f64,
    /// By path in the model, each as one row of numbers.
    values: BTreeMap<String, Tensor<1>>,
}

impl Pretrained {
    /// Copies the weights of an encoder that no edit has changed yet; `None` without a penalty.
    ///
    /// So parameters that an edit adds have no pretrained value, and those that it draws anew have the one before.
    pub fn of<M: Module>(encoder: &M, strength: f64, device: &Device) -> Option<Self> {
        if strength == 0.0 {
            return None;
        }
        // A copy: the optimizer changes weights in place.
        let values = copy(encoder, &|_| true).into_iter().map(|(path, data)| {
            let row = TensorData::from_bytes_vec(
                data.as_bytes().to_vec(),
                [data.num_elements()],
                data.dtype(),
            );
            (format!("encoder.{path}"), Tensor::from_data(row, device))
        });
        Some(Self {
            strength,
            values: values.collect(),
        })
    }

    /// Keeps only those that are `trained`.
    pub fn among(mut self, trained: &BTreeSet<String>) -> Self {
        self.values.retain(|path, _| trained.contains(path));
        self
    }

    /// Adds the gradient of the penalty, `strength (w - w0)`, to that of each parameter which has one.
    pub fn pull<M: Module>(&self, model: &M, gradients: &mut GradientsParams) {
        let pull = Pull {
            pretrained: self,
            gradients,
        };
        visit_by_path(model, pull);
    }
}

struct Pull<'a> {
    pretrained: &'a Pretrained,
    gradients: &'a mut GradientsParams,
}

impl PathVisitor for Pull<'_> {
    fn visit<const D: usize>(&mut self, path: &str, param: &Param<Tensor<D>>) {
        let Some(from) = self.pretrained.values.get(path) else {
            return;
        };
        if let Some(gradient) = self.gradients.remove::<D>(param.id) {
            let value = param.val().inner();
            let from = from.clone().reshape(value.shape());
            let pull = (value - from) * self.pretrained.strength;
            self.gradients.register(param.id, gradient + pull);
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::module::ModuleVisitor;
    use totune_model::{BertConfig, RandomWeights, Shape};

    use super::*;
    use crate::parameters::require_gradients;

    /// The gradient of the penalty is the derivative of `strength / 2 |w - w0|²`.
    #[test]
    fn the_gradient_is_that_of_half_the_squared_distance() {
        let shape: BertConfig = serde_json::from_str(
            r#"{"vocab_size":4,"hidden_size":4,"num_hidden_layers":1,"num_attention_heads":2,"intermediate_size":4,
               "max_position_embeddings":4,"type_vocab_size":0,"layer_norm_eps":1e-12,"hidden_dropout_prob":0.0,
               "attention_probs_dropout_prob":0.0,"pooler":"none"}"#,
        )
        .expect("a shape");
        #[derive(Module, Debug)]
        struct Model {
            encoder: totune_model::Bert,
        }
        let device = Device::flex();
        let load = |seed| Model {
            encoder: shape
                .load(&mut RandomWeights::new(seed, 0.3), &device)
                .expect("random weights"),
        };
        let (start, moved) = (load(1).train(), load(2).train());
        let trained: BTreeSet<String> = ["encoder.layers.0.attention.query.weight".into()].into();
        let pretrained = Pretrained::of(&start.encoder, 0.5, &device).expect("a penalty");
        let pretrained = pretrained.among(&trained);
        let (before, after) = (copy(&start, &|_| true), copy(&moved, &|_| true));

        // A loss whose gradient is one everywhere: the sum of the weights.
        let model = require_gradients(moved, &|path| trained.contains(path));
        let mut sum = Sum(Vec::new());
        model.visit(&mut sum);
        let loss = sum.0.into_iter().reduce(|a, b| a + b).expect("parameters");
        let mut gradients = GradientsParams::from_grads(loss.backward(), &model);
        pretrained.pull(&model, &mut gradients);
        let mut found = Found {
            gradients: &gradients,
            values: Vec::new(),
        };
        model.visit(&mut found);

        let path = trained.first().expect("one");
        let floats = |data: &TensorData| data.try_to_vec::<f32>().expect("f32");
        let pairs = floats(&after[path]).into_iter().zip(floats(&before[path]));
        let expected: Vec<f32> = pairs.map(|(w, w0)| 1.0 + 0.5 * (w - w0)).collect();
        assert_eq!(found.values.len(), expected.len());
        for (found, expected) in found.values.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
    }

    struct Sum(Vec<Tensor<1>>);

    impl ModuleVisitor for Sum {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if param.val().is_require_grad() {
                self.0.push(param.val().sum());
            }
        }
    }

    struct Found<'a> {
        gradients: &'a GradientsParams,
        values: Vec<f32>,
    }

    impl ModuleVisitor for Found<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if let Some(gradient) = self.gradients.get::<D>(param.id) {
                let data = gradient.into_data();
                self.values.extend(data.try_to_vec::<f32>().expect("f32"));
            }
        }
    }
}
