//! LibTorch kernel: all steps in one node of the graph, through `projected_lstm.cpp`.

use std::os::raw::{c_char, c_double, c_int, c_void};
use std::ptr;
use std::sync::Arc;

use super::Clip;
use crate::fused::Precision;
use crate::fused::libtorch::Kernel;
use crate::fused::matmul::Matmul;
use crate::fused::shim::{check, handle, taken, written};
use burn::backend::libtorch::TchTensor;

unsafe extern "C" {
    fn totune_projected_lstm(
        inputs: *const *mut c_void,
        directions: c_int,
        in_place: c_int,
        running: *const i64,
        steps: i64,
        cell_bound: c_double,
        out_bound: c_double,
        way: c_int,
        out: *mut *mut c_void,
    ) -> *mut c_char;
    fn totune_projected_lstm_backward(
        inputs: *const *mut c_void,
        directions: c_int,
        running: *const i64,
        steps: i64,
        cell_bound: c_double,
        out_bound: c_double,
        way: c_int,
        wanted: *const c_int,
        out: *mut *mut c_void,
    ) -> *mut c_char;
}

/// Products, state weights and projection of one direction or of two to the outputs of all steps.
#[derive(Debug, Clone)]
pub struct ProjectedLstm {
    running: Arc<[i64]>,
    clip: Clip,
    matmul: Matmul,
}

impl ProjectedLstm {
    pub fn new(running: &[usize], clip: Clip, precision: Precision) -> Self {
        Self {
            running: running.iter().map(|&n| n as i64).collect(),
            clip,
            matmul: Matmul::of(precision),
        }
    }
}

impl<const N: usize> Kernel<N> for ProjectedLstm {
    /// Outputs, gates, cells and projections before clipping of each direction, the input of the projection, state
    /// weights, projection; at the end the outputs of all directions.
    type Saved = Vec<TchTensor>;

    fn forward(&self, inputs: [TchTensor; N]) -> (TchTensor, Self::Saved) {
        let directions = N / 3;
        // The gates take the products' place where nothing else reads those.
        let in_place = inputs.iter().step_by(3).all(TchTensor::can_mut);
        let handles = inputs.each_ref().map(|input| handle(&input.tensor));
        let mut out = vec![ptr::null_mut(); 1 + 5 * directions];
        // SAFETY: three live tensors of each direction, whose shapes fit one another and the steps; the callee writes a
        // new one into each place.
        let mut out = unsafe {
            check(totune_projected_lstm(
                handles.as_ptr(),
                directions as c_int,
                c_int::from(in_place),
                self.running.as_ptr(),
                self.running.len() as i64,
                self.clip.cell,
                self.clip.projection,
                self.matmul as c_int,
                out.as_mut_ptr(),
            ));
            taken(&out)
        }
        .into_iter()
        .flatten();
        let outputs = out.next().expect("always written");
        let mut saved = Vec::with_capacity(7 * directions);
        for own in inputs.chunks(3) {
            saved.extend(out.by_ref().take(5));
            saved.extend_from_slice(&own[1..]);
        }
        // The first of each direction's tensors lies in this one: as long as it is alive nothing writes to it.
        saved.push(outputs.clone());
        (outputs, saved)
    }

