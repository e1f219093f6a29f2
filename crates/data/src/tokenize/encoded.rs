//! An example as ids.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Ids of a word.
pub const CHARACTERS: usize = 50;

/// A word as ELMo reads it: byte `b` is `b + 1`, boundary characters lie above, and 0 is no character.
pub type WordCharacters = [u16; CHARACTERS];

/// One example as ids, without padding: `[CLS] a [SEP]`, `[CLS] a [SEP] b [SEP]` or, where the texts of a pair are encoded
/// separately, `[CLS] a [SEP] [CLS] b [SEP]`; with the special tokens of its [`Template`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encoded {
    /// Token ids; of an encoder that reads characters, one 0 per word.
    pub ids: Vec<u32>,
    /// The segment of each token: 0 up to the first separator, 1 after it.
    pub type_ids: Vec<u8>,
    /// True if a second text begins with a special token: where [`Template::opens_second`], or texts are `apart`.
    pub second_opened: bool,
    /// True if the texts of a pair, though in one row, are encoded separately.
    pub apart: bool,
    /// Of an encoder that reads characters, those of each word; such rows have no special tokens.
    pub characters: Vec<WordCharacters>,
}

impl Encoded {
    /// The positions of its texts, without special tokens: one range, or the two of a pair.
    pub fn texts(&self) -> Vec<Range<usize>> {
        let n = self.ids.len();
        let first = self.type_ids.iter().position(|&kind| kind == 1);
        if !self.characters.is_empty() {
            return match first {
                Some(at) => vec![0..at, at..n],
                None => vec![0..n; 1],
            };
        }
        // A separator follows each text; one special token comes first, and where it is opened one before the second.
        match first {
            Some(at) => vec![1..at - 1, at + usize::from(self.second_opened)..n - 1],
            None => vec![1..n - 1; 1],
        }
    }
}

/// The encoding of pairs, jointly or separately. A single text is encoded in the same way with either.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Pairs {
    /// Encoded jointly as one input, `[CLS] a [SEP] b [SEP]`: every layer attends across the texts.
    #[default]
    Joint,
    /// Encoded separately, each like a single text.
    Separate,
}

impl Pairs {
    /// Returns whether pairs are encoded jointly, as in BERT's released code.
    pub fn is_joint(&self) -> bool {
        *self == Self::Joint
    }
}
