//! Dense matrices, borrowed and owned.

use std::ops::Range;

use crate::linear::wide::{LANES, Unit};

/// A number that a dense matrix can be made of. Arithmetic on it is done in f64.
pub trait Real: Copy + Into<f64> + Send + Sync + Kernels {}

impl Real for f32 {}
impl Real for f64 {}

/// Loops over all numbers of a matrix.
pub trait Kernels: Sized {
    /// Eight numbers as a vector of 64-bit numbers.
    fn load<U: Unit>(unit: U, values: &[Self; LANES]) -> U::Vector;
    /// The mean of each column; zeros where there are no rows.
    fn means(x: &Dense<Self>) -> Vec<f64>;
    /// The mean square of each column's distances from `means`.
    fn variances(x: &Dense<Self>, means: &[f64]) -> Vec<f64>;
    /// The sum of `-ln p` over all rows; the gradient of its mean is added to `gradient`.
    fn loss(
        x: &Dense<Self>,
        y: &[usize],
        outputs: usize,
        point: &[f64],
        gradient: &mut [f64],
    ) -> f64;
    /// The product of each row with `weights`, plus `offset`.
    fn products(x: &Dense<Self>, weights: &[f64], offset: f64) -> Vec<f64>;
    /// Adds each row times its factor to `sum`.
    fn add_rows(x: &Dense<Self>, factors: &[f64], sum: &mut [f64]);
    /// The products of the centred columns with each other, `[columns, columns]`.
    fn gram(x: &Dense<Self>, means: &[f64]) -> Vec<f64>;
    /// The products of the columns with each other in single precision, `[columns, columns]`.
    fn rough_gram(x: &Dense<Self>) -> Vec<f32>;
}

/// A dense matrix, row after row.
#[derive(Clone, Copy, Debug)]
pub struct Dense<'a, T> {
    values: &'a [T],
    n_rows: usize,
    n_columns: usize,
    /// Distance from the start of a row to that of the next.
    stride: usize,
}

impl<'a, T: Real> Dense<'a, T> {
    /// The rows of `n_columns` numbers each that `values` consists of.
    ///
    /// # Panics
    /// If there are no columns, or `values` does not divide into whole rows.
    pub fn new(values: &'a [T], n_columns: usize) -> Self {
        assert!(n_columns > 0, "a dense matrix needs columns");
        assert!(
            values.len().is_multiple_of(n_columns),
            "{} numbers are no whole rows of {n_columns}",
            values.len()
        );
        Self {
            values,
            n_rows: values.len() / n_columns,
            n_columns,
            stride: n_columns,
        }
    }

    /// Returns the columns in `range`.
    ///
    /// # Panics
    /// If the range is empty or ends beyond the last column.
    pub fn columns(&self, range: Range<usize>) -> Self {
        assert!(
            !range.is_empty() && range.end <= self.n_columns,
            "columns {range:?} of {}",
            self.n_columns
        );
        Self {
            values: self.values.get(range.start..).unwrap_or_default(),
            n_columns: range.len(),
            ..*self
        }
    }

    /// The first row and every `step`-th after it.
    ///
    /// # Panics
    /// If `step` is 0.
    pub fn every(&self, step: usize) -> Self {
        assert!(step > 0, "a step of at least one row");
        Self {
            n_rows: self.n_rows.div_ceil(step),
            stride: self.stride * step,
            ..*self
        }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of columns.
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// A row.
    #[inline]
    pub fn row(&self, i: usize) -> &'a [T] {
        let start = i * self.stride;
        &self.values[start..start + self.n_columns]
    }

    /// All rows, in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &'a [T]> + use<'a, T> {
        let matrix = *self;
        (0..self.n_rows).map(move |i| matrix.row(i))
    }

    /// The mean of each column; zeros where there are no rows.
    pub fn means(&self) -> Vec<f64> {
        T::means(self)
    }

    /// The standard deviation of each column around `means`, with n in the denominator.
    pub fn deviations(&self, means: &[f64]) -> Vec<f64> {
        let variances = T::variances(self, means).into_iter();
        variances.map(f64::sqrt).collect()
    }
}

/// A dense matrix, row after row.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix<T> {
    values: Vec<T>,
    n_columns: usize,
}

impl<T: Real> Matrix<T> {
    /// The rows of `n_columns` numbers each that `values` consists of.
    ///
    /// # Panics
    /// As [`Dense::new`].
    pub fn new(values: Vec<T>, n_columns: usize) -> Self {
        Dense::new(&values, n_columns);
        Self { values, n_columns }
    }

    /// Borrows the matrix.
    pub fn view(&self) -> Dense<'_, T> {
        Dense::new(&self.values, self.n_columns)
    }

    /// Returns the matrix of some rows, in the order of `rows`.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn select(&self, rows: &[usize]) -> Self {
        let view = self.view();
        let values = rows.iter().flat_map(|&row| view.row(row)).copied();
        Self {
            values: values.collect(),
            n_columns: self.n_columns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_means_and_deviations() {
        let values = [1f32, 10.0, 3.0, 10.0];
        let x = Dense::new(&values, 2);
        let means = x.means();
        assert_eq!((x.n_rows(), x.row(1)), (2, &[3.0, 10.0][..]));
        assert_eq!(
            (&means[..], &x.deviations(&means)[..]),
            (&[2.0, 10.0][..], &[1.0, 0.0][..])
        );
    }

    #[test]
    fn some_columns_are_a_matrix_too() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let x = Dense::new(&values, 3).columns(1..3);
        assert_eq!((x.n_rows(), x.n_columns()), (2, 2));
        assert_eq!(x.rows().collect::<Vec<_>>(), [&[2.0, 3.0], &[5.0, 6.0]]);
        assert_eq!(x.columns(1..2).row(1), [6.0]);
    }

    #[test]
    fn some_rows_are_a_matrix_too() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0];
        let x = Dense::new(&values, 2);
        assert_eq!(x.every(1).n_rows(), 5);
        assert_eq!(x.every(9).rows().collect::<Vec<_>>(), [&[1.0, 2.0]]);
        let x = x.columns(1..2).every(2);
        assert_eq!(x.rows().collect::<Vec<_>>(), [&[2.0], &[6.0], &[10.0]]);
    }

    #[test]
    fn rows_are_chosen_in_any_order() {
        let matrix = Matrix::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2);
        let expected = Matrix::new(vec![5.0, 6.0, 1.0, 2.0], 2);
        assert_eq!(matrix.select(&[2, 0]), expected);
    }

    #[test]
    #[should_panic(expected = "5 numbers are no whole rows of 2")]
    fn a_broken_row_is_refused() {
        Dense::new(&[0.0; 5], 2);
    }
}
