//! Surveys of datasets before training: the datasets there are, checks against their cards, the distribution of labels
//! and lengths, and the model's input.
//!
//! Each survey has a type with the whole result, which can be written as JSON, and a text for a terminal.

mod check;
mod measured;
mod overlap;
mod places;
mod report;
mod show;
mod spread;
mod stats;
mod terminal;
#[cfg(test)]
mod testing;
mod texts;

pub use check::{Checked, Difference, FoundValue, Verdict, check};
pub use measured::Measured;
pub use overlap::{Overlap, overlaps};
pub(crate) use places::split_order;
pub use places::{Listed, ListedSplit, Place, listed, places_table};
pub use report::statistics_text;
pub use show::{ExampleView, ShownTarget, Tokens, choose, show};
pub use spread::Spread;
pub use stats::{
    Bar, Count, Cut, Groups, LIMITS, Long, RepeatCounts, Statistics, TargetCounts, WordpieceLengths,
};
pub(crate) use terminal::thousands;
pub use texts::{
    CheckedText, HeldOutWords, ListedPart, ListedText, ShareOfTop, TextCounts, TextStatistics,
    TopWord, check_text, listed_text, text_statistics_text, texts_table,
};
