//! Models in folders, and rows predicted with them.

mod folders;
mod rows;
mod support;
mod transformers;
