//! Getting the bytes: attempts, pauses, mirrors, and going on where the last attempt broke off.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ureq::http::Method;

use super::digest::Digest;
use super::error::{Error, Kind, Result};
use super::http::{Client, Failure, Follow, Range, Reply};
use super::partial::{Origin, Partial};
use super::progress::{Event, Progress};
use super::settings::Settings;
use super::{place, status};

/// A file whose size nobody knows ends here: the largest checkpoints are split below this.
const MOST_BYTES: u64 = 64 << 30;
/// The same bytes are asked for once more when they hash wrongly: memory and proxies err, too.
const MOST_WRONG: u32 = 2;

/// What is asked for.
#[derive(Debug)]
pub struct Wish<'a> {
    /// Its name for people.
    pub file: &'a str,
    /// Addresses, in the order they are tried.
    pub addresses: &'a [String],
    /// Every hash it must have; without any it is taken as it comes.
    pub digests: Vec<Digest>,
    /// Its size in bytes.
    pub size: Option<u64>,
}

/// Who asks, and who may stop it.
pub struct Transfer<'a> {
    /// Sends requests.
    pub client: &'a Client,
    /// Attempts and pauses.
    pub settings: &'a Settings,
    /// Hears how it goes.
    pub progress: &'a dyn Progress,
    /// Set from elsewhere to stop.
    pub stop: &'a AtomicBool,
}

/// A file that is whole, verified, and still under its partial name.
#[derive(Debug)]
pub struct Received {
    /// Where it is.
    pub partial: Partial,
    /// The address it is from.
    pub address: String,
    /// Bytes that came over the wire for it this time.
    pub bytes: u64,
}

/// How an attempt failed.
enum Trouble {
    /// Another attempt may help, after the pause a server asked for.
    Passing(String, Option<Duration>),
    /// Only another address may help.
    Lasting(Error),
}

/// A reply that is being written down.
struct Body {
    reply: Reply,
    /// Where its bytes go.
    file: File,
    /// Bytes of the whole file, where that is known.
    total: Option<u64>,
    /// The number of the attempt, for progress.
    attempt: u32,
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

impl Wish<'_> {
    /// What tells this wish from another one for the same partial file.
    fn identity(&self) -> String {
        match self.digests.first() {
            Some(digest) => digest.to_string(),
            None => self.addresses.first().cloned().unwrap_or_default(),
        }
    }
}

