//! The repository itself: its texts, its layout, and a page for everything it plans.

mod documentation;
mod planned_pages;
mod setup;
mod structure;
mod vocabulary;
