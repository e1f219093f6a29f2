//! Datasets, from the bytes of a file to batches of tokens.

mod bad_input;
mod cards;
mod docs;
mod drill;
mod encoded;
mod folds;
mod formats;
mod layouts;
mod malformed;
mod ngrams;
mod submission;
mod survey_texts;
mod tagging;
mod tags;
mod texts;
mod tokens;
mod words;
