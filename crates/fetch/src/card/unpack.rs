//! The description of an archive in a card: the members to take, and limits on their number and size.

use serde::Deserialize;

use super::{Below, Sha256};

/// The settings for unpacking an archive below the root.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawUnpack")]
pub struct Unpack {
    /// The archive's format.
    pub format: ArchiveFormat,
    /// The members to take; none for `format = "gz"` and where everything is taken.
    pub members: Vec<Member>,
    /// `format = "gz"`: the file that the single content goes to; else the folder that every member goes to.
    pub to: Option<Below>,
    /// Most files an archive may have.
    pub max_files: u64,
    /// Most bytes it may unpack to, in all.
    pub max_bytes: u64,
    /// Most bytes it may unpack to, as a multiple of its own size.
    pub max_ratio: u64,
}

/// A format of archives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArchiveFormat {
    /// A zip file.
    Zip,
    /// An uncompressed tar file.
    Tar,
    /// A tar file compressed with gzip.
    TarGz,
    /// One file compressed with gzip.
    Gz,
}

/// One member of an archive, and where it goes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Member {
    /// Its path in the archive.
    pub path: Below,
    /// Its place below the root.
    pub to: Below,
    /// SHA-256 of the unpacked file.
    pub sha256: Option<Sha256>,
    /// Its size in bytes.
    pub size: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawUnpack {
    format: ArchiveFormat,
    #[serde(default)]
    members: Vec<Member>,
    to: Option<Below>,
    #[serde(default = "max_files")]
    max_files: u64,
    #[serde(default = "max_bytes")]
    max_bytes: u64,
    #[serde(default = "max_ratio")]
    max_ratio: u64,
}

/// The largest dataset here has some dozens of files.
fn max_files() -> u64 {
    10_000
}

/// 4 GiB: MNLI, the largest dataset here, unpacks to less than half a gigabyte.
fn max_bytes() -> u64 {
    4 << 30
}

/// Text shrinks to a third or a tenth; DEFLATE cannot do better than 1:1032, which only bombs come near.
fn max_ratio() -> u64 {
    200
}

impl TryFrom<RawUnpack> for Unpack {
    type Error = String;

    fn try_from(raw: RawUnpack) -> Result<Self, String> {
        match (raw.format, raw.members.is_empty(), raw.to.is_some()) {
            (ArchiveFormat::Gz, true, true) => {}
            (ArchiveFormat::Gz, ..) => {
                return Err("unpack: expected `to`, the file that the content goes to, and no `members`, since `gz` has none".into());
            }
            (_, true, true) | (_, false, false) => {}
            (_, true, false) => {
                return Err("unpack: neither `members` nor `to`; expected one".into());
            }
            (_, false, true) => return Err("unpack: both `members` and `to`; expected one".into()),
        }
        for (index, member) in raw.members.iter().enumerate() {
            let twice = raw.members[..index]
                .iter()
                .any(|other| other.path == member.path || other.to == member.to);
            if twice {
                return Err(format!(
                    "unpack: members: `{}` to `{}`: listed twice; expected once",
                    member.path, member.to
                ));
            }
        }
        Ok(Self {
            format: raw.format,
            members: raw.members,
            to: raw.to,
            max_files: raw.max_files,
            max_bytes: raw.max_bytes,
            max_ratio: raw.max_ratio,
        })
    }
}
