//! gzip: around a tar file, or around a single file.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::sink::Sink;
use crate::net::error::{Error, Result};

/// The content of the gzip file at `path`.
pub fn open(path: &Path) -> Result<impl Read + use<>> {
    let file = File::open(path).map_err(|error| Error::disk(path, "read", &error))?;
    Ok(MultiGzDecoder::new(BufReader::with_capacity(1 << 20, file)))
}

/// Hands the content to `sink` as the one file it is.
pub fn read(path: &Path, sink: &mut Sink<'_>) -> Result<()> {
    let Some(to) = sink.rules.to.clone() else {
        return Err(sink.damaged("", &"the card does not say where its content goes"));
    };
    let name = to.to_string();
    sink.write(&name, to, None, None, &mut open(path)?)
}
