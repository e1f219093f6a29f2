//! Caveat about settings that were chosen on a small dev set: the best of several settings on few examples is often the
//! luckiest.

use crate::text::counted;

/// Fewest dev examples for a choice to count as sound.
const ENOUGH: u64 = 300;

/// Caveat about runs whose settings were chosen on so many examples each; `None` if all had enough.
pub(crate) fn caveat(chosen_on: impl Iterator<Item = u64>) -> Option<String> {
    let few: Vec<u64> = chosen_on.filter(|&n| n < ENOUGH).collect();
    let least = few.iter().min()?;
    let n = counted(few.len(), "run");
    Some(format!(
        "Settings of {n} were chosen on fewer than {ENOUGH} dev examples (at least {least})"
    ))
}
