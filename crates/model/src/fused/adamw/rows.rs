//! AdamW's update of those rows of a table that a step reads (`rows.cpp`).
//!
//! A step changes all rows: their moments shrink, and weights decay. A row that it does not read takes the step later, when it
//! is read again, by the same arithmetic and in the same order.

use std::os::raw::{c_char, c_void};
use std::ptr;

use burn::tensor::Tensor;

use crate::fused::libtorch::{owns_in_main_memory, raw};
use crate::fused::shim::{check, handle};

unsafe extern "C" {
    fn totune_adamw_rows(
        tensors: *const *mut c_void,
        grad: *mut c_void,
        rows: *const i64,
        n_rows: i64,
        taken: *mut i32,
        steps: *const StepNumbers,
        n_steps: i64,
        constants: *const Constants,
    ) -> *mut c_char;
}

/// The numbers of a step that are the same for a whole table.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct StepNumbers {
    /// Factor of a weight.
    pub decay: f32,
    /// Factor of the first moment: minus the learning rate, corrected for bias.
    pub size: f32,
    /// Divisor of the root of the second moment.
    pub root: f32,
}

/// The numbers of an optimiser, as the C++ takes them.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Constants {
    pub keep_second: f32,
    pub add_second: f32,
    pub add_first: f32,
    pub epsilon: f32,
}

/// Returns true if the C++ can update rows of a table.
pub(super) fn are_updated(table: &Tensor<2>) -> bool {
    owns_in_main_memory(&table.device()) && {
        let table = raw(table);
        table.kind() == tch::Kind::Float && table.is_contiguous()
    }
}

/// A table of which steps update some rows.
#[derive(Debug)]
pub(super) struct RowUpdates {
    /// The table and its two moments, `[rows, width]` each; they share their memory with the parameter and its state.
    tensors: [tch::Tensor; 3],
    constants: Constants,
    /// The steps since all rows had taken the same number of them.
    steps: Vec<StepNumbers>,
    /// Number of these that each row has taken.
    taken: Vec<i32>,
    /// Rows of the next gradient.
    selected: Vec<i64>,
}

impl RowUpdates {
    pub fn new(tensors: [tch::Tensor; 3], constants: Constants) -> Self {
        let rows = usize::try_from(tensors[0].size()[0]).unwrap_or(0);
        Self {
            tensors,
            constants,
            steps: Vec::new(),
            taken: vec![0; rows],
            selected: Vec::new(),
        }
    }

    /// Returns a copy of these rows, `[rows, width]`, with all steps taken; the next gradient is theirs.
    pub fn select(&mut self, rows: Vec<i64>) -> tch::Tensor {
        self.call(Some(&rows), None);
        let copy = self.tensors[0].index_select(0, &tch::Tensor::from_slice(&rows));
        self.selected = rows;
        copy
    }

    /// Takes a step with the gradient of the selected rows, `[rows, width]`.
    pub fn step(&mut self, grad: &tch::Tensor, step: StepNumbers) {
        self.steps.push(step);
        let rows = std::mem::take(&mut self.selected);
        self.call(Some(&rows), Some(grad));
    }

    /// Lets all rows take all steps.
    pub fn settle(mut self) {
        self.call(None, None);
    }

    pub fn is_settled(&self) -> bool {
        self.steps.is_empty()
    }

