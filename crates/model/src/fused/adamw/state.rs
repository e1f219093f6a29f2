//! Optimizer state as plain numbers by parameter path, for files.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use burn::module::{Module, Param};
use burn::tensor::{Tensor, TensorData};

use super::{AdamW, AdamWConfig, Moments};
use crate::by_path::{PathVisitor, visit_by_path};

/// Optimizer state of one parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterMoments {
    /// The moving average of the gradient, of the parameter's shape.
    pub first: TensorData,
    /// The moving average of the squared gradient, of the parameter's shape.
    pub second: TensorData,
    /// Number of steps taken by this parameter.
    pub steps: i32,
}

impl AdamW {
    /// Returns the state of each parameter of `module` that has taken a step, by path.
    ///
    /// The numbers are copies: later steps do not change them.
    ///
    /// # Panics
    /// When rows of a table lack steps: [`AdamW::settle`] comes first.
    pub fn state<M: Module>(&self, module: &M) -> BTreeMap<String, ParameterMoments> {
        #[cfg(feature = "tch")]
        assert!(
            self.rows.values().all(super::rows::RowUpdates::is_settled),
            "rows of a table lack steps"
        );
        let read = Read {
            optimizer: self,
            state: BTreeMap::new(),
        };
        visit_by_path(module, read).state
    }

    /// Resumes an optimiser from `state`, as [`AdamW::state`] returned it for such a module.
    ///
    /// # Errors
    /// When a parameter of that path does not exist or has another shape.
    pub fn resume<M: Module>(
        config: &AdamWConfig,
        module: &M,
        state: BTreeMap<String, ParameterMoments>,
    ) -> Result<Self> {
        let write = Write {
            optimizer: Self::new(config),
            state,
            wrong: None,
        };
        let write = visit_by_path(module, write);
        if let Some(wrong) = write.wrong {
            return Err(wrong);
        }
        let left = write.state.keys().next();
        ensure!(
            left.is_none(),
            "optimizer state: found `{}`, which is no parameter of this model",
            left.map_or("", String::as_str)
        );
        Ok(write.optimizer)
    }
}

struct Read<'a> {
    optimizer: &'a AdamW,
    state: BTreeMap<String, ParameterMoments>,
}

impl PathVisitor for Read<'_> {
    fn visit<const D: usize>(&mut self, path: &str, param: &Param<Tensor<D>>) {
        let Some(moments) = self.optimizer.moments.get(&param.id) else {
            return;
        };
        let moments: &Moments<D> = moments.downcast_ref().expect("a parameter keeps its rank");
        self.state.insert(
            path.to_string(),
            ParameterMoments {
                first: copied(&moments.first),
                second: copied(&moments.second),
                steps: moments.steps,
            },
        );
    }
}

/// Copies the numbers of a tensor: those of [`Tensor::into_data`] may share memory with the tensor, which the next step
/// changes.
fn copied<const D: usize>(tensor: &Tensor<D>) -> TensorData {
    let data = tensor.clone().into_data();
    TensorData::from_bytes_vec(data.as_bytes().to_vec(), data.shape().clone(), data.dtype())
}

struct Write {
    optimizer: AdamW,
    state: BTreeMap<String, ParameterMoments>,
    wrong: Option<anyhow::Error>,
}

