//! The place of a tensor in the files of a checkpoint, and the layout of its elements there.

use std::borrow::Cow;

use anyhow::{Context, Result, bail, ensure};

use crate::Dtype;
use crate::bytes::Bytes;

/// A tensor as a format's reader found it. Every number in it has been checked against the file.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    pub place: Place,
}

#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// A view of a range of bytes.
    Span(Span),
    /// A dataset of an HDF5 file, under this path in it.
    Hdf5 { path: String },
}

/// Elements in a range of a file's bytes.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    /// Index of the file among the checkpoint's.
    pub file: usize,
    /// First byte of the range.
    pub start: usize,
    /// Bytes in the range.
    pub len: usize,
    /// The checksum of the whole range.
    pub checksum: Checksum,
    /// The layout of the elements in the range; none if they follow one another and fill it.
    pub view: Option<View>,
}

/// A view of stored elements, counted in elements.
#[derive(Debug, Clone)]
pub(crate) struct View {
    pub offset: usize,
    pub strides: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Checksum {
    None,
    /// CRC-32 of a zip archive.
    Crc32(u32),
    /// CRC-32C as TensorFlow masks it.
    MaskedCrc32c(u32),
}

impl Checksum {
    pub(crate) fn verify(self, data: &[u8]) -> Result<()> {
        let (kind, found, expected) = match self {
            Self::None => return Ok(()),
            Self::Crc32(expected) => ("crc-32", crc32fast::hash(data), expected),
            Self::MaskedCrc32c(expected) => {
                let sum = crc32c::crc32c(data);
                // Masked so that a checksum of data with checksums in it stays a good one.
                let masked = sum.rotate_right(15).wrapping_add(0xa282_ead8);
                ("masked crc-32c", masked, expected)
            }
        };
        ensure!(
            found == expected,
            "{kind} of its bytes is {found:08x}, expected {expected:08x}: the file is damaged"
        );
        Ok(())
    }
}

/// Elements of `shape`.
pub(crate) fn n_elements(shape: &[usize]) -> Result<usize> {
    shape
        .iter()
        .try_fold(1usize, |n, &dim| n.checked_mul(dim))
        .filter(|&n| n <= isize::MAX as usize / 8)
        .with_context(|| format!("shape {shape:?} has more elements than memory"))
}

impl Span {
    /// A range that holds exactly the elements of `shape`, inside a file of `file_len` bytes.
    pub(crate) fn whole(
        file: usize,
        file_len: usize,
        start: usize,
        len: usize,
        checksum: Checksum,
    ) -> Result<Self> {
        ensure!(
            start.checked_add(len).is_some_and(|end| end <= file_len),
            "its bytes {start} to {} lie outside the file of {file_len} bytes",
            start.saturating_add(len)
        );
        Ok(Self {
            file,
            start,
            len,
            checksum,
            view: None,
        })
    }

    /// Checks that `shape` elements of `dtype` are in the range.
    pub(crate) fn check(&self, dtype: Dtype, shape: &[usize]) -> Result<()> {
        let Some(size) = dtype.size() else {
            return Ok(()); // never read
        };
        let n = n_elements(shape)?;
        let Some(view) = &self.view else {
            ensure!(
                n * size == self.len,
                "shape {shape:?} of {dtype} takes {} bytes, found {}",
                n * size,
                self.len
            );
            return Ok(());
        };
        ensure!(
            view.strides.len() == shape.len(),
            "strides {:?} do not fit shape {shape:?}",
            view.strides
        );
        // A stride of zero repeats elements at no cost in the file: a few bytes could fill the memory.
        ensure!(
            n * size <= self.len,
            "shape {shape:?} of {dtype} is larger than the {} bytes it is a view of",
            self.len
        );
        if n == 0 {
            return Ok(());
        }
        let last = shape
            .iter()
            .zip(&view.strides)
            .try_fold(view.offset, |at, (&dim, &stride)| {
                at.checked_add((dim - 1).checked_mul(stride)?)
            });
        ensure!(
            last.is_some_and(|last| last < self.len / size),
            "offset {}, strides {:?} and shape {shape:?} reach outside the {} elements of its storage",
            view.offset,
            view.strides,
            self.len / size
        );
        Ok(())
    }

