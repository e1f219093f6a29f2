//! A sparse matrix, row by row.

/// A matrix in compressed sparse row form: the columns of a row ascend, and no column occurs twice in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr {
    n_columns: usize,
    /// Start of each row in `columns` and `values`, followed by the end of the last row.
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl Csr {
    /// Creates a matrix without rows.
    pub fn new(n_columns: usize) -> Self {
        assert!(
            n_columns <= u32::MAX as usize,
            "{n_columns} columns do not fit 32 bits"
        );
        Self {
            n_columns,
            starts: vec![0],
            columns: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Appends a row from (column, value) entries in any order; values of the same column are added up.
    ///
    /// `entries` is sorted in place, so that a caller can use one buffer for all rows.
    ///
    /// # Panics
    /// If a column is not below `n_columns`.
    pub fn push_row(&mut self, entries: &mut [(u32, f64)]) {
        entries.sort_unstable_by_key(|&(column, _)| column);
        if let Some(&(last, _)) = entries.last() {
            assert!(
                (last as usize) < self.n_columns,
                "column {last} of a matrix of {}",
                self.n_columns
            );
        }
        let start = self.columns.len();
        for &(column, value) in entries.iter() {
            if self.columns.len() > start && self.columns.last() == Some(&column) {
                let last = self.values.len() - 1;
                self.values[last] += value;
            } else {
                self.columns.push(column);
                self.values.push(value);
            }
        }
        self.starts.push(self.columns.len());
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of columns.
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// Number of stored entries.
    pub fn n_stored(&self) -> usize {
        self.columns.len()
    }

    /// The columns and values of row `row`.
    pub fn row(&self, row: usize) -> (&[u32], &[f64]) {
        let range = self.starts[row]..self.starts[row + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// The columns and values of every row, in order.
    pub fn rows(&self) -> impl Iterator<Item = (&[u32], &[f64])> {
        (0..self.n_rows()).map(|row| self.row(row))
    }

    /// Returns the matrix of some rows, in the order of `rows`.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn select(&self, rows: &[usize]) -> Self {
        let mut selected = Self::new(self.n_columns);
        for &row in rows {
            let (columns, values) = self.row(row);
            selected.columns.extend_from_slice(columns);
            selected.values.extend_from_slice(values);
            selected.starts.push(selected.columns.len());
        }
        selected
    }

    /// The product of each row with `weights`, plus `offset`.
    ///
    /// # Panics
    /// If there is not one weight for each column.
    pub fn products(&self, weights: &[f64], offset: f64) -> Vec<f64> {
        assert_eq!(weights.len(), self.n_columns, "one weight for each column");
        let product = |(columns, values): (&[u32], &[f64])| {
            let terms = columns.iter().zip(values);
            terms.map(|(&c, v)| v * weights[c as usize]).sum::<f64>() + offset
        };
        self.rows().map(product).collect()
    }

    /// Multiplies each stored value by the weight of its column.
    ///
    /// # Panics
    /// If there is not one weight for each column.
    pub fn scale_columns(&mut self, weights: &[f64]) {
        assert_eq!(weights.len(), self.n_columns, "one weight for each column");
        for (value, &column) in self.values.iter_mut().zip(&self.columns) {
            *value *= weights[column as usize];
        }
    }

    /// Divides each row by its Euclidean length; a row of zeros stays as it is.
    pub fn normalise_rows(&mut self) {
        for row in self.starts.windows(2) {
            let values = &mut self.values[row[0]..row[1]];
            let length = values.iter().map(|v| v * v).sum::<f64>().sqrt();
            if length > 0.0 {
                values.iter_mut().for_each(|v| *v /= length);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_sorted_and_repeated_columns_are_added_up() {
        let mut matrix = Csr::new(4);
        matrix.push_row(&mut [(3, 1.0), (1, 2.0), (3, 0.5)]);
        matrix.push_row(&mut []);
        assert_eq!(matrix.row(0), (&[1, 3][..], &[2.0, 1.5][..]));
        assert_eq!(
            (matrix.n_rows(), matrix.n_stored(), matrix.row(1).0.len()),
            (2, 2, 0)
        );
    }

    #[test]
    fn the_same_column_in_two_rows_stays_two_entries() {
        let mut matrix = Csr::new(1);
        matrix.push_row(&mut [(0, 1.0)]);
        matrix.push_row(&mut [(0, 2.0)]);
        assert_eq!(matrix.row(1), (&[0][..], &[2.0][..]));
    }

    #[test]
    fn some_rows_are_a_matrix_and_have_products() {
        let mut matrix = Csr::new(3);
        matrix.push_row(&mut [(0, 1.0), (2, 2.0)]);
        matrix.push_row(&mut []);
        matrix.push_row(&mut [(1, 3.0)]);
        let some = matrix.select(&[2, 0, 2]);
        assert_eq!((some.n_rows(), some.n_columns()), (3, 3));
        assert_eq!(some.row(1), (&[0, 2][..], &[1.0, 2.0][..]));
        assert_eq!(some.products(&[1.0, 10.0, 100.0], 0.5), [30.5, 201.5, 30.5]);
    }

    #[test]
    fn rows_get_length_one_unless_empty() {
        let mut matrix = Csr::new(2);
        matrix.push_row(&mut [(0, 3.0), (1, 4.0)]);
        matrix.push_row(&mut [(0, 1.0), (0, -1.0)]);
        matrix.normalise_rows();
        assert_eq!(matrix.row(0).1, [0.6, 0.8]);
        assert_eq!(matrix.row(1).1, [0.0]);
    }

    #[test]
    #[should_panic(expected = "column 2 of a matrix of 2")]
    fn a_column_outside_is_refused() {
        Csr::new(2).push_row(&mut [(2, 1.0)]);
    }
}
