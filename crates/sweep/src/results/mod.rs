//! The tables of `results/<paper>/<profile>/`: collected from run folders, read by reports, and restored into run folders.

mod collect;
mod read;
mod restore;

pub use collect::{Collected, collect};
pub use read::{Arms, read_results, upgrade_results};
pub use restore::{Restored, restore};
