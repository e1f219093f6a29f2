//! Texts as sparse vectors of their words, with scikit-learn's definitions.

mod csr;
mod murmur;
mod tokens;
mod vectorizer;

pub use csr::Csr;
pub use tokens::tokens;
pub use vectorizer::{Features, HASH_COLUMNS, Vectorizer};
