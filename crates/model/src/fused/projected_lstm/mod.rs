//! An LSTM with a projection and clipping (Sak et al. 2014), over all steps of a batch of sequences, as ELMo has it.
//!
//! With `x` the products of the input and the bias:
//!
//! ```text
//! i, f, g, o = x_t + W_state h_{t-1}              σ on i, f, o; tanh on g
//! c_t = clamp(i ⊙ g + f ⊙ c_{t-1}, ±clip.cell)
//! h_t = clamp(W_projection (o ⊙ tanh c_t), ±clip.projection)
//! ```
//!
//! Rows are packed, so that there is no padding: first the first step of each sequence, then the second step of those
//! that have one, and so on, the sequences from long to short. `running[t]` says how many have a step `t`.

use burn::tensor::Tensor;
use burn::tensor::activation::sigmoid;

use super::Precision;

#[cfg(feature = "tch")]
mod kernel;

/// Bounds that cells and outputs are clipped to; infinite where there are none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clip {
    /// Bound of the cells, plus and minus.
    pub cell: f64,
    /// Bound of the projected outputs, plus and minus.
    pub projection: f64,
}

/// State of an LSTM between two steps, one row for each sequence.
#[derive(Debug, Clone)]
pub struct Memory {
    /// Outputs, `[sequences, projection]`.
    pub state: Tensor<2>,
    /// Cells, `[sequences, cell]`.
    pub cell: Tensor<2>,
}

/// Outputs of all steps, `[rows, projection]`, from a zero state.
///
/// `x` is `[rows, 4 cell]`, gates in PyTorch's order; `state` is `[4 cell, projection]`, `projection` is
/// `[projection, cell]`; `running` never rises and its sum is the number of rows.
///
/// # Panics
/// When the shapes do not fit one another.
pub fn projected_lstm(
    x: Tensor<2>,
    state: Tensor<2>,
    projection: Tensor<2>,
    running: &[usize],
    clip: Clip,
) -> Tensor<2> {
    #[cfg(feature = "tch")]
    if super::libtorch::owns(&x.device()) {
        check(&x, &state, &projection, running);
        let kernel = kernel::ProjectedLstm::new(running, clip, Precision::F32);
        return super::libtorch::apply(kernel, [x.into(), state.into(), projection.into()]);
    }
    let own = Direction {
        x,
        state,
        projection,
    };
    projected_lstm_from(own, running, clip, None).0
}

/// Inputs of one direction of a bidirectional layer; shapes are those of [`projected_lstm`].
#[derive(Debug, Clone)]
pub struct Direction {
    /// Products of the input and the bias, `[rows, 4 cell]`, in the order in which this direction reads them.
    pub x: Tensor<2>,
    /// State weights, `[4 cell, projection]`.
    pub state: Tensor<2>,
    /// Projection, `[projection, cell]`.
    pub projection: Tensor<2>,
}

/// The outputs of both directions, those of the first one above those of the second, `[2 rows, projection]`.
///
/// As [`projected_lstm`] twice; on LibTorch's CPU the directions run side by side. With [`Precision::Bf16`] the
/// operands of the products with states and of the projections are rounded to bfloat16, and their results once more, on
/// a CPU that multiplies such numbers faster; elsewhere they stay f32.
///
/// # Panics
/// When the shapes do not fit one another.
pub fn projected_bilstm(
    directions: [Direction; 2],
    running: &[usize],
    clip: Clip,
    #[cfg_attr(not(feature = "tch"), allow(unused_variables))] precision: Precision,
) -> Tensor<2> {
    #[cfg(feature = "tch")]
    if super::libtorch::owns(&directions[0].x.device()) {
        let inputs = directions.map(|own| {
            check(&own.x, &own.state, &own.projection, running);
            [own.x, own.state, own.projection]
        });
        let kernel = kernel::ProjectedLstm::new(running, clip, precision);
        let [[a, b, c], [d, e, f]] = inputs;
        return super::libtorch::apply(kernel, [a, b, c, d, e, f].map(Into::into));
    }
    let outputs = directions.map(|own| projected_lstm_from(own, running, clip, None).0);
    Tensor::cat(outputs.to_vec(), 0)
}

fn check(x: &Tensor<2>, state: &Tensor<2>, projection: &Tensor<2>, running: &[usize]) {
    let ([rows, gates], [out, cell]) = (x.dims(), projection.dims());
    assert!(
        gates == 4 * cell && state.dims() == [gates, out],
        "an LSTM's products {:?}, state weights {:?} and projection {:?} do not fit one another",
        x.dims(),
        state.dims(),
        projection.dims()
    );
    assert!(
        !running.is_empty()
            && running.iter().sum::<usize>() == rows
            && running.is_sorted_by(|a, b| a >= b && *b > 0),
        "{rows} rows do not fit sequences of which {running:?} have a step"
    );
}

/// Computes [`projected_lstm`] in one direction from the state `before`; also returns the final state of each sequence.
///
/// Burn's own operations, one step after the other, on every device.
pub fn projected_lstm_from(
    direction: Direction,
    running: &[usize],
    clip: Clip,
    before: Option<Memory>,
) -> (Tensor<2>, Memory) {
    let Direction {
        x,
        state,
        projection,
    } = direction;
    check(&x, &state, &projection, running);
    let [_, n_cell] = projection.dims();
    let (state, projection) = (state.transpose(), projection.transpose());
    let mut outputs = Vec::with_capacity(running.len());
    // States of the sequences that have ended, the shortest first.
    let mut ended: Vec<Memory> = Vec::new();
    let mut memory = before;
    let mut first = 0;
    for &n in running {
        let mut gates = x.clone().narrow(0, first, n); // [n, 4 cell]
        first += n;
        if let Some(held) = &mut memory {
            let [held_rows, _] = held.state.dims();
            if held_rows > n {
                let end = |t: &Tensor<2>| t.clone().narrow(0, n, held_rows - n);
                ended.push(Memory {
                    state: end(&held.state),
                    cell: end(&held.cell),
                });
                held.state = held.state.clone().narrow(0, 0, n);
                held.cell = held.cell.clone().narrow(0, 0, n);
            }
            gates = gates + held.state.clone().matmul(state.clone());
        }
        let gate = |k: usize| gates.clone().narrow(1, k * n_cell, n_cell); // [n, cell]
        let mut cell = sigmoid(gate(0)) * gate(2).tanh();
        if let Some(held) = memory {
            cell = cell + sigmoid(gate(1)) * held.cell;
        }
        let cell = clamp(cell, clip.cell);
        let out = (sigmoid(gate(3)) * cell.clone().tanh()).matmul(projection.clone());
        let out = clamp(out, clip.projection); // [n, projection]
        outputs.push(out.clone());
        memory = Some(Memory { state: out, cell });
    }
    let memory = memory.expect("at least one step");
    ended.push(memory);
    ended.reverse();
    let (states, cells) = ended.into_iter().map(|m| (m.state, m.cell)).unzip();
    let after = Memory {
        state: Tensor::cat(states, 0),
        cell: Tensor::cat(cells, 0),
    };
    (Tensor::cat(outputs, 0), after)
}

fn clamp(x: Tensor<2>, bound: f64) -> Tensor<2> {
    if bound.is_finite() {
        x.clamp(-bound, bound)
    } else {
        x
    }
}
