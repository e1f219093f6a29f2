//! All steps in one node of the graph, through `projected_lstm.cpp`.

use std::os::raw::{c_char, c_double, c_int, c_void};
use std::ptr;
use std::sync::Arc;

use burn::backend::libtorch::TchTensor;
use tch::Tensor;

use super::Clip;
use crate::fused::libtorch::Kernel;
use crate::fused::shim::{check, handle};

unsafe extern "C" {
    fn totune_projected_lstm(
        inputs: *const *mut c_void,
        in_place: c_int,
        running: *const i64,
        steps: i64,
        cell_bound: c_double,
        out_bound: c_double,
        out: *mut *mut c_void,
    ) -> *mut c_char;
    fn totune_projected_lstm_backward(
        inputs: *const *mut c_void,
        running: *const i64,
        steps: i64,
        cell_bound: c_double,
        out_bound: c_double,
        wanted: *const c_int,
        out: *mut *mut c_void,
    ) -> *mut c_char;
}

/// Products, state weights and projection to the outputs of all steps.
#[derive(Debug, Clone)]
pub struct ProjectedLstm {
    running: Arc<[i64]>,
    clip: Clip,
}

impl ProjectedLstm {
    pub fn new(running: &[usize], clip: Clip) -> Self {
        Self {
            running: running.iter().map(|&n| n as i64).collect(),
            clip,
        }
    }
}

/// Outputs, gates, cells and projections before clipping, what was projected, state weights, projection.
type Saved = [TchTensor; 7];

impl Kernel<3> for ProjectedLstm {
    type Saved = Saved;

    fn forward(&self, [x, state, projection]: [TchTensor; 3]) -> (TchTensor, Saved) {
        // The gates take the products' place where nothing else reads those.
        let in_place = c_int::from(x.can_mut());
        let inputs = [&x.tensor, &state.tensor, &projection.tensor].map(handle);
        let mut out = [ptr::null_mut(); 5];
        // SAFETY: three live tensors whose shapes fit one another and the steps; the callee writes five new ones.
        let [outputs, gates, cells, raw, mixed] = unsafe {
            check(totune_projected_lstm(
                inputs.as_ptr(),
                in_place,
                self.running.as_ptr(),
                self.running.len() as i64,
                self.clip.cell,
                self.clip.projection,
                out.as_mut_ptr(),
            ));
            out.map(|tensor| TchTensor::new(Tensor::from_ptr(tensor.cast())))
        };
        let saved = [outputs.clone(), gates, cells, raw, mixed, state, projection];
        (outputs, saved)
    }

    fn backward(&self, saved: Saved, grad: TchTensor, wanted: [bool; 3]) -> [Option<TchTensor>; 3] {
        let mut inputs = vec![handle(&grad.tensor)];
        inputs.extend(saved.iter().map(|tensor| handle(&tensor.tensor)));
        let wanted = wanted.map(c_int::from);
        let mut out = [ptr::null_mut(); 3];
        // SAFETY: the gradient and what the forward pass saved, all live; the callee writes a new tensor or nothing into
        // each of three places.
        unsafe {
            check(totune_projected_lstm_backward(
                inputs.as_ptr(),
                self.running.as_ptr(),
                self.running.len() as i64,
                self.clip.cell,
                self.clip.projection,
                wanted.as_ptr(),
                out.as_mut_ptr(),
            ));
            out.map(|tensor| {
                (!tensor.is_null()).then(|| TchTensor::new(Tensor::from_ptr(tensor.cast())))
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, Tensor};

    use super::super::{Clip, projected_lstm, projected_lstm_from};
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
        match plain {
            true => projected_lstm_from(x, state, projection, running, clip, None).0,
            false => projected_lstm(x, state, projection, running, clip),
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
