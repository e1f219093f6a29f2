//! The labels of one example of a multi-label dataset as text.
//!
//! Files have them as a delimited field (`a|b`), as a list (`["a", "b"]`, or `['a', 'b']` as pandas writes it), or as a
//! column of 0 and 1 for each label. Predictions have them as a field delimited by [`SEPARATOR`].

use serde_json::Value;

/// The separator of labels in predictions and result rows; no label of a multi-label dataset contains it.
pub const SEPARATOR: &str = "|";

/// The labels at `indices` of `labels` as one field.
pub fn joined(indices: &[usize], labels: &[String]) -> String {
    let names: Vec<&str> = indices.iter().map(|&at| labels[at].as_str()).collect();
    names.join(SEPARATOR)
}

/// The names in a field with `separator` between them, without white space around them; without a separator, those in a
/// list. An empty field has none.
///
/// # Errors
/// A description of a field that is not such a list.
pub fn names(field: &str, separator: Option<&str>) -> Result<Vec<String>, String> {
    let field = field.trim();
    if field.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(separator) = separator {
        let names = field.split(separator).map(str::trim);
        let names = names.filter(|name| !name.is_empty());
        return Ok(names.map(String::from).collect());
    }
    list(field).ok_or_else(|| {
        format!(
            "`{field}` is no list; expected one such as `[\"a\", \"b\"]`, or in the card `columns.label-separator`, the \
             text between two labels"
        )
    })
}

/// Returns whether a label with this field in its own column applies; `None` if the field is neither yes nor no.
pub fn applies(field: &str) -> Option<bool> {
    match field.trim().to_ascii_lowercase().as_str() {
        "1" | "1.0" | "true" => Some(true),
        "0" | "0.0" | "false" => Some(false),
        _ => None,
    }
}

/// The strings and numbers of a list in JSON or in Python's notation.
pub fn list(text: &str) -> Option<Vec<String>> {
    match serde_json::from_str::<Vec<Value>>(text) {
        Ok(values) => values.iter().map(scalar).collect(),
        Err(_) => python_list(text),
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The strings of a list in Python's notation, such as `['a', "b's"]`, with spaces in place of commas as NumPy has it.
fn python_list(text: &str) -> Option<Vec<String>> {
    let inside = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    let mut names = Vec::new();
    let mut rest = inside.chars();
    loop {
        let quote = match rest.next() {
            None => return Some(names),
            Some(letter) if letter == ',' || letter.is_whitespace() => continue,
            Some(quote @ ('\'' | '"')) => quote,
            Some(_) => return None,
        };
        let mut name = String::new();
        loop {
            match rest.next()? {
                '\\' => name.push(escaped(&mut rest)?),
                letter if letter == quote => break,
                letter => name.push(letter),
            }
        }
        names.push(name);
    }
}

/// The character after a backslash in a string of Python's `repr`; `None` for an escape that it does not write.
fn escaped(rest: &mut std::str::Chars) -> Option<char> {
    let digits = match rest.next()? {
        'n' => return Some('\n'),
        't' => return Some('\t'),
        'r' => return Some('\r'),
        letter @ ('\\' | '\'' | '"') => return Some(letter),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => return None,
    };
    let code: String = rest.by_ref().take(digits).collect();
    char::from_u32(u32::from_str_radix(&code, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_divided_at_its_separator_or_is_a_list() {
        for (field, separator, expected) in [
            ("a|b", Some("|"), &["a", "b"][..]),
            (" a ; b c;", Some(";"), &["a", "b c"]),
            ("", Some("|"), &[]),
            ("", None, &[]),
            ("[]", None, &[]),
            (r#"["a", "b, c"]"#, None, &["a", "b, c"]),
            ("[3, 27]", None, &["3", "27"]),
            ("['a', \"b's\"]", None, &["a", "b's"]),
            (r"['b\'s' 'c']", None, &["b's", "c"]),
            (
                r"['a\xa0b\n', 'C:\\x', '\u2013']",
                None,
                &["a\u{a0}b\n", r"C:\x", "–"],
            ),
        ] {
            assert_eq!(names(field, separator).expect(field), expected, "{field}");
        }
        for field in ["a|b", "[a, b]", "['a", "[['a']]", "[null]", r"['\q']"] {
            let error = names(field, None).expect_err(field);
            assert!(
                error.starts_with(&format!("`{field}` is no list")),
                "{error}"
            );
        }
    }

    #[test]
    fn labels_come_back_from_the_text_that_predictions_have() {
        let labels = ["b c".to_string(), "a".to_string()];
        assert_eq!(joined(&[0, 1], &labels), "b c|a");
        assert_eq!(joined(&[], &labels), "");
        let found = names(&joined(&[0, 1], &labels), Some(SEPARATOR));
        assert_eq!(found, Ok(labels.to_vec()));
    }
}