    /// The elements in row-major order, little-endian.
    pub(crate) fn read<'a>(
        &self,
        files: &'a [Bytes],
        dtype: Dtype,
        shape: &[usize],
    ) -> Result<Cow<'a, [u8]>> {
        let data = &files[self.file][self.start..self.start + self.len];
        self.checksum.verify(data)?;
        let Some(size) = dtype.size() else {
            bail!("has type {dtype}, expected F32, F16, BF16 or F64");
        };
        let Some(view) = &self.view else {
            return Ok(Cow::Borrowed(data));
        };
        let n = n_elements(shape)?;
        if n == 0 {
            return Ok(Cow::Borrowed(&[]));
        }
        if is_contiguous(shape, &view.strides) {
            return Ok(Cow::Borrowed(
                &data[view.offset * size..(view.offset + n) * size],
            ));
        }
        let mut gathered = Vec::with_capacity(n * size);
        let mut index = vec![0usize; shape.len()];
        let mut at = view.offset;
        loop {
            gathered.extend_from_slice(&data[at * size..(at + 1) * size]);
            // Count up the index, the last dimension fastest.
            let mut axis = shape.len();
            loop {
                if axis == 0 {
                    return Ok(Cow::Owned(gathered));
                }
                axis -= 1;
                index[axis] += 1;
                at = at.wrapping_add(view.strides[axis]); // an axis of one element may have any stride
                if index[axis] < shape[axis] {
                    break;
                }
                at = at.wrapping_sub(view.strides[axis].wrapping_mul(shape[axis]));
                index[axis] = 0;
            }
        }
    }
}

fn is_contiguous(shape: &[usize], strides: &[usize]) -> bool {
    let mut expected = 1;
    for (&dim, &stride) in shape.iter().zip(strides).rev() {
        if dim > 1 && stride != expected {
            return false;
        }
        expected *= dim;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(len: usize, offset: usize, strides: &[usize]) -> Span {
        Span {
            file: 0,
            start: 0,
            len,
            checksum: Checksum::None,
            view: Some(View {
                offset,
                strides: strides.to_vec(),
            }),
        }
    }

    #[test]
    fn views_are_gathered_in_row_major_order() {
        let files = [Bytes::from((0u8..12).collect::<Vec<_>>())];
        let check = |shape: &[usize], offset, strides: &[usize], expected: &[u8]| {
            let span = span(12, offset, strides);
            span.check(Dtype::U8, shape).expect("inside");
            let found = span.read(&files, Dtype::U8, shape).expect("bytes");
            assert_eq!(&*found, expected, "{shape:?} {strides:?}");
        };
        check(&[2, 3], 1, &[3, 1], &[1, 2, 3, 4, 5, 6]);
        check(&[3, 2], 0, &[1, 3], &[0, 3, 1, 4, 2, 5]); // a transpose
        check(&[2, 1, 2], 3, &[6, 99, 2], &[3, 5, 9, 11]);
        check(&[2, 2], 5, &[0, 1], &[5, 6, 5, 6]); // a row repeated
        check(&[], 7, &[], &[7]);
        check(&[0, 4], 0, &[4, 1], &[]);
    }

    #[test]
    fn views_outside_their_storage_are_refused() {
        for (shape, offset, strides) in [
            (&[2usize, 3][..], 7, &[3usize, 1][..]),
            (&[2], usize::MAX, &[1]),
            (&[2, 2], 0, &[usize::MAX, 1]),
            (&[1 << 40], 0, &[0]), // four bytes that would become a terabyte
            (&[1 << 40, 1 << 40], 0, &[0, 0]),
            (&[2, 2], 0, &[1]),
        ] {
            let error = span(12, offset, strides).check(Dtype::U8, shape);
            assert!(error.is_err(), "{shape:?} {offset} {strides:?}");
        }
    }
}
