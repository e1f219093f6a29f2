//! Fields separated by a character, and the formats of Quora and Yahoo! built on them.

use super::*;

#[test]
fn csv() {
    check(
        "kind = 'csv'",
        &[
            ("nothing", b"", "line 1: .. empty; expected a header line"),
            (
                "a mark alone",
                b"\xef\xbb\xbf",
                "line 1: .. empty; expected a header line",
            ),
            (
                "line ends alone",
                b"\n\r\n\r\n",
                "line 1: .. empty; expected a header line",
            ),
            (
                "a field missing",
                b"a,b\n1\n",
                "line 2: fields: found 1, expected 2: `a`, `b`",
            ),
            (
                "a field too many",
                b"a,b\n1,2,3\n",
                "line 2: fields: found 3, expected 2",
            ),
            (
                "a separator at the end",
                b"a,b\n1,2,\n",
                "line 2: fields: found 3, expected 2",
            ),
            (
                "a separator at the end of the header",
                b"a,b,\n1,2\n",
                "line 2: fields: found 2, expected 3: `a`, `b`, ``",
            ),
            (
                "a last row cut short",
                b"a,b\n1,2\n3",
                "line 3: fields: found 1, expected 2",
            ),
            (
                "a space is a field",
                b"a,b\n1,2\n \n",
                "line 3: fields: found 1, expected 2",
            ),
            (
                "a short row after one of two lines",
                b"a,b\n\"1\n\",2\n3\n",
                "line 4: fields: found 1, expected 2",
            ),
            (
                "a short row after blank lines",
                b"a,b\n\n\n3\n",
                "line 4: fields: found 1, expected 2",
            ),
            (
                "a short row after old line ends",
                b"a,b\r1,2\r3\r",
                "line 3: fields: found 1, expected 2",
            ),
            (
                "a short row after lines of two characters",
                b"a,b\r\n1,2\r\n3\r\n",
                "line 3: fields: found 1",
            ),
            (
                "a quote never closed",
                b"a,b\n1,\"2\n",
                "line 2: a quoted field opens here .. expected a closing quote",
            ),
            (
                "a quote never closed in the header",
                b"a,\"b\n1,2\n",
                "line 1: a quoted field opens here",
            ),
            (
                "a quote at the very end",
                b"a,b\n1,\"",
                "line 2: a quoted field opens here",
            ),
            (
                "a doubled quote at the end",
                b"a,b\n1,\"2\"\"",
                "line 2: a quoted field opens here",
            ),
            (
                "a quote lost further down",
                b"a,b\n\"1\",\"2\n3,4\n5,\"6\"\n",
                "line 4: '6' follows the quote .. line 2",
            ),
            (
                "text after a closing quote",
                b"a,b\n\"1\"x,2\n",
                "line 2: 'x' follows the quote .. expected a comma",
            ),
            (
                "a space after a closing quote",
                b"a,b\n\"1\" ,2\n",
                "line 2: ' ' follows the quote",
            ),
            (
                "a backslash before a quote",
                b"a,b\n\"1\\\"2\",3\n",
                "line 2: '2' follows the quote",
            ),
            (
                "a zero byte after a closing quote",
                b"a,b\n\"1\"\0,2\n",
                "line 2: '\\0' follows the quote",
            ),
            (
                "another separator after a closing quote",
                b"a,b\n\"1\";\"2\"\n",
                "line 2: ';' follows the quote",
            ),
            (
                "Latin-1",
                b"a,b\ncaf\xe9,1\n",
                "line 2: byte 0xe9 is not UTF-8; expected UTF-8 text",
            ),
            (
                "Latin-1 within quotes",
                b"a,b\n\"\n\n\xe9\",1\n",
                "line 4: byte 0xe9 is not UTF-8",
            ),
            (
                "a character cut short",
                b"a,b\n1,\xf0\x9f\x94",
                "line 2: byte 0xf0 is not UTF-8",
            ),
            (
                "half a surrogate",
                b"a\n\xed\xa0\x80\n",
                "line 2: byte 0xed is not UTF-8",
            ),
            (
                "a zero byte of two",
                b"a\n\xc0\x80\n",
                "line 2: byte 0xc0 is not UTF-8",
            ),
            (
                "UTF-16 with a mark",
                b"\xff\xfea\0\n\0",
                "line 1: byte 0xff is not UTF-8",
            ),
            (
                "a second mark",
                b"\xef\xbb\xbf\xff",
                "line 1: byte 0xff is not UTF-8",
            ),
            (
                "gzip",
                b"\x1f\x8b\x08\0\0\0\0\0",
                "line 1: byte 0x8b is not UTF-8",
            ),
        ],
    );
}

