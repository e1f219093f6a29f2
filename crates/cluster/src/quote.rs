//! Words of a script, as a shell and as `sbatch` take them.

use totune_disk::quoted_for_shell;

/// A word as a shell takes it. The number of the task stays a variable.
pub fn quote(word: &str) -> String {
    const TASK: &str = "$SLURM_ARRAY_TASK_ID";
    if word.contains(TASK) {
        let parts = word.split(TASK).map(|part| {
            let special = |c: char| {
                if "\"`\\$".contains(c) {
                    format!("\\{c}")
                } else {
                    c.to_string()
                }
            };
            part.chars().map(special).collect::<String>()
        });
        return format!("\"{}\"", parts.collect::<Vec<_>>().join(TASK));
    }
    quoted_for_shell(word)
}

/// A word in a line for `sbatch`, which takes quotes as a shell does, but a backslash as an escape within them too. Outside of
/// them `#` begins a comment.
pub fn quote_for_sbatch(word: &str) -> String {
    quoted_for_shell(&word.replace('\\', r"\\"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_sbatch_keeps_blanks_and_signs() {
        for (word, expected) in [
            ("--qos=long", "--qos=long"),
            ("--comment=my job", "'--comment=my job'"),
            ("--comment=a#b", "'--comment=a#b'"),
            ("--comment=it's", r"'--comment=it'\''s'"),
            (r"--comment=a\b", r"'--comment=a\\b'"),
        ] {
            assert_eq!(quote_for_sbatch(word), expected);
        }
    }
}
