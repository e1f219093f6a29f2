//! Error messages for names that do not exist: the nearest one that does, and the whole list.

use totune_toml::{did_you_mean, unknown_name};

/// "unknown paper `hart2002`; did you mean `hart2020`? there are: …"
pub(crate) fn unknown(what: &str, name: &str, existing: &[&str]) -> String {
    let hint = did_you_mean(name, existing.iter().copied());
    let all = match existing {
        [] => "there are none".to_string(),
        names => format!("there are: {}", names.join(", ")),
    };
    format!("unknown {what} `{name}`{hint}{all}")
}

/// Rewrites serde's "unknown field `x`, expected one of `a`, `b`" in our words, with the line of the key and the
/// nearest name that exists; the place in serde's message ("in `split`", on a line of its own) goes before it.
pub(crate) fn explain(error: &str, source: &str) -> String {
    let (message, place) = match error.trim().rsplit_once("\nin `") {
        Some((message, place)) => (message.trim(), format!("{}: ", place.trim_end_matches('`'))),
        None => (error.trim(), String::new()),
    };
    match unknown_name(message) {
        Some(name) => {
            let line = line_of(source, name).map(|line| format!("line {line}: "));
            line.unwrap_or_default() + &totune_toml::explain(message)
        }
        None => place + &totune_toml::explain(message),
    }
}

/// The line, counted from 1, that sets `word` as a key or as a quoted value.
fn line_of(source: &str, word: &str) -> Option<usize> {
    let is_key = |line: &str| {
        let rest = line.trim_start().strip_prefix(word);
        rest.is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    let inside = |line: &str| {
        let code = line.split('#').next().unwrap_or_default();
        code.contains(&format!("\"{word}\"")) || code.contains(&format!(" {word} ="))
    };
    let lines = || source.lines().enumerate();
    lines()
        .find(|(_, line)| is_key(line))
        .or_else(|| lines().find(|(_, line)| inside(line)))
        .map(|(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_answers_with_the_near_one_and_the_list() {
        let message = unknown("paper", "hart2002", &["hart2020", "wang2019"]);
        assert_eq!(
            message,
            "unknown paper `hart2002`; did you mean `hart2020`? there are: hart2020, wang2019"
        );
        let message = unknown("profile", "xyz", &["fixture", "paper"]);
        assert_eq!(message, "unknown profile `xyz`; there are: fixture, paper");
    }

    #[test]
    fn an_unknown_key_gets_its_line_and_the_near_key() {
        let source = "paper = \"p\"\n# epoch = 1\nepoch = 3\n";
        let error = "unknown field `epoch`, expected one of `epochs`, `batch-size`\n";
        let expected = "line 3: unknown key `epoch`; did you mean `epochs`? expected one of `epochs`, `batch-size`";
        assert_eq!(explain(error, source), expected);
    }

    #[test]
    fn an_unknown_choice_gets_its_line_too() {
        let source = "paper = \"p\"\nfeatures = [\"tfidf\"]\n";
        let error = "unknown variant `tfidf`, expected one of `tf-idf`, `count`, `hash`";
        let expected = "line 2: unknown choice `tfidf`; did you mean `tf-idf`? expected one of `tf-idf`, `count`, `hash`";
        assert_eq!(explain(error, source), expected);
    }

    #[test]
    fn where_it_is_stands_before_what_it_is() {
        let error = "train-limit: 0; expected at least 1\nin `split`\n";
        assert_eq!(
            explain(error, ""),
            "split: train-limit: 0; expected at least 1"
        );
        let error = "missing field `max`\nin `training.clip`\n";
        assert_eq!(explain(error, ""), "training.clip: missing key `max`");
    }

    #[test]
    fn a_missing_key_is_called_a_key() {
        assert_eq!(
            explain("missing field `epochs`", ""),
            "missing key `epochs`"
        );
    }
}
