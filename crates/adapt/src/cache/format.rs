//! The format of a file of cached activations.
//!
//! The front: the first bytes, the length of the head in 8 bytes, the head (the [`Shape`] in JSON), and the SHA-256 of all
//! of that. Then for each batch: its activations, a trailer of the seconds so far (f64), and the SHA-256 of these two.
//! Numbers are little-endian.

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

use super::activations::Shape;

/// First bytes of a cache file, the last of which counts its versions.
const MAGIC: &[u8; 16] = b"totune states  3";

/// Length of a SHA-256.
const CHECKSUM: usize = 32;

/// Length of what follows the activations of a batch: seconds and checksum.
pub(super) const TRAILER: usize = 8 + CHECKSUM;

/// The front of a file.
pub(super) struct Front {
    pub shape: Shape,
    /// Its length in bytes.
    pub length: usize,
}

impl Front {
    /// The front of a file of that shape.
    pub fn write(shape: &Shape) -> Result<Vec<u8>> {
        let head = serde_json::to_vec(shape)?;
        let mut front = MAGIC.to_vec();
        front.extend((head.len() as u64).to_le_bytes());
        front.extend(head);
        front.extend(Sha256::digest(&front));
        Ok(front)
    }

    /// Reads the front of a file from its bytes.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let rest = bytes.strip_prefix(MAGIC);
        let rest = rest.context("not cached activations of this version")?;
        let (size, rest) = rest
            .split_first_chunk::<8>()
            .context("ends within its front")?;
        let size = usize::try_from(u64::from_le_bytes(*size)).ok();
        let head = size.and_then(|size| rest.split_at_checked(size));
        let (head, rest) = head.context("ends within its head")?;
        let length = MAGIC.len() + 8 + head.len();
        let checksum = rest.get(..CHECKSUM).context("ends within its front")?;
        ensure!(
            Sha256::digest(&bytes[..length]).as_slice() == checksum,
            "the checksum of its front is wrong: the file is damaged"
        );
        let shape: Shape = serde_json::from_slice(head).context("not a head")?;
        ensure!(shape.is_complete(), "not each example is in one batch");
        Ok(Self {
            shape,
            length: length + CHECKSUM,
        })
    }
}

/// The trailer of a batch.
pub(super) fn trailer(batch: &[u8], seconds: f64) -> [u8; TRAILER] {
    let mut trailer = [0; TRAILER];
    let (number, checksum) = trailer.split_at_mut(8);
    number.copy_from_slice(&seconds.to_le_bytes());
    let hash = Sha256::new().chain_update(batch).chain_update(&*number);
    checksum.copy_from_slice(&hash.finalize());
    trailer
}

/// The seconds in the trailer of a batch, from the batch and its trailer; `None` where they are damaged.
pub(super) fn read_trailer(section: &[u8]) -> Option<f64> {
    let (batch, found) = section.split_at(section.len() - TRAILER);
    let seconds = f64::from_le_bytes(*found.first_chunk()?);
    (trailer(batch, seconds) == *found).then_some(seconds)
}
