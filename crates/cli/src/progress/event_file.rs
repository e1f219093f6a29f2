//! TensorBoard's event files: TFRecords of `Event` messages, of which only scalars are written.
//!
//! The crate for them, `tensorboard-rs`, had its last release in 2022 and depends on `image` 0.23 and `protobuf` 2, and the
//! part of the format that is needed is small: a record is a length and a message, each followed by its masked CRC-32C
//! (`tensorflow/core/lib/io/record_writer.h`), and a message is in Protocol Buffers' encoding (`event.proto`,
//! `summary.proto`). `fixtures/make/event_file.py` compares with TensorBoard's own writer and reader.

use std::io::{Result, Write};

/// Writer of event messages.
pub struct EventFile<W: Write>(W);

impl<W: Write> EventFile<W> {
    /// Starts the file, `time` seconds after 1970.
    pub fn new(writer: W, time: f64) -> Result<Self> {
        let mut file = Self(writer);
        let mut event = wall_time(time);
        bytes(&mut event, 3, b"brain.Event:2");
        file.record(&event)?;
        Ok(file)
    }

    /// Writes a value of the curve `tag` at a training step.
    pub fn scalar(&mut self, tag: &str, step: u64, value: f64, time: f64) -> Result<()> {
        let mut of_tag = Vec::new();
        bytes(&mut of_tag, 1, tag.as_bytes());
        key(&mut of_tag, 2, FIXED_32);
        of_tag.extend((value as f32).to_le_bytes());
        let mut summary = Vec::new();
        bytes(&mut summary, 1, &of_tag);
        let mut event = wall_time(time);
        key(&mut event, 2, VARINT);
        varint(&mut event, step);
        bytes(&mut event, 5, &summary);
        self.record(&event)
    }

    /// Flushes everything so far, for programs that read along.
    pub fn flush(&mut self) -> Result<()> {
        self.0.flush()
    }

    fn record(&mut self, message: &[u8]) -> Result<()> {
        let length = (message.len() as u64).to_le_bytes();
        self.0.write_all(&length)?;
        self.0.write_all(&masked(&length))?;
        self.0.write_all(message)?;
        self.0.write_all(&masked(message))
    }
}

/// A checksum as TensorFlow writes it, so that data with checksums in it can itself be checksummed.
fn masked(data: &[u8]) -> [u8; 4] {
    let sum = crc32c::crc32c(data).rotate_right(15);
    sum.wrapping_add(0xa282_ead8).to_le_bytes()
}

// Wire types of fields.
const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const BYTES: u64 = 2;
const FIXED_32: u64 = 5;

/// An event's first field.
fn wall_time(time: f64) -> Vec<u8> {
    let mut event = Vec::new();
    key(&mut event, 1, FIXED_64);
    event.extend(time.to_le_bytes());
    event
}

fn key(message: &mut Vec<u8>, field: u64, encoding: u64) {
    varint(message, field << 3 | encoding);
}

fn bytes(message: &mut Vec<u8>, field: u64, content: &[u8]) {
    key(message, field, BYTES);
    varint(message, content.len() as u64);
    message.extend(content);
}

fn varint(message: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        message.push(value as u8 | 0x80);
        value >>= 7;
    }
    message.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by `fixtures/make/event_file.py` with TensorBoard's own classes.
    const EXPECTED: &[u8] = include_bytes!("../../../../fixtures/tensorboard/scalars.tfevents");

    #[test]
    fn the_bytes_are_those_of_tensorboards_writer() {
        let mut file = EventFile::new(Vec::new(), 1.5).expect("memory");
        let mut add = |tag: &str, step, value, time| {
            file.scalar(tag, step, value, time).expect("memory");
        };
        add("dev/accuracy", 1, 0.75, 2.5);
        add("step/loss", 300, 0.1, 1_700_000_000.25);
        assert_eq!(file.0, EXPECTED);
    }
}