    fn backward(
        &self,
        saved: Self::Saved,
        grad: TchTensor,
        wanted: [bool; N],
    ) -> [Option<TchTensor>; N] {
        let mut inputs = vec![handle(&grad.tensor)];
        inputs.extend(saved.iter().map(|tensor| handle(&tensor.tensor)));
        let wanted = wanted.map(c_int::from);
        // SAFETY: the gradient and what the forward pass saved, all live; the callee writes a new tensor or nothing
        // into each place.
        unsafe {
            written(|out| {
                totune_projected_lstm_backward(
                    inputs.as_ptr(),
                    (N / 3) as c_int,
                    self.running.as_ptr(),
                    self.running.len() as i64,
                    self.clip.cell,
                    self.clip.projection,
                    self.matmul as c_int,
                    wanted.as_ptr(),
                    out,
                )
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, FloatDType, Tensor};

    use super::super::{Clip, Direction, projected_bilstm, projected_lstm, projected_lstm_from};
    use crate::fused::Precision;
    use crate::fused::compare::check;

    const RUNNING: [usize; 4] = [3, 3, 2, 1];
    const CELL: usize = 19;
    const WIDTH: usize = 5;

    fn shapes() -> Vec<Vec<usize>> {
        let rows = RUNNING.iter().sum();
        vec![
            vec![rows, 4 * CELL],
            vec![4 * CELL, WIDTH],
            vec![WIDTH, CELL],
        ]
    }

    fn lstm(inputs: &[Tensor<1>], running: &[usize], clip: Clip, plain: bool) -> Tensor<2> {
        let shapes = shapes();
        let [x, state, projection] = [0, 1, 2].map(|i| {
            let [rows, columns] = [shapes[i][0], shapes[i][1]];
            // Large enough that gates and bounds matter.
            inputs[i].clone().reshape([rows, columns]) * 2.0
        });
        if plain {
            let own = Direction {
                x,
                state,
                projection,
            };
            projected_lstm_from(own, running, clip, None).0
        } else {
            projected_lstm(x, state, projection, running, clip)
        }
    }

    #[test]
    fn libtorch_and_plain_agree_whatever_is_clipped() {
        for (cell, projection) in [
            (f64::INFINITY, f64::INFINITY),
            (0.5, f64::INFINITY),
            (f64::INFINITY, 0.7),
            (0.5, 0.7),
        ] {
            let clip = Clip { cell, projection };
            check(&shapes(), 1e-5, |inputs, _| {
                lstm(inputs, &RUNNING, clip, false)
            });
        }
    }

    #[test]
    fn most_sequences_may_end_at_once() {
        let clip = Clip {
            cell: 0.5,
            projection: 0.7,
        };
        let rows: usize = RUNNING.iter().sum();
        check(&shapes(), 1e-5, |inputs, _| {
            lstm(inputs, &[rows - 1, 1], clip, false)
        });
    }

    /// Two directions of 70 sequences and of one after another in `threads` shares, computed in `float`.
    #[track_caller]
    fn check_directions(
        (threads, float): (i32, FloatDType),
        clip: Clip,
        precision: Precision,
        tolerance: f32,
    ) {
        let running = [70, 70, 40, 3];
        let rows = running.iter().sum();
        let own = [[rows, 4 * CELL], [4 * CELL, WIDTH], [WIDTH, CELL]];
        let shapes: Vec<_> = own.iter().chain(&own).map(|shape| shape.to_vec()).collect();
        // In f32 large enough that gates and bounds matter; values rounded to 8 bits must not grow on their way.
        let scale = if precision == Precision::F32 {
            2.0
        } else {
            0.5
        };
        tch::set_num_threads(threads);
        check(&shapes, tolerance, |inputs, _| {
            let mut directions = inputs.chunks(3).map(|inputs| {
                let [x, state, projection] =
                    [0, 1, 2].map(|i| (inputs[i].clone().reshape(own[i]) * scale).cast(float));
                Direction {
                    x,
                    state,
                    projection,
                }
            });
            let mut next = || directions.next().expect("two directions");
            projected_bilstm([next(), next()], &running, clip, precision).cast(FloatDType::F32)
        });
    }

    #[test]
    fn two_directions_are_as_two_of_one_however_many_threads_share_them() {
        let clip = Clip {
            cell: 0.5,
            projection: 0.7,
        };
        for threads in [1, 2, 5] {
            check_directions((threads, FloatDType::F32), clip, Precision::F32, 1e-5);
        }
    }

    /// On a GPU both directions take a step together; on a CPU they do so in f64.
    #[test]
    fn two_directions_take_their_steps_together_as_on_a_gpu() {
        for (cell, projection) in [(f64::INFINITY, f64::INFINITY), (0.5, 0.7)] {
            let clip = Clip { cell, projection };
            check_directions((1, FloatDType::F64), clip, Precision::F32, 1e-5);
        }
    }

    /// Compares bfloat16 products with f32, on processors that multiply bfloat16 natively. Without clips, beyond which
    /// a gradient is zero and just within which it is not.
    #[test]
    fn bfloat16_is_near() {
        let clip = Clip {
            cell: f64::INFINITY,
            projection: f64::INFINITY,
        };
        check_directions((2, FloatDType::F32), clip, Precision::Bf16, 2e-2);
    }

    #[test]
    fn the_products_stay_as_they_are_where_they_are_read_again() {
        let clip = Clip {
            cell: 0.5,
            projection: 0.7,
        };
        let device = Device::libtorch();
        let [x, state, projection] = [0, 1, 2].map(|i| {
            let shape = &shapes()[i];
            let values = crate::fused::compare::values(shape[0] * shape[1], i as u64);
            let flat = Tensor::<1>::from_data(values.as_slice(), &device);
            flat.reshape([shape[0], shape[1]])
        });
        let run = || projected_lstm(x.clone(), state.clone(), projection.clone(), &RUNNING, clip);
        let (first, second) = (run(), run());
        let differ: f32 = (first - second).abs().max().into_scalar();
        assert_eq!(differ, 0.0);
    }
}
