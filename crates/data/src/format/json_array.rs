//! One JSON array, taken apart into its elements.

use serde::de::IgnoredAny;

/// The elements of the array that `text` is, each with the line it begins on; or the line and the problem there.
pub(super) fn elements(text: &str) -> Result<Vec<(usize, &str)>, (usize, String)> {
    let mut scan = Scan {
        text,
        at: 0,
        line: 1,
    };
    let mut elements = Vec::new();
    while let Some(element) = scan.next(elements.is_empty())? {
        elements.push(element);
    }
    Ok(elements)
}

/// A place in a text.
pub(crate) struct Scan<'a> {
    pub text: &'a str,
    pub at: usize,
    pub line: usize,
}

impl<'a> Scan<'a> {
    /// The next element with its line, or nothing after the last one; `first` means that the array has yet to begin.
    ///
    /// An error that more text might mend is found at the end of the text.
    pub fn next(&mut self, first: bool) -> Result<Option<(usize, &'a str)>, (usize, String)> {
        let is_last = if first {
            self.take(b'[')?;
            self.is_next(b']')
        } else {
            !self.is_next(b',')
        };
        if is_last {
            self.take(b']')?;
            return self.end().map(|()| None);
        }
        if !first {
            self.take(b',')?;
        }
        self.element().map(Some)
    }

    /// Advances by `n` bytes.
    fn forward(&mut self, n: usize) -> &'a str {
        let passed = &self.text[self.at..self.at + n];
        self.line += passed.bytes().filter(|byte| *byte == b'\n').count();
        self.at += n;
        passed
    }

    /// Returns whether `byte` follows, after skipping white space.
    fn is_next(&mut self, byte: u8) -> bool {
        let rest = &self.text[self.at..];
        self.forward(rest.len() - rest.trim_start().len());
        self.text.as_bytes().get(self.at) == Some(&byte)
    }

    fn take(&mut self, byte: u8) -> Result<(), (usize, String)> {
        if self.is_next(byte) {
            self.forward(1);
            return Ok(());
        }
        let found = self.text[self.at..].chars().next();
        let found = found.map_or("the end of the file".into(), |found| format!("`{found}`"));
        let byte = char::from(byte);
        Err((self.line, format!("found {found}; expected `{byte}`")))
    }

    fn element(&mut self) -> Result<(usize, &'a str), (usize, String)> {
        let rest = &self.text[self.at..];
        self.forward(rest.len() - rest.trim_start().len());
        let line = self.line;
        let rest = serde_json::Deserializer::from_str(&self.text[self.at..]);
        let mut values = rest.into_iter::<IgnoredAny>();
        match values.next() {
            Some(Ok(_)) => Ok((line, self.forward(values.byte_offset()))),
            Some(Err(error)) => {
                if error.is_eof() {
                    self.at = self.text.len();
                }
                let message = error.to_string();
                let (place, column) = (error.line(), error.column());
                let message = message
                    .strip_suffix(&format!(" at line {place} column {column}"))
                    .unwrap_or(&message);
                Err((line + place.saturating_sub(1), message.to_string()))
            }
            None => Err((line, "found the end of the file; expected an object".into())),
        }
    }

    /// Refuses what follows.
    fn end(&mut self) -> Result<(), (usize, String)> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        if self.at == self.text.len() {
            Ok(())
        } else {
            Err((self.line, "expected nothing behind the array".into()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_come_with_their_lines() {
        let text = "\n[ {\"a\": \"[,]\\\"\"},\n  {\n \"b\": [1, 2]\n},{}]\n";
        let expected = [
            (2, "{\"a\": \"[,]\\\"\"}"),
            (3, "{\n \"b\": [1, 2]\n}"),
            (5, "{}"),
        ];
        assert_eq!(elements(text).expect("an array"), expected);
        assert_eq!(elements(" [ ] "), Ok(Vec::new()));
    }

    #[test]
    fn what_is_no_array_is_told_with_its_line() {
        for (text, line, expected) in [
            ("", 1, "found the end of the file; expected `[`"),
            ("{}", 1, "found `{`; expected `[`"),
            ("[{}\n{}]", 2, "found `{`; expected `]`"),
            ("[\n{},\n]", 3, "expected value"),
            ("[{\"a\":\n1,}]", 2, "key must be a string"),
            ("[{}", 1, "found the end of the file; expected `]`"),
            ("[{},", 1, "found the end of the file; expected an object"),
            ("[]\n[]", 1, "expected nothing behind the array"),
        ] {
            assert_eq!(elements(text), Err((line, expected.into())), "{text}");
        }
    }
}
