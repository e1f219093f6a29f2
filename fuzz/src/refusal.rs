//! What must be true of every error that bytes from outside cause.

/// Checks a refusal of `bytes` that were read as `file`: the file is named first, a line, where one is named, exists,
/// and the message is no longer than what it may quote.
#[track_caller]
pub fn check(message: &str, file: &str, bytes: &[u8]) {
    let says = || {
        let shown: String = message.chars().take(400).collect();
        format!("{shown:?} for {:?}", String::from_utf8_lossy(bytes))
    };
    let problem = message
        .strip_prefix(file)
        .and_then(|rest| rest.strip_prefix(": "));
    let Some(problem) = problem else {
        panic!("an error does not begin with `{file}: `: {}", says());
    };
    assert!(
        !problem.trim().is_empty(),
        "an error says nothing: {}",
        says()
    );
    assert!(
        !problem.ends_with('.') || quotes_input(problem),
        "a full stop: {}",
        says()
    );
    let limit = 2_000 + 8 * bytes.len();
    assert!(
        message.len() <= limit,
        "{} bytes of message: {}",
        message.len(),
        says()
    );
    if let Some(rest) = problem.strip_prefix("line ") {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let line: usize = digits.parse().unwrap_or(0);
        // A carriage return may end a line as well; one more is the end of the file.
        let ends = bytes
            .iter()
            .filter(|byte| matches!(byte, b'\n' | b'\r'))
            .count();
        assert!(
            (1..=ends + 1).contains(&line),
            "line {line} of {}: {}",
            ends + 1,
            says()
        );
    }
}

/// Whether a full stop at the end may be one of the input.
fn quotes_input(problem: &str) -> bool {
    problem.contains('`')
}
