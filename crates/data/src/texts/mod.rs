//! Plain text, for language models and for distributions of terms: documents of paragraphs, cleaned as the card says.
//!
//! ```no_run
//! use std::path::Path;
//! use totune_data::{Document, TextCatalogue};
//!
//! let texts = TextCatalogue::read(Path::new("datasets/texts"))?;
//! let card = texts.find("pretraining-wiki")?;
//! let train: Vec<Document> = card.documents(Path::new("data"))?;
//! let held_out: Vec<Document> = card.held_out(Path::new("data"))?;
//! # anyhow::Ok(())
//! ```

mod card;
mod document;
mod gutenberg;
mod lines;
mod read;
mod wikitext;

pub use card::{TextCard, TextCatalogue, TextFile, TextFormat, TextPart, TextSource};
pub use document::Document;
pub use gutenberg::Gutenberg;
pub use lines::{Documents, Lines};
pub use wikitext::{Switch, WikiText};