#[test]
fn tsv() {
    check(
        "kind = 'tsv'",
        &[
            ("nothing", b"", "line 1: .. empty; expected a header line"),
            (
                "line ends alone",
                b"\r\n\n",
                "line 1: .. empty; expected a header line",
            ),
            (
                "spaces for tabs",
                b"a\tb\n1 2\n",
                "line 2: fields: found 1, expected 2: `a`, `b`",
            ),
            (
                "commas for tabs",
                b"a\tb\n1,2\n",
                "line 2: fields: found 1, expected 2",
            ),
            (
                "a tab too many",
                b"a\tb\n1\t2\t\n",
                "line 2: fields: found 3, expected 2",
            ),
            (
                "two tabs between fields",
                b"a\tb\n1\t\t2\n",
                "line 2: fields: found 3, expected 2",
            ),
            (
                "a quote that encloses nothing",
                b"a\tb\n\"1\t2\"\t3\n",
                "line 2: fields: found 3, expected 2",
            ),
            (
                "a line break within a field",
                b"a\tb\n\"1\n2\"\t3\n",
                "line 2: fields: found 1, expected 2",
            ),
            (
                "a last row cut short",
                b"a\tb\n1\t2\n3",
                "line 3: fields: found 1, expected 2",
            ),
            (
                "a short row after blank lines",
                b"a\tb\n\n\r\n3\r\n",
                "line 4: fields: found 1, expected 2",
            ),
            (
                "old line ends",
                b"a\tb\r1\t2\n3\n",
                "line 2: fields: found 1, expected 3: `a`, `b\r1`, `2`",
            ),
            (
                "Latin-1",
                b"a\tb\n1\t\xfc\n",
                "line 2: byte 0xfc is not UTF-8",
            ),
            (
                "a page of HTML",
                b"<html>\n<a>\t</a>\n",
                "line 2: fields: found 2, expected 1: `<html>`",
            ),
        ],
    );
    check(
        "kind = 'tsv'\nextra = 'ignore'",
        &[
            (
                "a field missing",
                b"a\tb\n1\n",
                "line 2: fields: found 1, expected 2",
            ),
            ("nothing", b"", "line 1: .. empty; expected a header line"),
        ],
    );
    check(
        "kind = 'tsv'\nseparator = '|'",
        &[(
            "a tab for a bar",
            b"a|b\n1\t2\n",
            "line 2: fields: found 1, expected 2: `a`, `b`",
        )],
    );
}

#[test]
fn quora() {
    check(
        "kind = 'tsv'\nquotes = 'doubled'",
        &[
            ("nothing", b"", "line 1: .. empty; expected a header line"),
            (
                "a question over two lines loses its quote",
                b"a\tb\n1\t\"Why\nme\n2\tx\n",
                "line 2: a quoted field opens",
            ),
            (
                "a comma after a closing quote",
                b"a\tb\n\"1\",2\n",
                "line 2: ',' follows .. expected a tab, a line end",
            ),
            (
                "a quote not doubled",
                b"a\tb\n\"say \"hi\"\"\t2\n",
                "line 2: 'h' follows the quote",
            ),
            (
                "a field missing after two lines",
                b"a\tb\n\"1\n2\"\tx\n\"3\"\n",
                "line 4: fields: found 1, expected 2",
            ),
            (
                "a field too many",
                b"a\tb\n\"1\"\t\"2\"\t\"3\"\n",
                "line 2: fields: found 3, expected 2",
            ),
            (
                "Latin-1 after two lines",
                b"a\tb\n\"1\n2\"\t\xe9\n",
                "line 3: byte 0xe9 is not UTF-8",
            ),
        ],
    );
}

#[test]
fn yahoo() {
    check(
        "kind = 'csv'\nheader = ['class', 'title', 'content', 'answer']\nline-breaks = 'backslash-n'",
        &[
            (
                "a field missing",
                b"\"1\",\"t\",\"c\"\n",
                "line 1: fields: found 3, expected 4: `class`, `title`",
            ),
            (
                "a field too many",
                b"\"1\",\"t\",\"c\",\"a\",\"x\"\n",
                "line 1: fields: found 5, expected 4",
            ),
            (
                "quotes escaped by a backslash",
                b"\"1\",\"t\",\"a \\\"b\\\"\",\"a\"\n",
                "line 1: 'b' follows the quote",
            ),
            (
                "cut within a field",
                b"\"1\",\"t\",\"c\",\"a\n",
                "line 1: a quoted field opens here",
            ),
            (
                "cut after a separator",
                b"\"1\",\"t\",\n",
                "line 1: fields: found 3, expected 4",
            ),
            (
                "a line of text",
                b"1,t,c,a\nmore\n",
                "line 2: fields: found 1, expected 4",
            ),
            (
                "Latin-1",
                b"\"1\",\"\xe9\",\"c\",\"a\"\n",
                "line 1: byte 0xe9 is not UTF-8",
            ),
        ],
    );
}
