//! The pass through the layers of a transformer, with and without a graph.

use std::ops::Range;

use burn::module::Module;
use burn::tensor::Tensor;

use crate::fused::{padded, unpadded};
use crate::{Pass, TokenBatch};

/// An encoder whose layers all see the same of a batch.
pub(super) trait Transformer: Module {
    /// Masks and positions of a batch, as the layers read them.
    type View;

    /// Computes the masks and positions of a batch that the layers read.
    fn view(&self, batch: &TokenBatch) -> Self::View;

    /// Output of layer `block` (1 is the lowest) for the output `x` of the block below; both `[batch, seq, hidden]`, or
    /// `[1, tokens, hidden]` where padding is taken out of the batch.
    fn layer(&self, x: Tensor<3>, view: &Self::View, block: usize, pass: &Pass) -> Tensor<3>;

    /// Output of each of `blocks`, from `x`, the output of the block below: `[batch, seq, hidden]`.
    ///
    /// Nothing below the lowest trainable block needs a graph: it runs on plain tensors, which the blocks above take
    /// as constants.
    fn through(
        &self,
        mut x: Tensor<3>,
        blocks: Range<usize>,
        batch: &TokenBatch,
        pass: &Pass,
    ) -> Vec<Tensor<3>> {
        let frozen = (blocks.start < pass.frozen_below).then(|| {
            let encoder = self.valid();
            let view = encoder.view(&batch.inner());
            (encoder, view)
        });
        let view = (blocks.end > pass.frozen_below).then(|| self.view(batch));
        let unpadding = batch.unpadding();
        x = unpadded(unpadding, x);
        let mut states = Vec::with_capacity(blocks.len());
        for block in blocks {
            x = match (&frozen, &view) {
                (Some((encoder, view)), _) if block < pass.frozen_below => {
                    encoder.layer(x, view, block, pass)
                }
                (_, Some(view)) => self.layer(x, view, block, pass),
                (_, None) => unreachable!("blocks from `frozen_below` on have a view"),
            };
            states.push(padded(unpadding, x.clone()));
        }
        states
    }
}
