//! The fetching itself.

mod archive;
mod digest;
mod endpoint;
mod error;
mod fetcher;
mod http;
mod hub;
mod job;
mod lock;
mod partial;
mod place;
mod progress;
mod proxy;
mod settings;
mod status;
mod token;
mod transfer;

pub use archive::{Unpacked, unpack};
pub use error::{Error, Kind, Result};
pub use fetcher::{Allow, Fetched, Fetcher, State};
pub use job::Job;
pub use progress::{Event, Progress, Silent};
pub use settings::{HUB, Settings};
pub use token::Token;
