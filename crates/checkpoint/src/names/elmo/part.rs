//! Changes to ELMo's stored numbers before a network computes with them.

use crate::Tensor;
use crate::names::transposed;

/// A part of a stored tensor, and its change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TensorPart {
    /// `[1, width, dim, n]` to `[n, dim, width]`.
    Filters,
    /// The negative.
    Negated,
    /// The negative of the transpose.
    NegatedTransposed,
    /// Rows of `W_0` from `first` on, transposed, gates reordered.
    Gates { first: usize, rows: usize },
    /// `B` with gates reordered and 1 added to the forget gate's.
    GateBias,
}

/// The index of each of PyTorch's gates (input, forget, candidate, output) among TensorFlow's (input, candidate,
/// forget, output).
const GATES: [usize; 4] = [0, 2, 1, 3];
/// The forget gate among PyTorch's.
const FORGET: usize = 1;

impl TensorPart {
    pub(in crate::names) fn apply(self, tensor: &Tensor) -> Tensor {
        let negated = |tensor: Tensor| Tensor {
            values: tensor.values.iter().map(|value| -value).collect(),
            ..tensor
        };
        match self {
            Self::Negated => negated(tensor.clone()),
            Self::NegatedTransposed => negated(transposed(tensor)),
            Self::Filters => {
                let &[_, width, dim, n] = &tensor.shape[..] else {
                    unreachable!("checked when the name was mapped");
                };
                let at = |k: usize, d: usize, w: usize| tensor.values[(w * dim + d) * n + k];
                let values = (0..n)
                    .flat_map(|k| (0..dim).map(move |d| (k, d)))
                    .flat_map(|(k, d)| (0..width).map(move |w| at(k, d, w)))
                    .collect();
                Tensor {
                    shape: vec![n, dim, width],
                    values,
                }
            }
            Self::Gates { first, rows } => {
                let columns = tensor.shape[1];
                let cell = columns / 4;
                let values = GATES
                    .iter()
                    .flat_map(|gate| gate * cell..(gate + 1) * cell)
                    .flat_map(|column| {
                        (first..first + rows).map(move |row| tensor.values[row * columns + column])
                    })
                    .collect();
                Tensor {
                    shape: vec![columns, rows],
                    values,
                }
            }
            Self::GateBias => {
                let cell = tensor.shape[0] / 4;
                let values = GATES
                    .iter()
                    .enumerate()
                    .flat_map(|(ours, theirs)| {
                        let added = if ours == FORGET { 1.0 } else { 0.0 };
                        tensor.values[theirs * cell..(theirs + 1) * cell]
                            .iter()
                            .map(move |value| value + added)
                    })
                    .collect();
                Tensor {
                    shape: tensor.shape.clone(),
                    values,
                }
            }
        }
    }
}