impl PathVisitor for Write {
    fn visit<const D: usize>(&mut self, path: &str, param: &Param<Tensor<D>>) {
        let Some(state) = self.state.remove(path) else {
            return;
        };
        let value = param.val().inner();
        let read = |data: TensorData| {
            let (found, expected) = (data.shape().to_vec(), value.dims().to_vec());
            ensure!(
                found == expected,
                "optimizer state: `{path}` has shape {found:?}, expected {expected:?}"
            );
            Ok(Tensor::<D>::from_data(data, &value.device()))
        };
        match read(state.first).and_then(|first| Ok((first, read(state.second)?))) {
            Ok((first, second)) => {
                let steps = state.steps;
                let moments = Moments::<D> {
                    first,
                    second,
                    steps,
                };
                self.optimizer.moments.insert(param.id, Box::new(moments));
            }
            Err(error) => self.wrong = self.wrong.take().or(Some(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fused::Rate;
    use burn::module::Module;
    use burn::optim::GradientsParams;
    use burn::tensor::Device;

    #[derive(Module, Debug)]
    struct Line {
        slope: Param<Tensor<2>>,
        shift: Param<Tensor<1>>,
    }

    fn line(device: &Device) -> Line {
        let device = device.clone().autodiff();
        Line {
            slope: Param::from_tensor(Tensor::from_data([[1.0f32, -2.0]], &device).require_grad()),
            shift: Param::from_tensor(Tensor::from_data([0.5f32], &device).require_grad()),
        }
    }

    fn config() -> AdamWConfig {
        AdamWConfig {
            beta_1: 0.9,
            beta_2: 0.99,
            epsilon: 1e-8,
            bias_correction: true,
        }
    }

    fn step(line: Line, optimizer: &mut AdamW, x: f32) -> Line {
        let loss = (line.slope.val() * x + line.shift.val().unsqueeze::<2>())
            .square()
            .sum();
        let grads = GradientsParams::from_grads(loss.backward(), &line);
        let rate = Rate {
            lr: 0.1,
            weight_decay: 0.01,
        };
        optimizer.step(line, grads, &|_| Some(rate))
    }

    fn numbers(line: &Line) -> Vec<f32> {
        let slope = line.slope.val().inner().into_data();
        let shift = line.shift.val().inner().into_data();
        slope.iter::<f32>().chain(shift.iter::<f32>()).collect()
    }

    fn check_resuming(device: &Device) {
        let mut optimizer = AdamW::new(&config());
        let mut straight = line(device);
        for x in [1.0, 2.0, -1.0] {
            straight = step(straight, &mut optimizer, x);
        }
        let state = optimizer.state(&straight);
        assert_eq!(
            state.keys().collect::<Vec<_>>(),
            ["shift", "slope"],
            "by path"
        );
        let stopped = numbers(&straight);
        straight = step(straight, &mut optimizer, 3.0);

        let resumed = {
            let at = device.clone().autodiff();
            Line {
                slope: Param::from_tensor(
                    Tensor::from_data([[stopped[0], stopped[1]]], &at).require_grad(),
                ),
                shift: Param::from_tensor(Tensor::from_data([stopped[2]], &at).require_grad()),
            }
        };
        let mut optimizer = AdamW::resume(&config(), &resumed, state).expect("the same shapes");
        let resumed = step(resumed, &mut optimizer, 3.0);
        assert_eq!(numbers(&resumed), numbers(&straight), "bit for bit");
    }

    #[test]
    fn an_optimizer_goes_on_from_its_state_bit_for_bit() {
        check_resuming(&Device::flex());
        #[cfg(feature = "tch")]
        check_resuming(&Device::libtorch());
    }

    #[cfg(feature = "tch")]
    #[test]
    fn moments_without_a_gradient_end_at_zero() {
        let mut optimizer = AdamW::new(&config());
        let mut line = step(line(&Device::libtorch()), &mut optimizer, 1.0);
        // 0.9 to the power of 1,000 is below the smallest f32, to which rounding would keep them close.
        for _ in 0..1000 {
            line = step(line, &mut optimizer, 0.0);
        }
        let first = optimizer.state(&line)["slope"].first.clone();
        assert_eq!(first.try_to_vec::<f32>().expect("f32"), [0.0, 0.0]);
    }

    /// A matrix whose gradient comes transposed, after three steps.
    fn transposed(device: &Device) -> Vec<f32> {
        #[derive(Module, Debug)]
        struct Matrix {
            weight: Param<Tensor<2>>,
        }
        let device = device.clone().autodiff();
        let at = |factor: f32| {
            let numbers = (0..6).map(|i| factor * (i * i) as f32);
            Tensor::<1>::from_data(numbers.collect::<Vec<_>>().as_slice(), &device)
        };
        let mut matrix = Matrix {
            weight: Param::from_tensor(at(0.1).reshape([2, 3]).require_grad()),
        };
        let mut optimizer = AdamW::new(&config());
        for factor in [1.0, -3.0, 0.5] {
            let wanted = at(factor).reshape([3, 2]);
            let loss = (matrix.weight.val().transpose() - wanted).square().sum();
            let grads = GradientsParams::from_grads(loss.backward(), &matrix);
            let rate = Rate {
                lr: 0.1,
                weight_decay: 0.01,
            };
            matrix = optimizer.step(matrix, grads, &|_| Some(rate));
        }
        matrix.weight.val().inner().into_data().iter().collect()
    }

    #[test]
    #[cfg(feature = "tch")]
    fn gradients_may_be_laid_out_otherwise_than_their_parameters() {
        let expected = transposed(&Device::flex());
        for device in [vec![Device::libtorch()], crate::fused::cuda_devices()].concat() {
            for (i, (found, expected)) in transposed(&device).iter().zip(&expected).enumerate() {
                assert!(
                    (found - expected).abs() < 1e-5,
                    "{device:?}, number {i}: {found}, expected {expected}"
                );
            }
        }
    }

    #[test]
    fn a_state_of_another_model_is_refused_by_name() {
        let line = line(&Device::flex());
        let moments = |values: Vec<f32>| ParameterMoments {
            first: TensorData::new(values.clone(), [values.len()]),
            second: TensorData::new(values.clone(), [values.len()]),
            steps: 1,
        };
        let resume = |name: &str, values: Vec<f32>| {
            let state = BTreeMap::from([(name.to_string(), moments(values))]);
            let error = AdamW::resume(&config(), &line, state).expect_err("another model");
            format!("{error:#}")
        };
        assert!(resume("other", vec![0.0]).contains("`other`"));
        let message = resume("shift", vec![0.0, 1.0]);
        assert!(
            message.contains("`shift` has shape [2], expected [1]"),
            "{message}"
        );
    }
}
