//! One reply: the file or the rest of it, its bytes, and their hash.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::{FileRequest, Transfer, Trouble};
use crate::net::error::{Error, Kind, Result};
use crate::net::http::{self, Range, Reply};
use crate::net::partial::{Origin, Partial};
use crate::net::place;
use crate::net::progress::Event;

/// The limit for a file of unknown size: the largest checkpoints are split below this.
const MOST_BYTES: u64 = 64 << 30;

/// A reply that is being written down.
pub(super) struct Body {
    pub(super) reply: Reply,
    /// The file its bytes go to.
    pub(super) file: File,
    /// Bytes of the whole file, where that is known.
    pub(super) total: Option<u64>,
    /// The number of the attempt, for progress.
    pub(super) attempt: u32,
}

impl Transfer<'_> {
    /// The headers `Range` and `If-Range`, if there is a beginning to go on with at this address.
    pub(super) fn range(
        &self,
        address: &str,
        wish: &FileRequest<'_>,
        partial: &mut Partial,
    ) -> Option<(String, Option<String>)> {
        let origin = partial.origin.as_ref()?;
        let here = origin.address == address;
        let validator = origin.validator().filter(|_| here).map(str::to_string);
        // Without a hash, a mixture of two versions, or of two servers' files, would go unnoticed.
        if wish.digests.is_empty() && validator.is_none() {
            partial.discard();
            return None;
        }
        let have = partial.len();
        (have > 0).then(|| (format!("bytes={have}-"), validator))
    }

    /// The whole file comes: all that was there is given up for it.
    pub(super) fn whole(
        &self,
        address: &str,
        wish: &FileRequest<'_>,
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
            let encoding = http::shown(encoding);
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
    pub(super) fn rest(
        &self,
        address: &str,
        wish: &FileRequest<'_>,
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

    pub(super) fn copy(
        &self,
        wish: &FileRequest<'_>,
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
        let address = http::plain(&reply.url);
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

    /// Compares the bytes on disk with size and hashes.
    pub(super) fn verify(
        &self,
        address: &str,
        wish: &FileRequest<'_>,
        partial: &Partial,
    ) -> Result<()> {
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
        // Without a size in the card, what the server announced; another process may have written into the same file.
        if let Some(expected) = partial.total().filter(|&expected| expected != found) {
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
