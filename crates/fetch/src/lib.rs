//! Downloads: their description in cards, and the fetching itself.
//!
//! A [`Fetch`] is an entry `[[fetch]]` of a dataset or encoder card: which bytes, from where, and where they go. The
//! feature `net` adds the fetching; without it the crate is only these types, which is all that cards need.
//!
//! This is the only crate of the project that opens a socket, and it knows neither datasets nor encoders.

mod card;

#[cfg(feature = "net")]
mod net;

pub use card::{
    ArchiveFormat, Below, Download, Fetch, HubFetch, HubFile, Member, Repo, RepoKind, Revision,
    Sha256, Source, Then, Unpack, UrlFetch, WebUrl,
};

#[cfg(feature = "net")]
pub use net::{
    Allow, Error, Event, Fetched, Fetcher, HUB, Job, Kind, Progress, Result, Settings, Silent,
    State, Token, Unpacked, unpack,
};
