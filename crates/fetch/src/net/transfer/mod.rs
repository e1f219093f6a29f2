//! Transfers: attempts, pauses, mirrors, and resuming where the last attempt broke off.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ureq::http::Method;

use super::digest::Digest;
use super::error::{Error, Kind, Result};
use super::http::{Client, Failure, Follow, Reply};
use super::partial::Partial;
use super::progress::{Event, Progress};
use super::settings::Settings;
use super::{place, status};

mod body;

use body::Body;

/// Downloads with a wrong hash after which an address is given up: more than one, since memory and proxies err, too.
const MOST_WRONG: u32 = 2;

/// A request for a file.
#[derive(Debug)]
pub struct FileRequest<'a> {
    /// Its display name.
    pub file: &'a str,
    /// Addresses, in the order they are tried.
    pub addresses: &'a [String],
    /// Every hash it must have; without any it is taken as it comes.
    pub digests: Vec<Digest>,
    /// Its size in bytes.
    pub size: Option<u64>,
}

/// The context of a request, and the way to stop it.
pub struct Transfer<'a> {
    /// Sends requests.
    pub client: &'a Client,
    /// Attempts and pauses.
    pub settings: &'a Settings,
    /// Receives the events.
    pub progress: &'a dyn Progress,
    /// Set by another thread to stop.
    pub stop: &'a AtomicBool,
}

/// A file that is whole, verified, and still under its partial name.
#[derive(Debug)]
pub struct Received {
    /// Its partial file.
    pub partial: Partial,
    /// The address it is from.
    pub address: String,
    /// Bytes that came over the wire for it this time.
    pub bytes: u64,
}

/// The failure of an attempt.
enum Trouble {
    /// Another attempt may help, after the pause that a server requested.
    Passing(String, Option<Duration>),
    /// Only another address may help.
    Lasting(Error),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Passing(why) => Self::Passing(why, None),
            Failure::Lasting(error) => Self::Lasting(error),
        }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Lasting(error)
    }
}

impl FileRequest<'_> {
    /// Identifies this request among others for the same partial file.
    fn identity(&self) -> String {
        match self.digests.first() {
            Some(digest) => digest.to_string(),
            None => self.addresses.first().cloned().unwrap_or_default(),
        }
    }
}