impl Transfer<'_> {
    /// Fetches what is wished for to `path`, from the first address that has it.
    ///
    /// What an attempt got is kept for the next one, also for that of another process, as long as it can be told to be
    /// the beginning of the same file.
    pub fn run(&self, wish: &Wish<'_>, path: PathBuf) -> Result<Received> {
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

    /// Asks for a file's headers, with as many attempts as for a file.
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
        wish: &Wish<'_>,
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
        wish: &Wish<'_>,
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

    /// The headers `Range` and `If-Range`, if there is a beginning to go on with at this address.
    fn range(
        &self,
        address: &str,
        wish: &Wish<'_>,
        partial: &mut Partial,
    ) -> Option<(String, Option<String>)> {
        let origin = partial.origin.as_ref()?;
        let here = origin.address == address;
        let validator = origin.validator().filter(|_| here).map(str::to_string);
        // Without a hash nobody would notice that two versions, or two servers' files, were put together.
        if wish.digests.is_empty() && validator.is_none() {
            partial.discard();
            return None;
        }
        let have = partial.len();
        (have > 0).then(|| (format!("bytes={have}-"), validator))
    }

    /// The whole file comes: all that was there is given up for it.
    fn whole(
        &self,
        address: &str,
        wish: &Wish<'_>,
        partial: &mut Partial,
        reply: &Reply,
    ) -> std::result::Result<(File, Option<u64>), Trouble> {
        let path = reply.url.path().to_ascii_lowercase();
        let lasting = |kind, message| Err(Trouble::Lasting(Error::new(kind, message)));
        if reply.is_page() && ![".html", ".htm"].iter().any(|end| path.ends_with(end)) {
            return lasting(
                Kind::Wrong,
                format!(
                    "{address}: a web page instead of the file, such as one for a login or an error"
                ),
            );
        }
        let packed = reply
            .header("content-encoding")
            .filter(|encoding| !encoding.eq_ignore_ascii_case("identity"));
        // Some servers call a file that is a .gz "encoded"; the bytes on the wire are then the file.
        if let Some(encoding) =
            packed.filter(|_| ![".gz", ".tgz"].iter().any(|end| path.ends_with(end)))
        {
            let encoding = super::http::shown(encoding);
            return lasting(
                Kind::Protocol,
                format!(
                    "{address}: the server sends the file encoded as `{encoding}`, though it was asked not to"
                ),
            );
        }
        let length = reply.length();
        if let (Some(expected), Some(found)) = (wish.size, length)
            && expected != found
        {
            return lasting(
                Kind::Wrong,
                format!("{address}: the server has {found} bytes; expected {expected}"),
            );
        }
        let total = length.or(wish.size);
        let folder = partial
            .path()
            .parent()
            .unwrap_or(Path::new("."))
            .to_path_buf();
        place::check_space(&folder, total.unwrap_or(0))?;
        let file = partial.begin(Origin::new(address, &wish.identity(), reply, total))?;
        Ok((file, total))
    }

    /// The rest of the file comes, if it is the rest of the same file.
    fn rest(
        &self,
        address: &str,
        wish: &Wish<'_>,
        partial: &mut Partial,
        reply: &Reply,
        have: u64,
    ) -> std::result::Result<(File, Option<u64>), Trouble> {
        let origin = partial.origin.clone();
        let Range { part: range, total } = reply.range().unwrap_or_default();
        let known = origin
            .as_ref()
            .and_then(|origin| origin.total)
            .or(wish.size);
        let why = if range.is_none_or(|(first, _)| first != have) {
            Some("another range than the one asked for")
        } else if matches!((known, total), (Some(known), Some(total)) if known != total) {
            Some("a file of another length than before")
        } else if origin.is_some_and(|origin| origin.address == address && origin.is_changed(reply))
        {
            Some("another version of the file than before")
        } else {
            None
        };
        if let Some(why) = why {
            partial.discard();
            return Err(Trouble::Passing(
                format!("{address}: the server sends {why}; starting anew"),
                None,
            ));
        }
        let total = known
            .or(total)
            .or(range.map(|(_, last)| last.saturating_add(1)));
        Ok((partial.go_on()?, total))
    }

    fn copy(
        &self,
        wish: &Wish<'_>,
        partial: &Partial,
        body: Body,
        received: &mut u64,
    ) -> std::result::Result<(), Trouble> {
        let Body {
            mut reply,
            mut file,
            total,
            attempt,
        } = body;
        let address = super::http::plain(&reply.url);
        let mut done = partial.len();
        let mut buffer = vec![0; 256 << 10];
        loop {
            self.go_on()?;
            let length = match reply.body.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => length,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    return Err(Trouble::Passing(
                        format!("{address}: broke off after {done} bytes: {error}"),
                        None,
                    ));
                }
            };
            *received += length as u64;
            if done + length as u64 > total.unwrap_or(MOST_BYTES) {
                let expected = total.unwrap_or(MOST_BYTES);
                return Err(Trouble::Lasting(Error::new(
                    Kind::Wrong,
                    format!("{address}: more than {expected} bytes; expected that many"),
                )));
            }
            partial.add(&mut file, &buffer[..length])?;
            done += length as u64;
            self.progress.hear(&Event::Bytes {
                file: wish.file,
                done,
                total,
                attempt,
            });
        }
        match total {
            Some(total) if done < total => Err(Trouble::Passing(
                format!("{address}: broke off after {done} of {total} bytes"),
                None,
            )),
            _ => Ok(()),
        }
    }

    /// Holds what is on the disk now against size and hashes.
    fn verify(&self, address: &str, wish: &Wish<'_>, partial: &Partial) -> Result<()> {
        self.progress.hear(&Event::Verifying { file: wish.file });
        let wrong = |found: String, expected: String| {
            let page = if looks_like_a_page(partial.path()) {
                "; it looks like a web page"
            } else {
                ""
            };
            Error::new(
                Kind::Wrong,
                format!("{address}: {found}; expected {expected}{page}"),
            )
        };
        let found = partial.len();
        if let Some(expected) = wish.size.filter(|&expected| expected != found) {
            return Err(wrong(format!("{found} bytes"), expected.to_string()));
        }
        for expected in &wish.digests {
            let found = expected.of_file(partial.path())?;
            if found != *expected {
                return Err(wrong(found.to_string(), expected.to_string()));
            }
        }
        Ok(())
    }
}

fn looks_like_a_page(path: &Path) -> bool {
    let mut start = [0; 256];
    let length = File::open(path)
        .and_then(|mut file| file.read(&mut start))
        .unwrap_or(0);
    let start = String::from_utf8_lossy(&start[..length])
        .trim_start()
        .to_ascii_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html")
}

/// The error that says most: the only one, or all of them, of the kind of the first.
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
