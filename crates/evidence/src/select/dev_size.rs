//! Whether settings were chosen on a dev set that is large enough: the best of several settings on few examples is often the
//! luckiest.

use crate::text::counted;

/// Dev examples from which on a choice is taken to be sound.
const ENOUGH: u64 = 300;

/// What is to be said of runs whose settings were chosen on so many examples each; nothing if all had enough.
pub(crate) fn caveat(chosen_on: impl Iterator<Item = u64>) -> Option<String> {
    let few: Vec<u64> = chosen_on.filter(|&n| n < ENOUGH).collect();
    let least = few.iter().min()?;
    let n = counted(few.len(), "run");
    Some(format!(
        "Settings of {n} were chosen on fewer than {ENOUGH} dev examples (at least {least})"
    ))
}
