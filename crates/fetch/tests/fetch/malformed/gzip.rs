//! Archives of the format gzip.

use super::*;

#[test]
fn gzip_files() {
    let packed = seed("one.gz");
    assert_eq!(
        open("format = 'gz'\nto = 'one'", &packed),
        Ok(vec!["one".into()])
    );
    let flipped = |at: usize| {
        let mut bytes = packed.clone();
        bytes[at] ^= 0xff;
        bytes
    };
    check(
        "format = 'gz'\nto = 'one'",
        &[
            (
                "text",
                b"hello, this is text".to_vec(),
                "entry `one`: the archive is damaged",
            ),
            (
                "cut within the header",
                packed[..5].to_vec(),
                "entry `one`: the archive is damaged",
            ),
            (
                "cut within the content",
                packed[..15].to_vec(),
                "entry `one`: the archive is damaged",
            ),
            (
                "without its last byte",
                packed[..packed.len() - 1].to_vec(),
                "entry `one`: the archive is damaged",
            ),
            (
                "another method than deflate",
                flipped(2),
                "entry `one`: the archive is damaged",
            ),
            (
                "a content that is not deflated",
                flipped(10),
                "entry `one`: the archive is damaged",
            ),
            (
                "another checksum",
                flipped(packed.len() - 6),
                "entry `one`: the archive is damaged",
            ),
            (
                "another length",
                flipped(packed.len() - 2),
                "entry `one`: the archive is damaged",
            ),
            (
                "text after the last member",
                [&packed[..], b"text"].concat(),
                "entry `one`: the archive is damaged",
            ),
        ],
    );
    check(
        "format = 'tar-gz'\nto = 'x'",
        &[
            (
                "gzip around no tar",
                packed.clone(),
                "the archive is damaged",
            ),
            (
                "no gzip",
                b"hello, this is text".to_vec(),
                "the archive is damaged",
            ),
        ],
    );
    check(
        "format = 'gz'\nto = 'one'\nmax-bytes = 30",
        &[(
            "more than the card allows",
            packed,
            "entry `one`: the archive unpacks to more than 30 bytes",
        )],
    );
}
