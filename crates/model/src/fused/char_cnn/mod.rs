//! Filters over the characters of words, max-pooled over positions: the convolution of ELMo's words (Kim et al. 2016).
//!
//! Characters come from a small table, so on LibTorch's CPU each row of the table is multiplied with each column of a
//! filter once, and a filter's value at a place is a sum of such products: one addition where a convolution needs as
//! many products as the characters have dimensions. The padding behind a word is the same at every place and looked at
//! once. Gradients pass only through the positions with the largest values.

use burn::tensor::module::embedding;
use burn::tensor::{Int, Tensor};

use super::{Precision, linear};

#[cfg(feature = "tch")]
mod kernel;

/// Max pooling of each word and filter over all positions, `[words, filters]`.
///
/// `table` is `[characters, dim]`, `ids` `[words, length]`, `weight` `[filters, dim, width]` with a width of at most
/// `length`, `bias` `[filters]`.
pub fn char_cnn(
    table: Tensor<2>,
    ids: Tensor<2, Int>,
    weight: Tensor<3>,
    bias: Tensor<1>,
) -> Tensor<2> {
    #[cfg(feature = "tch")]
    if super::libtorch::owns_in_main_memory(&table.device()) {
        let kernel = kernel::CharCnn::new(&ids);
        return super::libtorch::apply(kernel, [table.into(), weight.into(), bias.into()]);
    }
    plain(table, ids, weight, bias)
}

fn plain(table: Tensor<2>, ids: Tensor<2, Int>, weight: Tensor<3>, bias: Tensor<1>) -> Tensor<2> {
    let [words, length] = ids.dims();
    let [n, dim, width] = weight.dims();
    let places = length + 1 - width;
    let x = embedding(table, ids); // [words, length, dim]
    // A convolution as one product: the characters under the filters lie side by side.
    let under = (0..width).map(|k| x.clone().narrow(1, k, places)).collect();
    let under: Tensor<3> = Tensor::cat(under, 2); // [words, places, width dim]
    let weight = weight.swap_dims(1, 2).reshape([n, width * dim]);
    let product = linear(under, weight, bias, Precision::F32); // [words, places, filters]
    product.max_dim(1).reshape([words, n])
}
