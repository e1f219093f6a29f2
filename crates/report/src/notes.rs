//! Notes under tables and figures that are still to be filled.

use std::collections::BTreeSet;

/// From how many on rows or lines without runs are named in one note.
const MANY: usize = 3;
/// Words of a note on a group without runs on some tasks, which follow.
pub(crate) const YET: &str = " has no run yet on ";

/// The same notes, with one for all rows, or lines, or boxes that have no run yet where there are many: the reason is the
/// same for each, and a grid that has just begun would repeat it on every line of a page.
pub(crate) fn merged(mut notes: Vec<String>) -> Vec<String> {
    for what in ["empty", "no line", "no box"] {
        let mark = format!(": {what}, because ");
        let unrun = |note: &String| {
            let (name, why) = note.split_once(&mark)?;
            why.contains("no run has").then(|| name.to_owned())
        };
        let names: Vec<String> = notes.iter().filter_map(unrun).collect();
        let Some(first) = notes.iter().position(|note| unrun(note).is_some()) else {
            continue;
        };
        if names.len() < MANY {
            continue;
        }
        notes[first] = format!("{what}, because they have no run: {}", names.join("; "));
        notes.retain(|note| unrun(note).is_none());
    }
    let on = |note: &String| note.split_once(YET).map(|(_, tasks)| tasks.to_owned());
    let several: BTreeSet<String> = notes.iter().filter_map(on).collect();
    for tasks in several {
        let of_tasks = |note: &String| {
            let (name, others) = note.split_once(YET)?;
            (others == tasks).then(|| name.to_owned())
        };
        let names: Vec<String> = notes.iter().filter_map(of_tasks).collect();
        let first = notes.iter().position(|note| of_tasks(note).is_some());
        if let Some(first) = first.filter(|_| names.len() >= MANY) {
            notes[first] = format!("no run yet on {tasks}: {}", names.join("; "));
            notes.retain(|note| of_tasks(note).is_none());
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_rows_without_runs_are_one_note_and_few_keep_their_reasons() {
        let of = |notes: &[&str]| merged(notes.iter().map(|note| note.to_string()).collect());
        let few = ["A: empty, because no run has x", "B: 1 diverged"];
        assert_eq!(of(&few), few);
        let many = [
            "First",
            "A: empty, because no run has x",
            "B: 1 diverged",
            "B, on C: empty, because D has no score: no run has y",
            "E: empty, because every run diverged or failed",
            "F: empty, because no run has z",
            "F: no line, because no run has z",
        ];
        let expected = [
            "First",
            "empty, because they have no run: A; B, on C; F",
            "B: 1 diverged",
            "E: empty, because every run diverged or failed",
            "F: no line, because no run has z",
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