impl Transfer<'_> {
    /// Downloads the wanted file to `path`, from the first address that has it.
    ///
    /// Bytes that an attempt received are kept for the next one, also for that of another process, as long as they are
    /// known to be the beginning of the same file.
    pub fn run(&self, wish: &FileRequest<'_>, path: PathBuf) -> Result<Received> {
        place::make_folder(path.parent().unwrap_or(Path::new(".")))?;
        let mut partial = Partial::open(path, &wish.identity());
        let mut received = 0;
        let mut errors: Vec<Error> = Vec::new();
        for address in wish.addresses {
            match self.from(address, wish, &mut partial, &mut received) {
                Ok(()) => {
                    return Ok(Received {
                        partial,
                        address: address.clone(),
                        bytes: received,
                    });
                }
                Err(error) if error.is_final() => return Err(error),
                Err(error) => {
                    let why = error.to_string();
                    self.progress.hear(&Event::Trouble {
                        file: wish.file,
                        why: &why,
                        pause: None,
                    });
                    errors.push(error);
                }
            }
        }
        Err(worst(wish.file, errors))
    }

    /// Requests a file's headers, with as many attempts as for a file.
    pub fn ask(&self, file: &str, address: &str) -> Result<Reply> {
        let mut failed = 0;
        loop {
            let trouble = match self
                .client
                .send(Method::HEAD, address, &[], Follow::ToTheCommit)
            {
                Ok(reply) if status::is_passing(reply.status) => Trouble::Passing(
                    format!("{address}: the server says {}", reply.status),
                    reply.retry_after(),
                ),
                Ok(reply) => return Ok(reply),
                Err(failure) => failure.into(),
            };
            match trouble {
                Trouble::Lasting(error) => return Err(error),
                Trouble::Passing(why, asked) => {
                    failed += 1;
                    self.pause_or_give_up(file, why, asked, failed)?;
                }
            }
        }
    }

    /// One address, until the file is whole and right, or no attempt is left.
    fn from(
        &self,
        address: &str,
        wish: &FileRequest<'_>,
        partial: &mut Partial,
        received: &mut u64,
    ) -> Result<()> {
        let (mut failed, mut wrong, mut attempt) = (0, 0, 0);
        // Only bytes beyond the furthest so far are progress; a server that breaks off at the same place makes none.
        let mut furthest = partial.len();
        loop {
            self.go_on()?;
            attempt += 1;
            match self.attempt(address, wish, partial, attempt, received) {
                Ok(()) => match self.verify(address, wish, partial) {
                    Ok(()) => return Ok(()),
                    Err(error) if error.is_final() => return Err(error),
                    Err(error) => {
                        partial.discard();
                        furthest = 0;
                        wrong += 1;
                        if wrong >= MOST_WRONG {
                            return Err(error);
                        }
                        self.progress.hear(&Event::Trouble {
                            file: wish.file,
                            why: &error.to_string(),
                            pause: Some(Duration::ZERO),
                        });
                    }
                },
                Err(Trouble::Lasting(error)) => return Err(error),
                Err(Trouble::Passing(why, asked)) => {
                    failed = if partial.len() > furthest {
                        1
                    } else {
                        failed + 1
                    };
                    furthest = furthest.max(partial.len());
                    self.pause_or_give_up(wish.file, why, asked, failed)?;
                }
            }
        }
    }

    fn pause_or_give_up(
        &self,
        file: &str,
        why: String,
        asked: Option<Duration>,
        failed: u32,
    ) -> Result<()> {
        if failed >= self.settings.attempts {
            return Err(Error::new(
                Kind::Network,
                format!("{why}; given up after {failed} attempts without progress"),
            ));
        }
        let doubled = self
            .settings
            .pause
            .saturating_mul(1 << (failed.saturating_sub(1)).min(16));
        let pause = asked
            .unwrap_or_default()
            .max(doubled)
            .min(self.settings.longest_pause);
        self.progress.hear(&Event::Trouble {
            file,
            why: &why,
            pause: Some(pause),
        });
        let until = Instant::now() + pause;
        while let Some(left) = until
            .checked_duration_since(Instant::now())
            .filter(|left| !left.is_zero())
        {
            self.go_on()?;
            thread::sleep(left.min(Duration::from_millis(100)));
        }
        self.go_on()
    }

    fn go_on(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            Err(Error::stopped())
        } else {
            Ok(())
        }
    }

    /// One request. Fine when the partial file is as long as it should be.
    fn attempt(
        &self,
        address: &str,
        wish: &FileRequest<'_>,
        partial: &mut Partial,
        attempt: u32,
        received: &mut u64,
    ) -> std::result::Result<(), Trouble> {
        let range = self.range(address, wish, partial);
        let have = partial.len();
        if have > 0 && partial.origin.as_ref().and_then(|origin| origin.total) == Some(have) {
            return Ok(());
        }
        let mut headers = Vec::new();
        if let Some((range, validator)) = &range {
            headers.push(("range", range.as_str()));
            headers.extend(
                validator
                    .as_deref()
                    .map(|validator| ("if-range", validator)),
            );
        }
        self.progress.hear(&Event::Attempt {
            file: wish.file,
            address,
            done: have,
            attempt,
        });
        let reply = self
            .client
            .send(Method::GET, address, &headers, Follow::Anywhere)?;
        let (file, total) = match reply.status {
            200 => self.whole(address, wish, partial, &reply)?,
            206 if have > 0 => self.rest(address, wish, partial, &reply, have)?,
            416 if have > 0 => {
                if reply.range().and_then(|range| range.total) == Some(have) {
                    return Ok(());
                }
                partial.discard();
                let why = format!(
                    "{address}: the server has no byte {have} (416), so the file has changed; starting anew"
                );
                return Err(Trouble::Passing(why, None));
            }
            code if status::is_passing(code) => {
                return Err(Trouble::Passing(
                    format!("{address}: the server says {code}"),
                    reply.retry_after(),
                ));
            }
            _ => return Err(status::error(self.client, address, &reply).into()),
        };
        let body = Body {
            reply,
            file,
            total,
            attempt,
        };
        self.copy(wish, partial, body, received)
    }
}

/// The most informative error: the only one, or all of them, of the kind of the first.
fn worst(file: &str, mut errors: Vec<Error>) -> Error {
    if errors.len() == 1 {
        return errors.remove(0);
    }
    let kind = errors.first().map_or(Kind::NotFound, |error| error.kind);
    let lines: Vec<String> = errors.iter().map(|error| format!("\n  {error}")).collect();
    Error::new(
        kind,
        format!(
            "{file}: none of {} addresses has it:{}",
            errors.len(),
            lines.concat()
        ),
    )
}