    fn call(&mut self, rows: Option<&[i64]>, grad: Option<&tch::Tensor>) {
        let tensors = self.tensors.each_ref().map(handle);
        let n_rows = rows.map_or(self.taken.len(), <[i64]>::len);
        // SAFETY: live tensors, `n_rows` rows, which are checked, a number of steps for each row of the table, and the steps.
        unsafe {
            check(totune_adamw_rows(
                tensors.as_ptr(),
                grad.map_or(ptr::null_mut(), handle),
                rows.map_or(ptr::null(), <[i64]>::as_ptr),
                n_rows as i64,
                self.taken.as_mut_ptr(),
                self.steps.as_ptr(),
                self.steps.len() as i64,
                &self.constants,
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::module::{Module, Param};
    use burn::optim::GradientsParams;
    use burn::tensor::{Device, Tensor, TensorData};

    use crate::fused::compare::values;
    use crate::fused::{AdamW, AdamWConfig, Rate};

    const ROWS: usize = 40;
    /// Neither a multiple of the lanes nor less than them.
    const WIDTH: usize = 37;

    #[derive(Module, Debug)]
    struct Table {
        table: Param<Tensor<2>>,
    }

    fn table(numbers: Vec<f32>, device: &Device) -> Table {
        let n = numbers.len() / WIDTH;
        let numbers = TensorData::new(numbers, [n, WIDTH]);
        Table {
            table: Param::from_tensor(Tensor::from_data(numbers, device).require_grad()),
        }
    }

    fn numbers(table: &Table) -> Vec<f32> {
        table.table.val().inner().into_data().iter().collect()
    }

    fn is_close(found: &[f32], expected: &[f32], what: &str) {
        assert_eq!(found.len(), expected.len(), "{what}");
        for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
            let apart = (found - expected).abs();
            assert!(
                apart <= 2e-6 * expected.abs().max(1e-3),
                "{what}, number {i}: {found}, expected {expected}"
            );
        }
    }

    /// The rows of a step: two that all have, one that few have, and one that the first and the last have; rows from 31 on have
    /// none.
    fn rows(step: usize, steps: usize) -> Vec<i64> {
        let mut rows = vec![0, 3, 5 + (step * step % 23) as i64];
        rows.extend((step == 0 || step + 1 == steps).then_some(30));
        rows
    }

    /// Steps with gradients of some rows, and of whole tables that are zero elsewhere, at rates that change.
    fn check(config: &AdamWConfig, weight_decay: f64, steps: usize) {
        let device = Device::libtorch().autodiff();
        let start = values(ROWS * WIDTH, 1);
        let (mut some, mut whole) = (table(start.clone(), &device), table(start, &device));
        let (mut by_rows, mut by_table) = (AdamW::new(config), AdamW::new(config));
        for step in 0..steps {
            let rows = rows(step, steps);
            let rate = Rate {
                lr: 1e-2 / (1.0 + step as f64),
                weight_decay,
            };
            let gradient = values(rows.len() * WIDTH, 7 + step as u64);
            let selected = by_rows.select_rows(&some.table, rows.clone());
            let read: Vec<f32> = selected.expect("on the CPU").into_data().iter().collect();
            let all = numbers(&whole);
            let rows_of = |numbers: &[f32]| -> Vec<f32> {
                let row = |&row: &i64| numbers[row as usize * WIDTH..][..WIDTH].to_vec();
                rows.iter().flat_map(row).collect()
            };
            is_close(&read, &rows_of(&all), "rows before a step");

            let mut full = vec![0.0; ROWS * WIDTH];
            for (row, numbers) in rows.iter().zip(gradient.chunks(WIDTH)) {
                full[*row as usize * WIDTH..][..WIDTH].copy_from_slice(numbers);
            }
            let given = |numbers: Vec<f32>, table: &Table| {
                let shape = [numbers.len() / WIDTH, WIDTH];
                let numbers = TensorData::new(numbers, shape);
                let mut grads = GradientsParams::new();
                grads.register::<2>(
                    table.table.id,
                    Tensor::from_data(numbers, &Device::libtorch()),
                );
                grads
            };
            let (grads, full) = (given(gradient, &some), given(full, &whole));
            some = by_rows.step(some, grads, &|_| Some(rate));
            whole = by_table.step(whole, full, &|_| Some(rate));
        }
        by_rows.settle();
        is_close(&numbers(&some), &numbers(&whole), "the table");
        let (found, expected) = (by_rows.state(&some), by_table.state(&whole));
        let (found, expected) = (&found["table"], &expected["table"]);
        assert_eq!(found.steps, expected.steps);
        for (what, found, expected) in [
            ("first moments", &found.first, &expected.first),
            ("second moments", &found.second, &expected.second),
        ] {
            let [found, expected] =
                [found, expected].map(|data| data.iter::<f32>().collect::<Vec<_>>());
            is_close(&found, &expected, what);
        }
    }

    fn config(bias_correction: bool) -> AdamWConfig {
        AdamWConfig {
            beta_1: 0.9,
            beta_2: 0.999,
            epsilon: 1e-8,
            bias_correction,
        }
    }

    #[test]
    fn rows_move_as_those_of_a_whole_table_do() {
        check(&config(true), 0.01, 60);
        check(&config(true), 0.0, 60);
        check(&config(false), 0.01, 60);
        let of_few_steps = AdamWConfig {
            beta_1: 0.3,
            ..config(true)
        };
        check(&of_few_steps, 0.01, 60);
    }

    /// Long enough for first moments to end at zero.
    #[test]
    fn a_row_that_is_not_read_for_a_thousand_steps_moves_as_in_a_whole_table() {
        check(&config(true), 0.01, 1200);
    }

    #[test]
    #[should_panic(expected = "rows of a table lack steps")]
    fn a_state_that_lacks_steps_is_not_given() {
        let device = Device::libtorch().autodiff();
        let table = table(vec![1.0; ROWS * WIDTH], &device);
        let mut optimizer = AdamW::new(&config(true));
        optimizer
            .select_rows(&table.table, vec![1])
            .expect("on the CPU");
        let mut grads = GradientsParams::new();
        grads.register::<2>(
            table.table.id,
            Tensor::ones([1, WIDTH], &Device::libtorch()),
        );
        let rate = Rate {
            lr: 0.1,
            weight_decay: 0.0,
        };
        let table = optimizer.step(table, grads, &|_| Some(rate));
        optimizer.state(&table);
    }
}
