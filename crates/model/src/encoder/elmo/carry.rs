//! LSTM states carried over from one batch to the next.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use burn::tensor::{Device, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::order::indices;
use crate::fused::Memory;

/// Initial LSTM state of each batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LstmState {
    /// Zero state: the states of a sentence depend only on that sentence.
    #[default]
    Reset,
    /// Final state of the batch before, as in the released code: the states of a sentence depend on all sentences read
    /// before it, in that order.
    Carry,
}

impl LstmState {
    /// Returns true if each batch starts from the zero state.
    pub fn is_reset(&self) -> bool {
        *self == Self::Reset
    }
}

/// Final states of the batches so far, by layer and direction; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Carried(Arc<Mutex<Vec<[Option<Memory>; 2]>>>);

impl Carried {
    fn slots(&self) -> MutexGuard<'_, Vec<[Option<Memory>; 2]>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resets all states to zero.
    pub fn clear(&self) {
        self.slots().clear();
    }

    /// Copies all states, by layer, direction, and `state` or `cell`.
    pub fn copy(&self) -> BTreeMap<String, TensorData> {
        let mut copies = BTreeMap::new();
        for (layer, both) in self.slots().iter().enumerate() {
            for (direction, memory) in both.iter().enumerate() {
                let Some(memory) = memory else { continue };
                for (name, tensor) in [("state", &memory.state), ("cell", &memory.cell)] {
                    let name = format!("{layer}.{direction}.{name}");
                    copies.insert(name, tensor.clone().into_data());
                }
            }
        }
        copies
    }

    /// Sets all states of `layers` layers to such copies.
    pub fn set(&self, mut copies: BTreeMap<String, TensorData>, layers: usize, device: &Device) {
        let mut take = |layer, direction, name| {
            let data = copies.remove(&format!("{layer}.{direction}.{name}"))?;
            Some(Tensor::from_data(data, device))
        };
        let mut memory = |layer, direction| {
            let state = take(layer, direction, "state")?;
            let cell = take(layer, direction, "cell")?;
            Some(Memory { state, cell })
        };
        let both = |layer| [0, 1].map(|direction| memory(layer, direction));
        *self.slots() = (0..layers).map(both).collect();
    }

    /// Initial states of the sentences with these numbers, one row each; none before the first batch.
    pub fn get(&self, layer: usize, direction: usize, sentences: &[usize]) -> Option<Memory> {
        let slots = self.slots();
        let memory = slots.get(layer)?[direction].as_ref()?;
        let rows: Vec<i64> = sentences.iter().map(|&i| i as i64).collect();
        let most = sentences.iter().max().map_or(0, |&i| i + 1);
        let take = |t: &Tensor<2>| {
            let t = padded(t.clone(), most);
            let rows = indices(&rows, &t.device());
            t.select(0, rows)
        };
        Some(Memory {
            state: take(&memory.state),
            cell: take(&memory.cell),
        })
    }

    /// Stores the final states of the sentences with these numbers; the stored states of other sentences stay.
    pub fn put(&self, layer: usize, direction: usize, sentences: &[usize], after: Memory) {
        let mut slots = self.slots();
        if slots.len() <= layer {
            slots.resize_with(layer + 1, Default::default);
        }
        let most = sentences.iter().max().map_or(0, |&i| i + 1);
        let slot = &mut slots[layer][direction];
        let before = slot.take();
        let merge = |before: Option<Tensor<2>>, after: Tensor<2>| {
            let after = after.inner();
            let [_, width] = after.dims();
            let before = match before {
                Some(before) => padded(before, most),
                None => Tensor::zeros([most, width], &after.device()),
            };
            let kept = before.dims()[0];
            // Stored rows, then new rows; each sentence takes its newest.
            let mut newest: Vec<i64> = (0..kept as i64).collect();
            for (k, &i) in sentences.iter().enumerate() {
                newest[i] = (kept + k) as i64;
            }
            let rows = Tensor::cat(vec![before, after], 0);
            let newest = indices(&newest, &rows.device());
            rows.select(0, newest)
        };
        let (state, cell) = before.map(|m| (m.state, m.cell)).unzip();
        *slot = Some(Memory {
            state: merge(state, after.state),
            cell: merge(cell, after.cell),
        });
    }
}

/// Pads `t` with zero rows to at least `rows` rows.
fn padded(t: Tensor<2>, rows: usize) -> Tensor<2> {
    let [n, width] = t.dims();
    if n >= rows {
        return t;
    }
    let device = t.device();
    Tensor::cat(vec![t, Tensor::zeros([rows - n, width], &device)], 0)
}
