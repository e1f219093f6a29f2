//! Notes under tables and figures that are still to be filled.

use std::collections::BTreeSet;

use totune_evidence::select::sample::NOT_YET;

/// From how many on rows or lines without runs are named in one note.
const MANY: usize = 3;
/// Words of a note on a group whose runs on some tasks are still to be made; the tasks follow.
pub(crate) const YET: &str = " has no run yet on ";
/// Words of a note on a group that nobody asks for on some tasks; the tasks follow.
pub(crate) const NOT_RUN: &str = " has no run on ";

/// The same notes, with one for all rows, or lines, or boxes that have no run where there are many: the reason is the
/// same for each, and a grid that has just begun would repeat it on every line of a page.
pub(crate) fn merged(mut notes: Vec<String>) -> Vec<String> {
    for what in ["empty", "no line", "no box"] {
        merge_reason(&mut notes, what, (NOT_YET, NOT_YET), MANY);
        // Names of arms say nothing to a reader.
        for (why, least) in [("no run has arm", 1), ("no run has", MANY)] {
            merge_reason(&mut notes, what, (why, "no run was made"), least);
        }
    }
    for (words, together) in [(YET, "no run yet on"), (NOT_RUN, "no run on")] {
        merge_tasks(&mut notes, words, together);
    }
    notes
}

/// Merges notes that name one row, or line, or box each, with the same reason.
fn merge_reason(notes: &mut Vec<String>, what: &str, (why, words): (&str, &str), least: usize) {
    let mark = format!(": {what}, because ");
    let unrun = |note: &String| {
        let (name, because) = note.split_once(&mark)?;
        because.contains(why).then(|| name.to_owned())
    };
    let names: Vec<String> = notes.iter().filter_map(unrun).collect();
    let first = notes.iter().position(|note| unrun(note).is_some());
    if let Some(first) = first.filter(|_| names.len() >= least) {
        notes[first] = format!("{what}, because {words}: {}", names.join("; "));
        notes.retain(|note| unrun(note).is_none());
    }
}

/// Merges notes that name one group each, with the same tasks after `words`.
fn merge_tasks(notes: &mut Vec<String>, words: &str, together: &str) {
    let on = |note: &String| note.split_once(words).map(|(_, tasks)| tasks.to_owned());
    let several: BTreeSet<String> = notes.iter().filter_map(on).collect();
    for tasks in several {
        let of_tasks = |note: &String| {
            let (name, others) = note.split_once(words)?;
            (others == tasks).then(|| name.to_owned())
        };
        let names: Vec<String> = notes.iter().filter_map(of_tasks).collect();
        let first = notes.iter().position(|note| of_tasks(note).is_some());
        if let Some(first) = first.filter(|_| names.len() >= MANY) {
            notes[first] = format!("{together} {tasks}: {}", names.join("; "));
            notes.retain(|note| of_tasks(note).is_none());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_rows_without_runs_are_one_note_and_few_keep_their_reasons() {
        let of = |notes: &[&str]| merged(notes.iter().map(|note| note.to_string()).collect());
        let few = ["A: empty, because not run yet", "B: 1 diverged"];
        assert_eq!(of(&few), few);
        let many = [
            "First",
            "A: empty, because not run yet",
            "B: 1 diverged",
            "B, on C: empty, because D has no score: not run yet",
            "E: empty, because every run diverged or failed",
            "F: empty, because not run yet",
            "G: empty, because no run has arm = \"x\"",
            "F: no line, because not run yet",
        ];
        let expected = [
            "First",
            "empty, because not run yet: A; B, on C; F",
            "B: 1 diverged",
            "E: empty, because every run diverged or failed",
            "empty, because no run was made: G",
            "F: no line, because not run yet",
        ];
        assert_eq!(of(&many), expected);
        let yet = ["A", "B", "C", "D"].map(|name| {
            let tasks = if name == "B" { "y" } else { "x and y" };
            format!("{name}{YET}{tasks}")
        });
        assert_eq!(
            merged(yet.to_vec()),
            ["no run yet on x and y: A; C; D", "B has no run yet on y"]
        );
    }
}
