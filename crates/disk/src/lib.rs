//! Files and folders that appear whole or not at all.
//!
//! A file or a folder is written under a temporary name next to its place, put on the disk, and renamed. What was
//! there before stays as it was until then. Every crate that keeps something writes it through this one.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod file;
mod folder;
mod name;

pub use file::{PendingFile, UnverifiedFile, check_replaceable, write_atomically};
pub use folder::{PendingFolder, check_writable, create_folder, folder_of, sync_folder};
pub use name::{quoted_for_shell, unique_name};
