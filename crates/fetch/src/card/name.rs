//! Words of a card that are checked when they are read: paths, hashes, repositories, addresses.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// A relative path that cannot leave the folder it is below: `/` between parts, no `..`, no drive.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Below(String);

/// A SHA-256 as 64 lower-case hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Sha256(String);

/// A commit as 40 lower-case hexadecimal digits; branches and tags move, so they are no revision here.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Revision(String);

/// A repository on the Hub: `owner/name`, or only `name`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Repo(String);

/// An `https` or `http` address without a user or password in it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct WebUrl(String);

impl Below {
    /// The path as it is written, with `/` between its parts.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path below `root`.
    pub fn under(&self, root: &Path) -> PathBuf {
        self.parts()
            .fold(root.to_path_buf(), |path, part| path.join(part))
    }

    /// The names between the slashes.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }
}

/// The reason why `text` is not a path that stays below its folder on every system; none if it is one.
pub(crate) fn leaves(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        return Some("it is empty");
    }
    if text.starts_with('/') {
        return Some("it starts at the root of the file system");
    }
    if text.contains('\\') {
        return Some("it has a backslash, which separates folders on Windows");
    }
    if text.contains(':') {
        return Some("it has a colon, which names a drive or a stream on Windows");
    }
    if text.chars().any(char::is_control) {
        return Some("it has a control character");
    }
    text.split('/').find_map(|part| match part {
        "" => Some("it has an empty part"),
        "." => Some("it has the part `.`"),
        ".." => Some("it has the part `..`"),
        _ => None,
    })
}

impl Sha256 {
    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Revision {
    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Repo {
    /// `owner/name`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl WebUrl {
    /// The address.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn lower_hex(text: &str, digits: usize) -> bool {
    text.len() == digits
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

impl TryFrom<String> for Below {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match leaves(&text) {
            None => Ok(Self(text)),
            Some(why) => Err(format!(
                "`{}`: {why}; expected a path such as `corpus/train.csv`",
                text.escape_debug()
            )),
        }
    }
}

impl TryFrom<String> for Sha256 {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if lower_hex(&text, 64) {
            return Ok(Self(text));
        }
        Err(format!(
            "`{text}`; expected 64 lower-case hexadecimal digits"
        ))
    }
}

impl TryFrom<String> for Revision {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if lower_hex(&text, 40) {
            return Ok(Self(text));
        }
        Err(format!(
            "`{text}`; expected a commit as 40 lower-case hexadecimal digits, since a branch or a tag can move"
        ))
    }
}

impl TryFrom<String> for Repo {
    type Error = String;

    /// The rules of the Hub: letters, digits, `-`, `_`, `.`, no `--` and `..`, no `-` or `.` at either end.
    fn try_from(text: String) -> Result<Self, String> {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let part = |part: &str| {
            !part.is_empty()
                && part.bytes().all(known)
                && !part.starts_with(['-', '.'])
                && !part.ends_with(['-', '.'])
        };
        let well = text.split('/').count() <= 2
            && text.split('/').all(part)
            && !text.contains("--")
            && !text.contains("..");
        if well {
            return Ok(Self(text));
        }
        Err(format!(
            "`{}`; expected a repository as `owner/name`",
            text.escape_debug()
        ))
    }
}

impl TryFrom<String> for WebUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let rest = text
            .strip_prefix("https://")
            .or_else(|| text.strip_prefix("http://"));
        let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
        let printable = text.bytes().all(|byte| byte.is_ascii_graphic());
        match host {
            Some(host) if !host.is_empty() && !host.contains('@') && printable => Ok(Self(text)),
            _ => Err(format!(
                "`{}`; expected an address that starts with `https://` or `http://`, without a user in it",
                text.escape_debug()
            )),
        }
    }
}

impl fmt::Display for Below {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Repo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for WebUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
